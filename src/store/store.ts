import type { FhirModel } from '../fhir/model/fhir-model.js';
import type { AnyResource } from '../fhir/resource.js';
import type { Criteria, SortKey } from '../search/criteria/criteria.js';
import type { TypeParameter } from '../search/criteria/parameters-of.js';
import type { SearchPosition } from '../search/evaluate/sort.js';
import type { Terminology } from './terminology.js';

/**
 * The store of resources, the engine's only dependency. Any implementation that keeps these promises works;
 * `fhirgraph/testing` verifies them.
 *
 * Promises that hold for every method:
 * - Every key and query names its project; nothing crosses projects.
 * - Results are private copies or deeply frozen: a caller can never change what another sees.
 * - Rejections are `FhirError`s: `unavailable` (try again), `conflict`, `precondition-failed`, `aborted` (by `signal`),
 *   `corrupt`; anything else is a fault of the adapter.
 */
export interface ResourceStore {
  /** The definitions by which the store indexes and searches; all code on top of the store uses them. */
  readonly model: FhirModel;
  /** What expands value sets and hierarchies of codes in searches: see `withTerminology`. Default: nothing does. */
  readonly terminology?: Terminology | undefined;
  /** Largest resource that may be written, in bytes of its JSON text. Default 16 MiB. */
  readonly maxResourceBytes?: number | undefined;

  /** Many resources at once: same length, same order as `keys`, absence marked per key. Duplicate keys are allowed. */
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
   * Applies all writes or none, over projects too. When the promise resolves the writes are durable.
   *
   * The store sets `meta.versionId` (a new one per write, never used again for that resource) and `meta.lastUpdated`
   * (later than that of the version before, even where the clock stands still or goes back) in what it keeps and
   * returns. Access checks rely on it: a resource with the same `lastUpdated` has not changed.
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
  history(
    key: ResourceKey,
    page: { readonly offset: number; readonly limit: number },
    options?: CallOptions,
  ): Promise<HistoryPage>;

  /**
   * Versions of all resources of a type, newest first, deletions included. Versions of the same instant are in an order
   * of the store's own that never changes. A page costs what it holds, however many versions there are.
   *
   * Optional: services over a store without it do not offer the history of a type.
   */
  typeHistory?(query: TypeHistoryQuery, options?: CallOptions): Promise<readonly TypeHistoryEntry[]>;

  /** Calls the listener after each commit and removal with what changed. @returns a function that stops it. */
  subscribe(listener: (changes: readonly Change[]) => void): () => void;

  /**
   * How the store would answer a call: the statements it would send, in order, and its own plan for each. For humans;
   * the format may change. It changes nothing and reveals no stored data; targets and keys need not exist.
   *
   * Optional: stores without it cannot be explained.
   */
  explain?(call: StoreCall, options?: CallOptions): Promise<readonly StatementPlan[]>;

  /**
   * The search parameters by which a project cannot be searched yet, because they are being re-indexed after a change
   * of definitions. Searches, counts, `assert-no-match` checks and sorts that use one of them, in chains and `_has`
   * too, reject with `unavailable`; they never answer from a partial index.
   *
   * Optional: a store without it never has any.
   */
  pendingParameters?(project: string, options?: CallOptions): Promise<readonly TypeParameter[]>;

  /**
   * Removal for good: of earlier versions, of whole projects, of traces. A store that has it also takes writes of kind
   * `erase`.
   *
   * Optional: without it nothing can be erased, no history be purged and no project be deleted.
   */
  readonly removal?: StoreRemoval | undefined;

  /**
   * A text that changes with every committed write that may decide about access, those of other processes included:
   * `decidesAccess` says which. It may change more often. Callers that are in use for longer are checked again when
   * it does, and sign-ins are kept until then, so it should cost less than a read.
   *
   * Optional: without it, callers are checked again by reading what decides about them.
   */
  accessEpoch?(options?: CallOptions): Promise<string>;

  /**
   * True if every read, search and {@link ResourceStore.accessEpoch} that begins after a commit has resolved sees that
   * commit, also one of another process. Replicas lag behind. Sign-ins are kept only over such stores.
   *
   * Optional. Default false.
   */
  readonly readsAreCurrent?: boolean | undefined;

  /** Releases what the store holds open. Later calls reject with `unavailable`. Closing twice is allowed. */
  close(): Promise<void>;
}

/**
 * What a store removes so that it cannot be restored. Each step is one transaction of bounded size that other calls do not
 * wait long for; callers repeat it until nothing is left, and resume it after a crash by calling it again.
 */
export interface StoreRemoval {
  /** Removes versions that are not current. Current versions, deletions included, always stay. */
  purgeHistory(request: PurgeRequest, options?: CallOptions): Promise<PurgeStep>;

