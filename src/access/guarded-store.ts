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
import { maskResource } from './mask-resource.js';
import { resolveMemberUsers } from './member-users.js';
import { readsHidden } from './policy/hidden-fields.js';
import { restrict } from './policy/restrict.js';
import type { AccessRule, AccessRules, Interaction } from './policy/rule.js';
import { grantsOf, maskFound } from './visible-rows.js';

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
    })
  | (Omit<DeleteWrite, 'key'> & { readonly key: GuardedKey })
  | (Omit<UnmatchedCheck, 'query'> & { readonly query: GuardedQuery });

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
   * @throws FhirError `not-found` - an update of what the caller cannot see
   * @throws FhirError `conflict` - the deletion of a profile that a membership needs, besides the store's own reasons
   */
  commit(writes: readonly GuardedWrite[], options?: CallOptions): Promise<readonly WriteResult[]>;
  /** The versions that the caller may see; none for a resource that it may not. */
  history(
    key: GuardedKey,
    page: { readonly offset: number; readonly limit: number },
    options?: CallOptions,
  ): Promise<HistoryPage>;
}

const MISSING: ReadResult = Object.freeze({ status: 'missing' });

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

  async read(keys: readonly GuardedKey[], options?: CallOptions): Promise<readonly ReadResult[]> {
    const decided = keys.map((key) => this.#rules(key.type, key.version === undefined ? 'read' : 'vread'));
    const allowed = keys.filter((_, index) => decided[index] !== null);
    if (allowed.length === 0) return keys.map(() => MISSING);
    const asked = allowed.map((key) => this.#key(key));
    // Who may see an old version is decided by the resource as it is now.
    const current = asked
      .filter(({ version }) => version !== undefined)
      .map(({ project, type, id }) => ({ project, type, id }));
    const found = await this.store.read([...asked, ...current], options);
    const results = new Map(allowed.map((key, index) => [key, found[index]!]));
    const currents = new Map(current.map((key, index) => [`${key.type}/${key.id}`, found[asked.length + index]!]));
    return this.#visible(keys, decided, results, currents, options);
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

  async history(
    key: GuardedKey,
    page: { readonly offset: number; readonly limit: number },
    options?: CallOptions,
  ): Promise<HistoryPage> {
    const rules = this.#rules(key.type, 'history');
    if (rules === null) return { entries: [], total: 0 };
    const full = this.#key(key);
    const [now] = (await this.store.read([full], options)) as [ReadResult];
    const grants = await this.#grants(key.type, rules, now, options);
    if (grants.length === 0) return { entries: [], total: 0 };
    const { entries, total } = await this.store.history(full, page, options);
    return {
      total,
      entries: entries.map((entry) =>
        entry.kind === 'put' ? { ...entry, resource: maskResource(entry.resource, grants, this.#allRules) } : entry,
      ),
    };
  }

  #key(key: GuardedKey): ResourceKey {
    return { ...key, project: homeOf(key.type, this.caller) };
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
    const project = homeOf(query.type, this.caller);
    if (this.caller.kind === 'system') return { ...query, project };
    const joined = restrict(query.criteria, query.type, rules, (type) => this.#rules(type, 'search'), reference);
    const criteria = await resolveMemberUsers(this.store, this.caller, joined, options);
    if (criteria.kind === 'none') return null;
    // A sort by a field that some rule hides would tell its order.
    const sort = query.sort?.filter(({ parameter }) =>
      rules.every(({ hidden }) => !readsHidden(query.type, parameter, hidden)),
    );
    return { ...query, project, criteria, sort };
  }

  async #mask(
    type: string,
    rules: readonly AccessRule[],
    page: SearchPage,
    options: CallOptions | undefined,
  ): Promise<SearchPage> {
    if (this.caller.kind === 'system' && isUnrestricted(rules)) return page;
    const project = homeOf(type, this.caller);
    const matches = await maskFound(this.store, project, type, rules, this.#allRules, page.matches, options);
    return { ...page, matches };
  }

  /** The answers to a read, with what may not be seen turned into what is missing. */
  async #visible(
    keys: readonly GuardedKey[],
    decided: readonly (readonly AccessRule[] | null)[],
    results: ReadonlyMap<GuardedKey, ReadResult>,
    currents: ReadonlyMap<string, ReadResult>,
    options: CallOptions | undefined,
  ): Promise<readonly ReadResult[]> {
    if (this.caller.kind === 'system' && decided.every((rules) => rules !== null && isUnrestricted(rules))) {
      return keys.map((key) => results.get(key) ?? MISSING);
    }
    const answers = new Map<GuardedKey, ReadResult>();
    // Keys of one type are decided together, so that rules with chains cost one query per type.
    for (const [type, group] of Map.groupBy(keys.keys(), (index) => keys[index]!.type)) {
      const rules = decided[group[0]!] ?? null;
      if (rules === null) continue;
      const rows = group.map((index) => {
        const key = keys[index]!;
        return (key.version === undefined ? results.get(key) : currents.get(`${type}/${key.id}`)) ?? MISSING;
      });
      const found = rows.filter((row) => row.status === 'found');
      const grants = await this.#grantsOf(type, rules, found, options);
      const byRow = new Map<ReadResult, readonly AccessRule[]>(found.map((row, index) => [row, grants[index]!]));
      group.forEach((index, at) => {
        const result = results.get(keys[index]!) ?? MISSING;
        const granted = byRow.get(rows[at]!) ?? (isOpen(rules) ? rules : []);
        answers.set(keys[index]!, granted.length === 0 ? MISSING : this.#maskResult(result, granted));
      });
    }
    return keys.map((key) => answers.get(key) ?? MISSING);
  }

  async #grants(
    type: string,
    rules: readonly AccessRule[],
    now: ReadResult,
    options: CallOptions | undefined,
  ): Promise<readonly AccessRule[]> {
    if (now.status !== 'found') return isOpen(rules) ? rules : [];
    const [grants] = await this.#grantsOf(type, rules, [now], options);
    return grants!;
  }

  async #grantsOf(
    type: string,
    rules: readonly AccessRule[],
    rows: readonly (ReadResult & { status: 'found' })[],
    options: CallOptions | undefined,
  ): Promise<readonly (readonly AccessRule[])[]> {
    const resolved = await Promise.all(
      rules.map(async (rule) => ({
        ...rule,
        criteria: await resolveMemberUsers(this.store, this.caller, rule.criteria, options),
      })),
    );
    return grantsOf(this.store, homeOf(type, this.caller), type, resolved, rows, options);
  }

  #maskResult(result: ReadResult, grants: readonly AccessRule[]): ReadResult {
    if (result.status !== 'found') return result;
    const resource = maskResource(result.resource, grants, this.#allRules);
    return resource === result.resource ? result : { ...result, resource };
  }
}

/** True where the type is open as a whole, so that even a deletion may be told. */
function isOpen(rules: readonly AccessRule[]): boolean {
  return rules.some(({ criteria }) => criteria.kind === 'all');
}

function emptyPage(query: GuardedQuery): SearchPage {
  return query.total === true ? { matches: [], total: 0 } : { matches: [] };
}
