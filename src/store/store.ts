import type { FhirModel } from '../fhir/model/fhir-model.js';
import type { TypeParameter } from '../search/criteria/parameters-of.js';
import type { CallOptions } from './call-options.js';
import type { ChangePage, ChangesQuery } from './changes.js';
import type { HistoryPage, TypeHistoryEntry, TypeHistoryQuery, VersionRange } from './history.js';
import type { StoreRemoval } from './removal.js';
import type { ReferenceTarget, ResourceKey } from './resource-key.js';
import type { SearchPage, SearchQuery } from './search-query.js';
import type { ReadResult } from './stored-resource.js';
import type { Terminology } from './terminology.js';
import type { Write, WriteResult } from './write.js';
import { FhirError } from '../fhir/error.js';
import { parseBaseUrl } from '../fhir/reference.js';

/**
 * The store of resources, the engine's only dependency. Any implementation that keeps these promises works;
 * `fhirgraph/testing` verifies them.
 *
 * Promises that hold for every method:
 * - Every key and query names its project; no call reaches another project.
 * - Results are private copies or deeply frozen: a caller can never change what another sees.
 * - Rejections are `FhirError`s: `unavailable` (try again), `conflict`, `precondition-failed`, `aborted` (by `signal`),
 *   `corrupt`; any other error is a fault of the store.
 */
export interface ResourceStore {
  /**
   * The definitions by which the store indexes and searches; all code on top of the store uses them. With a `baseUrl`, a
   * stored reference below it counts as the relative one in criteria, sort and targets: `createSubject` gives such values.
   */
  readonly model: FhirModel;
  /**
   * The terminology that expands value sets and hierarchies of codes in searches: see `withTerminology`. Default: none.
   */
  readonly terminology?: Terminology | undefined;
  /** Largest resource that may be written, in bytes of its JSON text. Default 16 MiB. */
  readonly maxResourceBytes?: number | undefined;
  /** Most values of a resource that may be written, in which long texts count as several. Default 20,000. */
  readonly maxResourceValues?: number | undefined;

  /**
   * Many resources at once: same length and order as `keys`, with absence marked per key. Duplicate keys are allowed.
   */
  read(keys: readonly ResourceKey[], options?: CallOptions): Promise<readonly ReadResult[]>;

  /** One page of the resources that match. */
  search(query: SearchQuery, options?: CallOptions): Promise<SearchPage>;

  /**
   * The same search once per target, restricted to resources whose reference parameter points to it: the reverse
   * references of a whole level in one call. `query.limit`, `query.offset` and `query.total` hold per target.
   *
   * @returns one page per target, same length, same order. Duplicate targets are allowed.
   */
  searchByReference(
    query: SearchQuery,
    parameter: string,
    targets: readonly ReferenceTarget[],
    options?: CallOptions,
  ): Promise<readonly SearchPage[]>;

  /**
   * Applies all writes or none, even across projects. When the promise resolves, the writes are durable.
   *
   * The store sets `meta.versionId` (a new one per write, never used again for that resource) and `meta.lastUpdated`
   * (later than that of the version before, even if the clock stands still or goes back) in the stored and returned
   * resources. Access checks rely on it: a resource with the same `lastUpdated` has not changed.
   *
   * @returns one result per write, same order.
   * @throws FhirError `precondition-failed` - an `expect` did not hold; `details.index` is the write's position.
   * @throws FhirError `conflict` - a unique key is taken (`details.index`, `details.holder` as `Type/id`) or an
   * `assert-no-match` check found a match (`details.index`, `details.holder`).
   * @throws FhirError `unavailable`, `aborted` - with `details.unknown` true if the outcome of the writes is unknown.
   * Without it, as with every other error, nothing was written.
   */
  commit(writes: readonly Write[], options?: CallOptions): Promise<readonly WriteResult[]>;

  /** Versions of one resource, newest first, deletions included. An unknown key has no versions. */
  history(key: ResourceKey, page: VersionRange, options?: CallOptions): Promise<HistoryPage>;

  /**
   * Versions of all resources of a type, newest first, deletions included. Versions of the same instant are in an order
   * of the store's own that never changes. The cost of a page depends on its size, not on the number of versions.
   *
   * Optional: services over a store without it do not offer the history of a type.
   */
  typeHistory?(query: TypeHistoryQuery, options?: CallOptions): Promise<readonly TypeHistoryEntry[]>;

  /**
   * What was committed to a project after a position, in the order of the commits: no gap and no repeat, with any number of
   * processes that write. What a page says is what reads find, or have found: a reader that asks for the current position,
   * then reads, and continues after that position misses nothing.
   *
   * Any text may come as a position: one that the store never gave is `isReset`.
   *
   * Optional: without it there are no subscriptions.
   *
   * @throws FhirError `invalid` - the limit is not a whole number from 1 up
   */
  changes?(query: ChangesQuery, options?: CallOptions): Promise<ChangePage>;

