import type { GuardedStore } from '../access/contract.js';
import type { CallOptions } from '../store/call-options.js';
import type { TypeHistoryEntry, VersionPosition } from '../store/history.js';
import { ShortPage } from '../store/text-budget.js';

/** A version in the history of several types. */
export interface TypedVersion {
  readonly type: string;
  readonly version: TypeHistoryEntry;
}

/** The place of a version in the history of several types. */
export interface TypedPosition extends VersionPosition {
  readonly type: string;
}

interface VersionsQuery {
  /** Only versions written at this instant or later. ISO 8601 instant, UTC. Default: all. */
  readonly since: string | undefined;
  /** The page begins right after this version. Default: with the newest. */
  readonly after: TypedPosition | undefined;
  /** Maximum number of versions. */
  readonly limit: number;
}

/**
 * A page of the versions of several types, newest first: by instant, then by type, then in the order of the store. It is
 * shorter than the limit if there are no more versions, or if its texts exceed the budget of the call.
 */
export async function newestVersions(
  store: GuardedStore,
  types: readonly string[],
  query: VersionsQuery,
  options: CallOptions | undefined,
): Promise<{ readonly versions: readonly TypedVersion[]; readonly isCut: boolean }> {
  if (query.limit === 0) return { versions: [], isCut: false };
  const histories = types.toSorted().map((type) => new History(store, type, query, options));
  // Most types have no version on the page, so one of each is read to begin with.
  await Promise.all(histories.map((history) => history.read(types.length === 1 ? query.limit : 1)));
  const versions: TypedVersion[] = [];
  for (;;) {
    const newest = histories.reduce<History | undefined>((best, one) => (isNewer(one, best) ? one : best), undefined);
    if (newest === undefined) return { versions, isCut: false };
    versions.push({ type: newest.type, version: newest.take() });
    if (versions.length === query.limit) return { versions, isCut: false };
    if (newest.next !== undefined || newest.isWhole) continue;
    // The versions after a cut are unknown, and may be the newest.
    if (newest.isCut) return { versions, isCut: true };
    await newest.read(query.limit - versions.length);
  }
}

/** Equal instants are in the order of the types. */
function isNewer({ next }: History, best: History | undefined): boolean {
  if (next === undefined) return false;
  return best?.next === undefined || next.lastUpdated > best.next.lastUpdated;
}

/** The history of one type, from the place at which the page begins. */
class History {
  /** Everything later is on the pages before. */
  readonly #until: string | undefined;
  #after: VersionPosition | undefined;
  #versions: TypeHistoryEntry[] = [];
  isCut = false;
  /** There are no more versions. */
  isWhole = false;

  constructor(
    private readonly store: GuardedStore,
    readonly type: string,
    private readonly query: VersionsQuery,
    private readonly options: CallOptions | undefined,
  ) {
    const { after } = query;
    if (after === undefined) return;
    if (after.type === type) {
      this.#after = after;
      return;
    }
    // At that instant, the types before are read, and those behind are not.
    const until = Date.parse(after.lastUpdated) - (type < after.type ? 1 : 0);
    this.#until = new Date(until).toISOString();
    this.#after = { lastUpdated: new Date(until + 1).toISOString(), ...NO_VERSION };
  }

  get next(): TypeHistoryEntry | undefined {
    return this.#versions[0];
  }

  take(): TypeHistoryEntry {
    return this.#versions.shift()!;
  }

  async read(limit: number): Promise<void> {
    const { type, query } = this;
    while (this.#versions.length === 0 && !this.isWhole && !this.isCut) {
      const shortens = new ShortPage();
      const page = { type, since: query.since, after: this.#after, limit, shortens };
      const versions = await this.store.typeHistory(page, this.options);
      this.#after = versions.at(-1) ?? this.#after;
      this.isCut = shortens.isCut;
      this.isWhole = versions.length < limit && !this.isCut;
      const until = this.#until;
      this.#versions = until === undefined ? [...versions] : versions.filter(({ lastUpdated }) => lastUpdated <= until);
    }
  }
}

/** A version that does not exist. Its place is somewhere among the versions of its instant. */
const NO_VERSION = { id: '-', versionId: '-' };
