import type { Caller, MemberCaller } from '../access/caller.js';
import { type StreamLimits, tooManyStreams } from '../access/limits/call-limits.js';
import { mayChangeUnnoticed, renewCaller } from '../access/sign-in/sign-in.js';
import { FhirError, maskError } from '../fhir/error.js';
import { getOrCreate, oncePer } from '../platform/collections.js';
import { Pace } from '../platform/pace.js';
import { parametersOf, type TypeParameter } from '../search/criteria/parameters-of.js';
import { SERVER_SCOPE } from '../store/resource-key.js';
import type { ResourceStore } from '../store/store.js';
import { type ChangedResource, type LivePage, readLivePage, RecentPages } from './changed-resources.js';
import { type Followed, isSeenApart, liveEvent, type LiveEvent } from './live-event.js';
import { isBroad, SubscriptionIndex } from './subscription-index.js';

/** Events of a page, for one stream. */
export interface LiveBatch {
  readonly events: readonly LiveEvent[];
  /** Where the page began: a reader that has not seen all events continues here. */
  readonly from: string;
  /** Where a reader that has seen all events continues. */
  readonly position: string;
}

/** A stream as the feed sees it. */
export interface FeedStream extends Followed {
  /** Equal for streams that see the same: see {@link VersionView.key}. */
  readonly key: string;
  readonly store: ResourceStore;
  /** Replaced when the caller's membership changes and its rules stay the same. */
  caller: Caller;
  readonly limits: StreamLimits;
  /** The stream gets its next events, which it waits for. */
  deliver(batch: LiveBatch): void;
  /** The stream stops waiting, and reads by itself. */
  wake(): void;
  /** The stream ends; without an error if it stops. */
  end(error?: FhirError): void;
}

/** Streams that see the same, evaluated once. */
interface Group extends Followed {
  readonly key: string;
  readonly type: string;
  readonly criteria: Followed['view']['criteria'];
  readonly streams: Set<FeedStream>;
}

/** Without news, the feed is read so often, in milliseconds; the rights of all callers are compared with their epoch. */
const POLL_MS = 1_000;

/** Callers whose rights can change without a change of the epoch are checked so often, in milliseconds. */
const RECHECK_MS = 5_000;

/**
 * The feed of a project, read once for all its streams in this process.
 *
 * A stream that waits is at the head. Each page moves the head, and those that the page concerns get its events. A stream
 * whose reader is busy has a position and no queue: it reads the pages after it by itself, until it reaches the head.
 */
export class LiveFeed {
  readonly #streams = new Set<FeedStream>();
  /** The number of streams of each caller. */
  readonly #held = new Map<string, number>();
  readonly #groups = new Map<string, Group>();
  readonly #index = new SubscriptionIndex<Group>();
  /** With the mark at which they began to wait. */
  readonly #waiting = new Map<FeedStream, number>();
  /** Those that have read what the head has yet to pass. */
  readonly #ahead = new Set<FeedStream>();
  readonly #pages = new RecentPages<LivePage>();
  /** Undefined while nobody waits. */
  #head: string | undefined;
  #mark = 0;
  #confirmed: Promise<void> = Promise.resolve();
  #nextConfirmed: Promise<void> | undefined;
  #epoch: string | undefined;
  #checked = 0;
  #hasNews = false;
  #wake: () => void = () => undefined;
  #isRunning = false;

  private constructor(
    private readonly store: ResourceStore,
    private readonly project: string,
  ) {}

  /** @throws FhirError `unsupported` - the store does not list changes */
  static of(store: ResourceStore, project: string): LiveFeed {
    if (store.changes === undefined) {
      throw new FhirError('unsupported', 'The store does not list its changes, so there are no subscriptions');
    }
    return getOrCreate(feedsOf(store), project, () => new LiveFeed(store, project));
  }

  /** The position at this moment: what is committed after the call is after it. */
  async now(): Promise<string> {
    return (await this.store.changes!({ project: this.project })).position;
  }

