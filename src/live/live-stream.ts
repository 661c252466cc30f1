import { assertCaller, type Caller, type MemberCaller } from '../access/caller.js';
import { parseStreamLimits, type StreamLimitOptions, type StreamLimits } from '../access/limits/call-limits.js';
import type { IndexedVersion, VersionView } from '../access/read/version-view.js';
import { renewCaller, timeLeft } from '../access/sign-in/sign-in.js';
import { assertSession } from '../access/sign-in/session.js';
import type { FhirError } from '../fhir/error.js';
import { referenceTo } from '../fhir/reference.js';
import type { AnyResource } from '../fhir/resource.js';
import { eitherSignal, MAX_DELAY_MS, pause } from '../platform/runtime.js';
import type { ResourceKey } from '../store/resource-key.js';
import type { ResourceStore } from '../store/store.js';
import { readVersions } from './changed-resources.js';
import { liveEvent, type LiveEvent } from './live-event.js';
import {
  endOf,
  endsAt,
  type FeedStream,
  isPending,
  type LiveBatch,
  LiveFeed,
  reset,
  rightsChanged,
} from './live-feed.js';

/** What a stream follows, and for whom. */
interface StreamOptions {
  readonly store: ResourceStore;
  readonly caller: Caller;
  readonly view: VersionView;
  /** Equal for streams with the same `differs`. */
  readonly shows: string;
  /** Whether a reader who knows one version learns anything from the other. */
  differs(known: AnyResource, current: AnyResource): boolean;
  /** The position to begin after; a promise for one that was asked for before. Default: the position at the call. */
  readonly after?: string | Promise<string> | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly limits?: { readonly streams?: StreamLimitOptions | undefined } | undefined;
}

