import type { IndexedVersion, VersionView } from '../access/read/version-view.js';
import { referenceTo } from '../fhir/reference.js';
import type { CommittedChange } from '../store/changes.js';
import type { ResourceKey } from '../store/resource-key.js';
import type { ResourceStore } from '../store/store.js';
import { PAGE_SIZE, readVersions, RecentPages } from '../live/changed-resources.js';
import { SubscriptionIndex } from '../live/subscription-index.js';
import { compareTexts } from '../platform/texts.js';
import { MAX_DELAY_MS } from '../platform/runtime.js';

/** A change with the versions before and after it. Null: the version does not exist, or was removed. */
export interface VersionChange extends CommittedChange {
  /** `Observation/o1/_history/3`. */
  readonly name: string;
  readonly versions: readonly [before: IndexedVersion | null, after: IndexedVersion | null];
}

/** A page of the feed of a type: each change of a resource by itself. */
export interface TypePage {
  /** In the order of their commits, and within a commit of the ids, see `DeliveryState`. */
  readonly changes: readonly VersionChange[];
  readonly position: string;
  /** The feed does not know the position, or a version that a change needs was purged. */
  readonly isReset: boolean;
  /** When its reading began. */
  readonly begun: number;
  /** The epoch of access after the page was read. */
  readonly epoch: string | undefined;
}

/** What somebody follows: each change that the criteria find before or after it. */
type Followed = Pick<VersionView, 'type' | 'criteria'>;

/** Who has handled all changes. */
interface Waiter extends Followed {
  /** @param from the position after which it has to read again: nothing before concerns it */
  wake(from: string): void;
}

/**
 * The feed of a type in a project. All that read after one position read its page once. Who waits is at its head, which moves
 * with each page: the page wakes only those whom one of its changes may concern.
 */
export class TypeFeed {
  readonly #pages = new RecentPages<TypePage>();
  readonly #stop: (() => void) | undefined;
  readonly #index = new SubscriptionIndex<Waiter>();
  readonly #waiting = new Set<Waiter>();
  /** Undefined while nobody waits. */
  #head: string | undefined;
  /** The rights of all that wait are of this epoch. */
  #epoch: string | undefined;
  #turn: Promise<void> = Promise.resolve();
  #nextTurn: Promise<void> | undefined;

  constructor(
    private readonly store: ResourceStore,
    private readonly project: string,
    private readonly type: string,
  ) {
    this.#stop = store.watch?.(project, () => this.tell());
  }

  close(): void {
    this.#stop?.();
  }

  /** There may be another page. */
  tell(): void {
    if (this.#waiting.size > 0) void this.#advance();
  }

  /**
   * Waits after an empty page, until another may concern the reader or its rights, for at most so many milliseconds.
   *
   * @param epoch of the page
   * @returns the position to read after; the signal ends the wait as well
   */
  async wait(
    { type, criteria }: Followed,
    { position, epoch }: TypePage,
    most: number,
    signal: AbortSignal,
  ): Promise<string> {
    if (this.#head !== undefined) await this.#advance();
    if (this.#head === undefined) [this.#head, this.#epoch] = [position, epoch];
    if (this.#head !== position || this.#epoch !== epoch || signal.aborted) return position;
    return new Promise((resolve) => {
      const wake = (from: string): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', stop);
        this.#waiting.delete(waiter);
        this.#index.delete(waiter);
        resolve(from);
      };
      const waiter: Waiter = { type, criteria, wake };
      const stop = (): void => wake(this.#head!);
      const timer = setTimeout(stop, Math.min(most, MAX_DELAY_MS));
      signal.addEventListener('abort', stop);
      this.#waiting.add(waiter);
      this.#index.add(waiter);
      // What was committed since the page was read.
      if (this.#waiting.size === 1) this.tell();
    });
  }

  /** Moves the head up to the end of the feed after the call. Calls during one move share the next. */
  #advance(): Promise<void> {
    this.#nextTurn ??= this.#turn.then(() => {
      this.#nextTurn = undefined;
      // Those that wait read the page themselves, and learn why.
      this.#turn = this.#pass().catch(() => this.#wake(this.#waiting, this.#head!));
      return this.#turn;
    });
    return this.#nextTurn;
  }

  async #pass(): Promise<void> {
    const called = performance.now();
    for (let isLast = false; !isLast && this.#waiting.size > 0;) {
      const from = this.#head!;
      const { changes, position, isReset, epoch, begun } = await this.page(from);
      const concerned = new Set(isReset || epoch !== this.#epoch ? this.#waiting : []);
      for (const version of changes.flatMap(({ versions }) => versions)) {
        if (version !== null) this.#index.find(version.subject, concerned);
      }
      [this.#head, this.#epoch] = [position, epoch];
      this.#wake(concerned, from);
      isLast = position === from && begun >= called;
    }
    if (this.#waiting.size === 0) this.#head = undefined;
  }

  #wake(waiters: Iterable<Waiter>, from: string): void {
    for (const waiter of [...waiters]) waiter.wake(from);
  }

  async now(): Promise<string> {
    return (await this.store.changes!({ project: this.project })).position;
  }

  page(after: string): Promise<TypePage> {
    return this.#pages.page(after, this.type, () => this.#read(after));
  }

  /** @param isAgain what is missing was not erased after its change was read */
  async #read(after: string, isAgain = false): Promise<TypePage> {
    const { project, type } = this;
    const begun = performance.now();
    const { changes, position, isReset } = await this.store.changes!({
      project,
      after,
      types: [type],
      limit: PAGE_SIZE,
    });
    const keys = new Map<string, ResourceKey>();
    for (const { kind, key, before, versionId } of changes) {
      // Nobody may get anything of what was erased.
      for (const version of [kind === 'erase' ? null : before, kind === 'put' ? versionId : null]) {
        if (version !== null) keys.set(referenceTo(key.type, key.id, version), { ...key, version });
      }
    }
    const lost = new Set<string>();
    const found = await readVersions(this.store, [...keys.values()], lost);
    if (lost.size > 0 && !isAgain) return this.#read(after, true);
    const versions = new Map([...keys.keys()].map((name, index) => [name, found[index]!]));
    const epoch = await this.store.accessEpoch?.();
    return {
      changes: inOrder(changes).map((change): VersionChange => {
        const { key, before, versionId } = change;
        const name = referenceTo(key.type, key.id, versionId);
        const first = before === null ? null : (versions.get(referenceTo(key.type, key.id, before)) ?? null);
        return { ...change, name, versions: [first, versions.get(name) ?? null] };
      }),
      position,
      isReset: isReset || lost.size > 0,
      begun,
      epoch,
    };
  }
}

/** Changes of one type, those of each commit by the ids. Those of one resource keep their order. */
function inOrder(changes: readonly CommittedChange[]): readonly CommittedChange[] {
  const commits = Map.groupBy(changes, ({ position }) => position).values();
  return [...commits].flatMap((commit) => commit.sort((a, b) => compareTexts(a.key.id, b.key.id)));
}