  /** @throws FhirError `throttled` - see {@link StreamLimits} */
  open(stream: FeedStream): void {
    const { view, key, caller, limits } = stream;
    const holder = holderOf(caller);
    const held = this.#held.get(holder) ?? 0;
    const isBroadened = !this.#groups.has(key) && isBroad(view.criteria);
    if (held >= limits.caller) throw tooManyStreams('caller', limits);
    if (this.#streams.size >= limits.project) throw tooManyStreams('project', limits);
    if (isBroadened && this.#index.broad >= limits.broad) throw tooManyStreams('broad', limits);
    this.#held.set(holder, held + 1);
    this.#streams.add(stream);
    const group = getOrCreate(this.#groups, key, (): Group => {
      const { type, criteria } = view;
      const made = { key, type, criteria, view, differs: stream.differs, streams: new Set<FeedStream>() };
      this.#index.add(made);
      return made;
    });
    group.streams.add(stream);
    if (!this.#isRunning) void this.#run();
  }

  close(stream: FeedStream): void {
    if (!this.#streams.delete(stream)) return;
    this.#waiting.delete(stream);
    this.#ahead.delete(stream);
    const holder = holderOf(stream.caller);
    const held = this.#held.get(holder)!;
    if (held === 1) this.#held.delete(holder);
    else this.#held.set(holder, held - 1);
    const group = this.#groups.get(stream.key)!;
    group.streams.delete(stream);
    if (group.streams.size === 0) {
      this.#groups.delete(group.key);
      this.#index.delete(group);
    }
    if (this.#streams.size === 0) this.#notify();
  }

  /** Undefined while nobody waits. */
  get head(): string | undefined {
    return this.#head;
  }

  /** Rises with each read of the feed: while it is the same, a page that was the last one still is. */
  get mark(): number {
    return this.#mark;
  }

  /** The stream has read all that there is, and waits: for the next page if it is at the head, else for the head to move. */
  wait(stream: FeedStream, position: string): void {
    this.#head ??= position;
    if (this.#head === position) this.#waiting.set(stream, this.#mark);
    else this.#ahead.add(stream);
  }

  /** The page after a position, with the types of all streams. */
  page(from: string): Promise<LivePage> {
    const types = [...this.#index.types].sort();
    return this.#pages.page(from, types.join(), () => readLivePage(this.store, this.project, from, types));
  }

  /** Confirms the rights of all callers as they are after the call. Calls during one confirmation share the next. */
  confirm(): Promise<void> {
    this.#nextConfirmed ??= this.#confirmed.then(() => {
      const confirmed = this.#confirm();
      this.#confirmed = confirmed.catch(() => undefined);
      this.#nextConfirmed = undefined;
      return confirmed;
    });
    return this.#nextConfirmed;
  }

  async #confirm(): Promise<void> {
    const epoch = await this.store.accessEpoch?.();
    const isSame = epoch !== undefined && epoch === this.#epoch;
    const isDue = performance.now() - this.#checked >= RECHECK_MS;
    if (isSame && !isDue) return;
    if (isDue) this.#checked = performance.now();
    const pending = await this.store.pendingParameters?.(this.project);
    for (const stream of this.#streams) if (isPending(stream, pending)) stream.end(reset('it is being re-indexed'));
    const callers = Map.groupBy(this.#streams, ({ caller }) => caller);
    for (const [caller, streams] of callers) {
      if (caller.kind === 'member' && !(isSame && !mayChangeUnnoticed(caller))) await this.#renew(caller, streams);
    }
    this.#epoch = epoch;
  }

  async #renew(caller: MemberCaller, streams: readonly FeedStream[]): Promise<void> {
    try {
      const now = await renewCaller(streams[0]!.store, caller);
      for (const stream of streams) {
        if (now === undefined) stream.end(rightsChanged());
        else stream.caller = now;
      }
    } catch (error) {
      const end = endOf(error);
      if (end === 'later') throw error;
      for (const stream of streams) stream.end(end);
    }
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    const notify = (): void => this.#notify();
    const stops = [this.project, SERVER_SCOPE].map((project) => this.store.watch?.(project, notify));
    try {
      while (this.#streams.size > 0) {
        await this.#news();
        await this.#turn().catch((error: unknown) => this.#failed(error));
        const ahead = [...this.#ahead];
        this.#ahead.clear();
        for (const stream of ahead) stream.wake();
      }
    } finally {
      for (const stop of stops) stop?.();
      this.#isRunning = false;
      this.#head = undefined;
      this.#epoch = undefined;
    }
  }

  async #turn(): Promise<void> {
    this.#mark += 1;
    await this.confirm();
    if (this.#waiting.size === 0) this.#head = undefined;
    while (this.#head !== undefined && this.#waiting.size > 0) {
      const page = await this.page(this.#head);
      // Who lost its rights before a change must not see the change.
      await this.confirm();
      if (page.position === page.from && !page.isReset) return;
      await this.#pass(page);
    }
  }

  /** Passes a page to the streams that wait, and moves the head. */
  async #pass(page: LivePage): Promise<void> {
    // Streams that come now wait for the next page.
    this.#head = page.position;
    const mark = (this.#mark += 1);
    const isWaiting = (stream: FeedStream): boolean => (this.#waiting.get(stream) ?? mark) < mark;
    const pace = new Pace();
    const batches = new Map<FeedStream, LiveEvent[]>();
    if (page.isReset || page.lost.size > 0) {
      for (const stream of this.#waiting.keys()) {
        if (endsAt(page, stream)) stream.end(reset('what it has shown is not known any more'));
      }
    }
    for (const resource of page.resources) {
      for (const group of this.#candidates(resource)) {
        if (pace.isSpent) await pace.next();
        const shared = isSeenApart(resource) ? undefined : { event: liveEvent(group, resource) };
        for (const stream of group.streams) {
          if (!isWaiting(stream)) continue;
          const { event } = shared ?? { event: liveEvent(stream, resource) };
          if (event !== undefined) getOrCreate(batches, stream, (): LiveEvent[] => []).push(event);
        }
      }
    }
    const { from, position } = page;
    for (const [stream, events] of batches) {
      if (pace.isSpent) await pace.next();
      if (this.#waiting.delete(stream)) stream.deliver({ events, from, position });
    }
  }

  #candidates({ past, now }: ChangedResource): ReadonlySet<Group> {
    const found = new Set<Group>();
    for (const version of [...past, now]) {
      if (version !== null) this.#index.find(version.subject, found);
    }
    return found;
  }

  #notify(): void {
    this.#hasNews = true;
    this.#wake();
  }

  async #news(): Promise<void> {
    if (!this.#hasNews) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, POLL_MS);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#hasNews = false;
  }

  /** An unavailable store is read again later; a closed one ends its streams. */
  #failed(error: unknown): void {
    const end = endOf(error);
    if (end !== 'later') for (const stream of this.#streams) stream.end(end);
  }
}

const feedsOf = oncePer((_store: ResourceStore) => new Map<string, LiveFeed>());

/** Whether a stream ends where a page begins. */
export function endsAt({ isReset, lost }: LivePage, { view: { type } }: Followed): boolean {
  return isReset || lost.has(type);
}

/** The end of a stream whose reader has to search again. */
export function reset(reason: string): FhirError {
  return new FhirError('reset', `The subscription cannot continue: ${reason}; search again, and subscribe again`);
}

/** The end of a stream whose caller would now sign in with other rules. */
export function rightsChanged(): FhirError {
  return reset('the rights of the caller have changed');
}

/** How a stream ends by an error: undefined if its store was closed; `later` if the store may answer again. */
export function endOf(error: unknown): FhirError | 'later' | undefined {
  const known = maskError(error);
  if (known.code !== 'unavailable') return known;
  return known.detailsOf('unavailable')?.closed === true ? undefined : 'later';
}

/** Whether searches like this subscription answer `unavailable`. */
export function isPending({ view }: Followed, pending: readonly TypeParameter[] = []): boolean {
  if (pending.length === 0) return false;
  const names = new Set(pending.map(({ type, parameter }) => `${type} ${parameter}`));
  return parametersOf(view.type, view.criteria).some(({ type, parameter }) => names.has(`${type} ${parameter}`));
}

/** Whose streams are counted together. */
function holderOf(caller: Caller): string {
  return caller.kind === 'member' ? caller.membership : caller.kind;
}
