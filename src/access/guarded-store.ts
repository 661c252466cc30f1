import {
  type CallOptions,
  type DeleteWrite,
  type HistoryPage,
  type PutWrite,
  type ReadResult,
  type ReferenceTarget,
  type ResourceKey,
  type ResourceStore,
  type SearchPage,
  type SearchQuery,
  type UnmatchedCheck,
  type WriteResult,
} from '../store/store.js';
import { assertCaller, type Caller } from './caller.js';
import { decide, isUnrestricted } from './decide.js';
import { homeOf } from './home-of.js';
import { commitGuarded } from './guard-writes.js';
import { resolveMemberUsers } from './member-users.js';
import { maskInside, withMasked } from './mask-resource.js';
import { restrictQuery } from './restrict-query.js';
import type { AccessRule, AccessRules, Interaction } from './policy/rule.js';
import { historyVisible, readVisible } from './visible-reads.js';
import { maskFound } from './visible-rows.js';

/** A key inside the caller's project. */
export type GuardedKey = Omit<ResourceKey, 'project'>;

/** A query inside the caller's project. */
export type GuardedQuery = Omit<SearchQuery, 'project'>;

/** A write inside the caller's project. */
export type GuardedWrite =
  | (Omit<PutWrite, 'key'> & {
      readonly key: GuardedKey;
      /**
       * Secrets that the resource leaves out stay as they are: for a resource that was read, and so without them, and is
       * written back. Left out, trusted code writes the resource as it is; members never see nor change secrets.
       */
      readonly keepSecrets?: true | undefined;
      /**
       * The library made the id for this very resource, so nothing can be stored under it. Every other id was chosen by
       * the caller, and only callers who read all resources of a type may create under an id that they chose.
       */
      readonly generatedId?: true | undefined;
    })
  | (Omit<DeleteWrite, 'key'> & {
      readonly key: GuardedKey;
      /** Deleting what never was is `not-found`; deleting again what was deleted still changes nothing. */
      readonly mustExist?: true | undefined;
    })
  | (Omit<UnmatchedCheck, 'query'> & { readonly query: GuardedQuery });

/** What a write came to, as the caller sees it. */
export type GuardedResult =
  | (Extract<WriteResult, { kind: 'put' }> & {
      /** The caller may not read what it wrote: `resource` repeats what the caller itself sent, and nothing else. */
      readonly unreadable?: true | undefined;
    })
  | Exclude<WriteResult, { kind: 'put' }>;

/** What goes along with a commit. */
export interface CommitOptions extends CallOptions {
  /** Called before the store is asked to write: until then nothing can have been written, after the signal never again. */
  readonly onCommit?: (() => void) | undefined;
}

/**
 * A store as one caller sees it: the caller's project only, and of that what {@link decide} allows.
 *
 * What a caller may not see does not exist for it: the same answers as for a missing resource. Fields that are hidden are
 * absent from results, and have no values for searches and sorts.
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
  /**
   * Writes what the caller may write, all or nothing. Stamps `meta.project` and `meta.author`.
   *
   * @throws FhirError `forbidden` - a write, or a field of it, that is not allowed; `details.index` is its position
   * @throws FhirError `not-found` - an update of what the caller cannot see, or a deletion with `mustExist`
   * @throws FhirError `conflict` - the deletion of a profile that a membership needs, besides the store's own reasons
   */
  commit(writes: readonly GuardedWrite[], options?: CommitOptions): Promise<readonly GuardedResult[]>;
  /** The versions that the caller may see: none for a resource that it may not see as it is now. */
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
  const guard = new Guard(store, caller);
  return {
    caller,
    read: (keys, options) => guard.read(keys, options),
    search: (query, options) => guard.search(query, options),
    searchByReference: (query, parameter, targets, options) =>
      guard.searchByReference(query, parameter, targets, options),
    commit: (writes, options) => commitGuarded(store, caller, writes, options),
    history: (key, page, options) => guard.history(key, page, options),
  };
}

class Guard {
  readonly #allRules: AccessRules | undefined;

  constructor(
    private readonly store: ResourceStore,
    private readonly caller: Caller,
  ) {
    this.#allRules = caller.kind === 'member' ? caller.rules : undefined;
  }

  read(keys: readonly GuardedKey[], options?: CallOptions): Promise<readonly ReadResult[]> {
    return readVisible({ store: this.store, caller: this.caller, options }, keys);
  }

  async search(query: GuardedQuery, options?: CallOptions): Promise<SearchPage> {
    const rules = this.#rules(query.type, 'search');
    const restricted = await this.#restrict(query, rules, undefined, options);
    if (rules === null || restricted === null) return emptyPage(query);
    return this.#mask(query.type, rules, await this.store.search(restricted, options), options);
  }

  async searchByReference(
    query: GuardedQuery,
    parameter: string,
    targets: readonly ReferenceTarget[],
    options?: CallOptions,
  ): Promise<readonly SearchPage[]> {
    const rules = this.#rules(query.type, 'search');
    const restricted = await this.#restrict(query, rules, parameter, options);
    if (rules === null || restricted === null) return targets.map(() => emptyPage(query));
    const pages = await this.store.searchByReference(restricted, parameter, targets, options);
    return Promise.all(pages.map((page) => this.#mask(query.type, rules, page, options)));
  }

  history(
    key: GuardedKey,
    page: { readonly offset: number; readonly limit: number },
    options?: CallOptions,
  ): Promise<HistoryPage> {
    return historyVisible({ store: this.store, caller: this.caller, options }, key, page);
  }

  #rules(type: string, interaction: Interaction): readonly AccessRule[] | null {
    return decide(this.caller, type, interaction);
  }

  /** The query that the store may be asked; null when its answer is known to be nothing. */
  async #restrict(
    query: GuardedQuery,
    rules: readonly AccessRule[] | null,
    reference: string | undefined,
    options: CallOptions | undefined,
  ): Promise<SearchQuery | null> {
    if (rules === null) return null;
    const restricted = restrictQuery(this.caller, query, rules, (type) => this.#rules(type, 'search'), reference);
    const criteria = await resolveMemberUsers(this.store, this.caller, restricted.criteria, options);
    return criteria.kind === 'none' ? null : { ...restricted, criteria };
  }

  async #mask(
    type: string,
    rules: readonly AccessRule[],
    page: SearchPage,
    options: CallOptions | undefined,
  ): Promise<SearchPage> {
    if (this.caller.kind !== 'member' && isUnrestricted(rules)) {
      return { ...page, matches: page.matches.map((row) => withMasked(row, maskInside(row.resource, undefined))) };
    }
    const project = homeOf(type, this.caller);
    const matches = await maskFound(this.store, project, type, rules, this.#allRules, page.matches, options);
    return { ...page, matches };
  }
}

function emptyPage(query: GuardedQuery): SearchPage {
  return query.total === true ? { matches: [], total: 0 } : { matches: [] };
}