  /**
   * Calls the listener when the project may have changes, soon after commits of this store object, and of others if the
   * store hears of them: news without content, at most every 50 ms. A listener that throws fails no commit.
   *
   * Optional, and no reader relies on it: it also asks {@link ResourceStore.changes} once a second.
   *
   * @returns a function that stops it
   */
  watch?(project: string, listener: () => void): () => void;

  /**
   * How the store would answer a call: the statements it would send, in order, and its own plan for each. For humans;
   * the format may change. It changes nothing and reveals no stored data; targets and keys need not exist.
   *
   * Optional: without it, explanations do not show statements.
   */
  explain?(call: StoreCall, options?: CallOptions): Promise<readonly StatementPlan[]>;

  /**
   * The search parameters by which a project cannot be searched yet, because they are being re-indexed after a change
   * of definitions. Searches, counts, `assert-no-match` checks and sorts that use one of them, in chains and `_has`
   * too, reject with `unavailable`; they never answer from a partial index.
   *
   * Optional: without it, no parameter is ever pending.
   */
  pendingParameters?(project: string, options?: CallOptions): Promise<readonly TypeParameter[]>;

  /**
   * Removal for good: of earlier versions, of whole projects, and of remains in files. A store with it also accepts
   * writes of kind `erase`.
   *
   * Optional: without it, erasing, purging and deleting projects are `unsupported`.
   */
  readonly removal?: StoreRemoval | undefined;

  /**
   * A string that changes with every committed write that may affect access (see `decidesAccess`), including writes of
   * other processes. It may change more often. Two different states never have the same string, even if one of them was
   * lost in a restore, so it should be random and not a counter. Callers in use are checked again when it changes, and
   * sign-ins are kept until then, so it should cost less than a read.
   *
   * Optional: without it, callers are checked again by reading their membership, profile and policies.
   */
  accessEpoch?(options?: CallOptions): Promise<string>;

  /**
   * True if every read, search and {@link ResourceStore.accessEpoch} that begins after a commit has resolved sees that
   * commit, even a commit of another process. Reads from replicas lag behind. Sign-ins are kept only over stores with
   * this property.
   *
   * Optional. Default false.
   */
  readonly readsAreCurrent?: boolean | undefined;

  /** Releases connections, files and threads. Later calls reject with `unavailable`. Closing twice is allowed. */
  close(): Promise<void>;
}

/** What changes a store. */
export type StoreWrites = Pick<ResourceStore, 'commit' | 'removal'>;

/** A store for what only reads. */
export type StoreReads = Omit<ResourceStore, keyof StoreWrites>;

/** A call to a store as plain data. */
export type StoreCall =
  | { readonly kind: 'read'; readonly keys: readonly ResourceKey[] }
  | { readonly kind: 'search'; readonly query: SearchQuery }
  | {
      readonly kind: 'search-by-reference';
      readonly query: SearchQuery;
      readonly parameter: string;
      readonly targets: readonly ReferenceTarget[];
    };

/** A statement that a store would send, with its plan. */
export interface StatementPlan {
  /**
   * How a search finds its page, or its count: `collect` tests and sorts the rows of its narrowest condition, `walk` reads the order and
   * tests each row, `segments` reads the index for searches of many matches. Undefined for other statements, and where the
   * store has only one way.
   */
  readonly way?: 'collect' | 'walk' | 'segments' | undefined;
  /** The text, with placeholders for all values. */
  readonly statement: string;
  /** The store's plan, a step per line. */
  readonly plan: readonly string[];
}

/** The context of trusted host code, without a caller. */
export interface StoreContext {
  readonly store: ResourceStore;
  /** Ends the work early with `aborted`. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The base URL of the links that a service makes: its own, or that of its store. Without a slash at its end.
 *
 * @throws FhirError `invalid` - it is not an absolute URL, or they differ: clients would send references that the store takes for another server's
 */
export function serviceBaseUrl({
  store: { model },
  baseUrl,
}: {
  readonly store: ResourceStore;
  readonly baseUrl?: string | undefined;
}): string | undefined {
  const base = baseUrl === undefined ? model.baseUrl : parseBaseUrl(baseUrl);
  if (model.baseUrl === undefined || base === model.baseUrl) return base;
  throw new FhirError('invalid', 'baseUrl must be the one of the store, or be left out');
}

/** @throws FhirError `unsupported` - the store cannot remove for good */
export function requireRemoval(store: StoreWrites): StoreRemoval {
  if (store.removal !== undefined) return store.removal;
  throw new FhirError(
    'unsupported',
    'This store cannot remove anything for good: it lacks the optional part "removal" of the store contract',
  );
}