/** A stream of batches of events. It has a position and no queue: what happens while its reader is busy is read later. */
export class LiveStream implements FeedStream {
  caller: Caller;
  readonly key: string;
  readonly view: VersionView;
  readonly differs: FeedStream['differs'];
  readonly limits: StreamLimits;
  readonly store: ResourceStore;
  readonly #feed: LiveFeed;
  readonly #signal: AbortSignal | undefined;
  readonly #gone = new AbortController();
  readonly #stop = (): void => this.end();
  readonly #isContinued: boolean;
  #position: string | Promise<string>;
  #isConfirmed = false;
  /** Set while the reader waits at the head. */
  #take: ((batch: LiveBatch | undefined) => void) | undefined;
  #end: { readonly error: FhirError | undefined } | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * The stream begins here, not with the first batch.
   *
   * @throws FhirError `unauthenticated`, `unsupported`, `throttled`
   */
  constructor({ store, caller, view, shows, differs, after, signal, limits }: StreamOptions) {
    assertCaller(caller);
    this.caller = caller;
    this.view = view;
    this.key = `${view.key} ${shows}`;
    this.differs = differs;
    this.limits = parseStreamLimits(limits?.streams);
    this.store = store;
    this.#feed = LiveFeed.of(store, view.project);
    this.#feed.open(this);
    this.#isContinued = typeof after === 'string';
    this.#position = after ?? this.#feed.now();
    // A failure is the reader's, who may not be there yet.
    if (this.#position instanceof Promise) this.#position.catch(() => undefined);
    this.#signal = signal;
    if (signal?.aborted === true) this.end();
    else signal?.addEventListener('abort', this.#stop);
    this.#watchEnd();
  }

  /**
   * The next events.
   *
   * @returns undefined if the stream has ended without a reason: by its signal or its reader, or because the store was closed
   * @throws FhirError the reason why it has ended
   */
  async next(): Promise<LiveBatch | undefined> {
    while (this.#end === undefined) {
      try {
        const batch = await this.#advance();
        if (batch !== undefined && this.#end === undefined) return batch;
      } catch (error) {
        const end = endOf(error);
        if (end !== 'later') this.end(end);
        else await pause(RETRY_MS, eitherSignal(this.#gone.signal, this.#signal));
      }
    }
    if (this.#end.error !== undefined) throw this.#end.error;
    return undefined;
  }

  get isEnded(): boolean {
    return this.#end !== undefined;
  }

  /** The last events of a batch that was not taken for a while, with the current versions of their resources. */
  async refresh(batch: LiveBatch, count: number): Promise<LiveBatch> {
    const events = batch.events.slice(-count);
    const { type, project } = this.view;
    await this.#feed.confirm();
    const nows = await readVersions(
      this.store,
      events.map(({ id }) => ({ project, type, id })),
    );
    const known = (now: IndexedVersion | null, { id, event }: LiveEvent): LiveEvent => {
      const resource = now === null || event === 'leave' ? undefined : this.view.show(now);
      return resource === undefined
        ? { event: 'leave', id, resource, stored: undefined }
        : { event, id, resource, stored: now!.resource };
    };
    return { ...batch, events: events.map((event, index) => known(nows[index]!, event)) };
  }

  deliver(batch: LiveBatch): void {
    this.#position = batch.position;
    this.#take?.(batch);
  }

  wake(): void {
    this.#take?.(undefined);
  }

  end(error?: FhirError): void {
    if (this.#end !== undefined) return;
    this.#end = { error };
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#stop);
    this.#gone.abort();
    this.#feed.close(this);
    this.#take?.(undefined);
  }

  /** One step: the events of a page, or those that the feed delivers to a stream at its head. */
  async #advance(): Promise<LiveBatch | undefined> {
    if (!this.#isConfirmed) await this.#confirm();
    const position = (this.#position = await this.#position);
    const { head, mark } = this.#feed;
    if (head === position) return this.#wait(position);
    const page = await this.#feed.page(position);
    await this.#feed.confirm();
    if (this.#end !== undefined) return undefined;
    if (endsAt(page, this)) throw reset('its position is not known any more');
    this.#position = page.position;
    const events = page.resources.flatMap((resource): LiveEvent[] => {
      if (resource.type !== this.view.type) return [];
      const event = liveEvent(this, resource);
      return event === undefined ? [] : [event];
    });
    if (events.length > 0) return { events, from: position, position: page.position };
    // If the feed was read since, the head may have passed what this page did not have yet.
    return page.position === position && this.#feed.mark === mark ? this.#wait(position) : undefined;
  }

  async #wait(position: string): Promise<LiveBatch | undefined> {
    if (this.#end !== undefined) return undefined;
    return new Promise((resolve) => {
      this.#take = (batch) => {
        this.#take = undefined;
        resolve(batch);
      };
      this.#feed.wait(this, position);
    });
  }

  /**
   * The rights as they are now: the feed compares them only when something changes from here on, and the last check of the
   * session may be seconds ago.
   */
  async #confirm(): Promise<void> {
    await assertSession(this.store, this.caller, undefined);
    if (this.caller.kind === 'member') {
      const now = await renewCaller(this.store, this.caller);
      if (now === undefined) throw rightsChanged();
      this.caller = now;
    }
    if (isPending(this, await this.store.pendingParameters?.(this.view.project))) {
      throw reset('a search parameter of it is being re-indexed');
    }
    if (this.#isContinued) await this.#assertSameRights(await this.#position);
    this.#isConfirmed = true;
  }

  /**
   * With the rights of now, what came and went under other rules would be a `leave` of something that the member never knew. The
   * feed says whether the rights are those of the position: a client could forge a mark in it.
   */
  async #assertSameRights(position: string): Promise<void> {
    const { caller, store, view } = this;
    if (caller.kind !== 'member') return;
    const own = [referenceTo('ProjectMembership', caller.membership), caller.profile];
    const isDeciding = ({ type, id }: ResourceKey): boolean =>
      POLICIES.includes(type) || own.includes(referenceTo(type, id));
    // What is above projects has a feed of its own.
    let isSame = view.project === caller.project;
    for (let [from, isLast] = [position, false]; isSame && !isLast;) {
      const page = await store.changes!({ project: caller.project, after: from, types: DECIDING });
      isSame = !page.isReset && !page.changes.some(({ key }) => isDeciding(key));
      isLast = page.position === from;
      from = page.position;
    }
    if (!isSame) throw reset('its position is not known, or what decides the rights of its reader was written since');
  }

  /** Ends the stream at the moment at which the caller's access ends. */
  #watchEnd(): void {
    if (this.caller.kind !== 'member' || this.#end !== undefined) return;
    const left = timeLeft(this.caller);
    if (left === Infinity) return;
    const check = (): void => {
      if (timeLeft(this.caller as MemberCaller) > 0) return this.#watchEnd();
      renewCaller(this.store, this.caller as MemberCaller).then(
        () => this.#watchEnd(),
        (error: unknown) => {
          const end = endOf(error);
          this.end(end === 'later' ? (error as FhirError) : end);
        },
      );
    };
    this.#timer = setTimeout(check, Math.max(0, Math.min(left, MAX_DELAY_MS)));
  }
}

/** Access policies, and the definitions of the codes that they may name. */
const POLICIES = ['AccessPolicy', 'CodeSystem', 'ValueSet'];

/** Of a profile, only the patient of a RelatedPerson decides. */
const DECIDING = [...POLICIES, 'ProjectMembership', 'RelatedPerson'];

/** After a failure of the store that may pass, in milliseconds. */
const RETRY_MS = 1_000;