  /**
   * Removes resources of a project with all their versions, index values and unique texts, without tombstones, and at the
   * end everything else that the store keeps of the project. The project is then as if it had never been written to.
   */
  removeProject(project: string, options?: CallOptions): Promise<RemovalStep>;

  /**
   * Overwrites what removed data left where only the store looks: free pages, logs, names without resources. Takes as long as
   * copying the store, and may hold up writes until it is done.
   *
   * @throws FhirError `unavailable` - another connection holds on to an old state; try again
   */
  scrub(options?: CallOptions): Promise<void>;
}

/** The versions to remove from the history of a project. */
export interface PurgeRequest {
  readonly project: string;
  /** Only versions that were replaced before this instant. ISO 8601, UTC. */
  readonly replacedBefore: string;
  /** How many of the newest versions of each resource stay, the current one included. From 1 up. */
  readonly keep: number;
  /** Only versions of resources of this type. Default: of all types. */
  readonly type?: string | undefined;
  /** `next` of the step before. Default: from the beginning. */
  readonly after?: string | undefined;
}

/** What a step of purging did. */
export interface PurgeStep {
  /** The number of versions removed. */
  readonly versions: number;
  /** Where the next step begins; undefined: all is done. */
  readonly next?: string | undefined;
}

/** What a step of removing a project did. */
export interface RemovalStep {
  /** The number of resources removed; of deleted and erased ones too. */
  readonly resources: number;
  /** The number of versions removed. */
  readonly versions: number;
  /** Nothing is left. */
  readonly done: boolean;
}

/** Options of every store call. */
export interface CallOptions {
  /** Ends the work early with `aborted`; optional. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The time by which the answer is needed, on the clock of `performance.now()`. Default: none. A store ends its work
   * by then with `aborted` and `details.deadline`, even if it cannot observe the signal. Stores may rely on the signal
   * instead.
   */
  readonly deadline?: number | undefined;
  /**
   * The most resources that `searchByReference` may return for all targets together. A store that finds more may reject
   * with `too-costly` and `details.limit` `maxResources` instead of reading them; others return them. Default: no limit.
   */
  readonly maxResources?: number | undefined;
}

/** The scope of resources above projects: Users and the Projects themselves. */
export const SERVER_SCOPE = '';

/** The project, type and id of a resource. */
export interface ResourceKey {
  /** The id of a Project, {@link SERVER_SCOPE}, or an internal scope, which begins with a slash. */
  readonly project: string;
  readonly type: string;
  readonly id: string;
  /** One version instead of the current one. Only used by `read`. */
  readonly version?: string | undefined;
  /** The elements that are needed. Only used by `read`; see {@link SearchQuery.elements}. */
  readonly elements?: readonly string[] | undefined;
}

/** The target of a reverse search. */
export interface ReferenceTarget {
  readonly type: string;
  readonly id: string;
}

/** A resource as stored, `meta.versionId` and `meta.lastUpdated` included. */
export interface StoredResource {
  readonly versionId: string;
  /** ISO 8601 instant, UTC. */
  readonly lastUpdated: string;
  readonly resource: AnyResource;
}

/** The result of a read: the resource, its deletion, or nothing. */
export type ReadResult =
  | ({ readonly status: 'found' } & StoredResource)
  /** No such resource, or no such version of it. */
  | { readonly status: 'missing' }
  /** Deleted, with the version of the deletion. */
  | ({ readonly status: 'gone' } & Deletion);

/** A version without content: a deletion, or what is left of an erased resource. */
export interface Deletion {
  readonly versionId: string;
  /** ISO 8601 instant, UTC. */
  readonly lastUpdated: string;
  /** The resource was erased: this version is all that is left of it. */
  readonly erased?: { readonly reason: string } | undefined;
}

/** A search in one project and type. */
export interface SearchQuery {
  readonly project: string;
  readonly type: string;
  readonly criteria: Criteria;
  /** Default: by id, ascending. Ties of any sort are broken by ascending id. Resources without a value come last. */
  readonly sort?: readonly SortKey[] | undefined;
  /** Number of matches to skip. Default 0; not together with `before`. */
  readonly offset?: number | undefined;
  /** Maximum page size. Default: no limit. 0 returns no resources (with `total`: the count alone). */
  readonly limit?: number | undefined;
  /** Also count all matches, whatever the page. Default false. */
  readonly total?: boolean | undefined;
  /**
   * The service's own base, without a slash at its end: stored absolute references below it
   * (`https://own.base/Patient/1`) count as relative references in criteria, sort and targets. Default: none.
   */
  readonly baseUrl?: string | undefined;
  /** The page begins right after this position in the order of `sort`. */
  readonly after?: SearchPosition | undefined;
  /** The page ends right before this position: the last `limit` matches before it, in the order of `sort`. */
  readonly before?: SearchPosition | undefined;
  /**
   * The elements that are needed, by their names in JSON (`name`, `_birthDate`). A store may leave out others, except
   * `resourceType` and `id`. Lists that stay the same object from call to call are compiled once. Default: all.
   */
  readonly elements?: readonly string[] | undefined;
}

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
  /** The text, with placeholders for all values. */
  readonly statement: string;
  /** The store's plan, a step per line. */
  readonly plan: readonly string[];
}

