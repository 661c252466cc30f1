import { FhirError } from '../fhir/error.js';
import { and, type Criteria } from '../search/criteria.js';
import {
  ABOVE_PROJECTS,
  type CallOptions,
  type HistoryPage,
  type PutWrite,
  type DeleteWrite,
  type ReadResult,
  type ReferenceTarget,
  type ResourceKey,
  type ResourceStore,
  type SearchPage,
  type SearchQuery,
  type UnmatchedCheck,
  type Write,
  type WriteResult,
} from '../store/store.js';
import { assertCaller, type Caller } from './caller.js';
import { decide, type Interaction } from './decide.js';

/** A key inside the caller's project. */
export type GuardedKey = Omit<ResourceKey, 'project'>;

/** A query inside the caller's project. */
export type GuardedQuery = Omit<SearchQuery, 'project'>;

/** A write inside the caller's project. */
export type GuardedWrite =
  | (Omit<PutWrite, 'key'> & { readonly key: GuardedKey })
  | (Omit<DeleteWrite, 'key'> & { readonly key: GuardedKey })
  | (Omit<UnmatchedCheck, 'query'> & { readonly query: GuardedQuery });

/**
 * A store as one caller sees it: the caller's project only, and of that what {@link decide} allows.
 *
 * What a caller may not see does not exist for it: the same answers as for a missing resource.
 */
export interface GuardedStore {
  readonly caller: Caller;
  read(keys: readonly GuardedKey[], options?: CallOptions): Promise<readonly ReadResult[]>;
  search(query: GuardedQuery, options?: CallOptions): Promise<SearchPage>;
  searchByReference(
    query: GuardedQuery,
    parameter: string,
    targets: readonly ReferenceTarget[],
    options?: CallOptions,
  ): Promise<readonly SearchPage[]>;
  commit(writes: readonly GuardedWrite[], options?: CallOptions): Promise<readonly WriteResult[]>;
  history(
    key: GuardedKey,
    page: { readonly offset: number; readonly limit: number },
    options?: CallOptions,
  ): Promise<HistoryPage>;
}

/**
 * Puts a caller's rights between the engine and a store.
 *
 * @throws FhirError `unauthenticated` - there is no caller
 */
export function guardStore(store: ResourceStore, caller: Caller): GuardedStore {
  assertCaller(caller);

  const keyOf = (key: GuardedKey): ResourceKey => ({ ...key, project: homeOf(key.type, caller) });

  /** The query with the project and the criteria of the decision joined in; null when nothing is allowed. */
  const restrict = (query: GuardedQuery, interaction: Interaction): SearchQuery | null => {
    const decision = decide(caller, query.type, interaction);
    if (decision === null) return null;
    const criteria: Criteria = and([query.criteria, decision.criteria]);
    return { ...query, criteria, project: homeOf(query.type, caller) };
  };

  const guardWrite = (write: GuardedWrite): Write => {
    if (write.kind === 'unmatched') {
      const query = restrict(write.query, 'search');
      if (query === null) throw forbidden(write.query.type);
      return { kind: 'unmatched', query };
    }
    const interaction = write.kind === 'delete' ? 'delete' : 'update';
    if (decide(caller, write.key.type, interaction) === null) throw forbidden(write.key.type);
    return { ...write, key: keyOf(write.key) };
  };

  return {
    caller,

    async read(keys, options) {
      return store.read(keys.map(keyOf), options);
    },

    async search(query, options) {
      const restricted = restrict(query, 'search');
      return restricted === null ? emptyPage(query) : store.search(restricted, options);
    },

    async searchByReference(query, parameter, targets, options) {
      const restricted = restrict(query, 'search');
      if (restricted === null) return targets.map(() => emptyPage(query));
      return store.searchByReference(restricted, parameter, targets, options);
    },

    async commit(writes, options) {
      return store.commit(writes.map(guardWrite), options);
    },

    async history(key, page, options) {
      return store.history(keyOf(key), page, options);
    },
  };
}

/** Users and Projects live above projects, everything else in the caller's. */
function homeOf(type: string, caller: Caller): string {
  return type === 'User' || type === 'Project' ? ABOVE_PROJECTS : caller.project;
}

function emptyPage(query: GuardedQuery): SearchPage {
  return query.total === true ? { matches: [], total: 0 } : { matches: [] };
}

function forbidden(type: string): FhirError {
  return new FhirError('forbidden', `Not allowed to write ${type}`);
}