/** A page of a search. */
export interface SearchPage {
  readonly matches: readonly StoredResource[];
  /** The number of all matches; present when asked for. */
  readonly total?: number | undefined;
}

/** A write of a commit. */
export type Write = PutWrite | DeleteWrite | EraseWrite | NoMatchAssertion;

/**
 * Creates the resource or its next version. `resource.resourceType` and `.id` equal the key's.
 *
 * The id of an erased resource takes no further version: the commit rejects with `gone` (`details.index`).
 */
export interface PutWrite {
  readonly kind: 'put';
  readonly key: ResourceKey;
  readonly resource: AnyResource;
  readonly expect?: Expectation | undefined;
  /**
   * Texts that no other current resource of the project may hold, such as `User.email=ann@example.org`. They replace
   * the keys of the previous version; a deletion removes them.
   */
  readonly unique?: readonly string[] | undefined;
}

/** Deletes the resource; its history stays. Deleting what is absent changes nothing. */
export interface DeleteWrite {
  readonly kind: 'delete';
  readonly key: ResourceKey;
  readonly expect?: Expectation | undefined;
}

/**
 * Removes the resource with all its versions, index values and unique texts. One version is left, a deletion with an
 * instant and a reason. Erasing a resource that was never written, or is already erased, changes nothing.
 */
export interface EraseWrite {
  readonly kind: 'erase';
  readonly key: ResourceKey;
  /** Why, as a code without content: see `isErasureReason`. */
  readonly reason: string;
  readonly expect?: Expectation | undefined;
}

/** Fails the commit if the query has a match after the preceding writes, as for a conditional create. */
export interface NoMatchAssertion {
  readonly kind: 'assert-no-match';
  readonly query: SearchQuery;
}

/** The expected current version; `null` if there must be none. */
export type Expectation = { readonly version: string | null };

/** The result of a write. */
export type WriteResult =
  | ({
      readonly kind: 'put';
      /** True when there was no current version before. */ readonly created: boolean;
    } & StoredResource)
  | { readonly kind: 'delete'; /** Null when there was nothing to delete. */ readonly versionId: string | null }
  | {
      readonly kind: 'erase';
      /** The version that is left; null when there was nothing to erase. */
      readonly versionId: string | null;
      /** The number of versions removed. */
      readonly versions: number;
    }
  | { readonly kind: 'assert-no-match' };

/** A page of the history of a resource. */
export interface HistoryPage {
  readonly entries: readonly HistoryEntry[];
  readonly total: number;
}

/** A version of a resource: its content, or a deletion. */
export type HistoryEntry = ({ readonly kind: 'put' } & StoredResource) | ({ readonly kind: 'delete' } & Deletion);

/** A page of the history of a type in one project. */
export interface TypeHistoryQuery {
  readonly project: string;
  readonly type: string;
  /** Only versions of these resources; a call names at most 1000. Default: of all. */
  readonly ids?: readonly string[] | undefined;
  /** Only versions written at this instant or later. ISO 8601 instant, UTC. Default: all. */
  readonly since?: string | undefined;
  /** Only versions that are not current: those that were replaced, and deletions. Default false. */
  readonly past?: boolean | undefined;
  /** The page begins right after this version. Default: with the newest. */
  readonly after?: VersionPosition | undefined;
  /** Maximum page size. */
  readonly limit: number;
}

/**
 * The place of a version in the history of its type. If there is no such version, the place is somewhere among the versions of
 * the same instant.
 */
export interface VersionPosition {
  /** ISO 8601 instant, UTC. */
  readonly lastUpdated: string;
  readonly id: string;
  readonly versionId: string;
}

/** A version in the history of a type. */
export type TypeHistoryEntry =
  | ({
      readonly kind: 'put';
      readonly id: string;
      /** True when there was no current version before; false if that version was purged. */
      readonly created: boolean;
    } & StoredResource)
  | ({ readonly kind: 'delete'; readonly id: string } & Deletion);

/** One write of a commit, for listeners. */
export interface Change {
  /** `erase`: nothing that was ever read of the resource may be kept. */
  readonly kind: 'put' | 'delete' | 'erase';
  readonly key: ResourceKey;
  /** The newest version. Of a resource of a removed project: the last one that it had. */
  readonly versionId: string;
}
