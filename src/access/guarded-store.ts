import { FhirError } from '../fhir/error.js';
import type { AnyResource } from '../fhir/resource.js';
import { onFirstUse } from '../platform/shared-work.js';
import type { ProfileChoice } from '../profiles/validate-profiles.js';
import { type Criteria, expansionsIn } from '../search/criteria/criteria.js';
import type { CallOptions } from '../store/call-options.js';
import type { HistoryPage, TypeHistoryEntry, VersionRange } from '../store/history.js';
import type { ReferenceTarget } from '../store/resource-key.js';
import type { SearchPage, SearchQuery } from '../store/search-query.js';
import type { ResourceStore, StoreWrites } from '../store/store.js';
import type { ReadResult } from '../store/stored-resource.js';
import type { AccessTrace } from './access-trace.js';
import { assertCaller, type Caller, homeOf } from './caller.js';
import type { GuardedKey, GuardedQuery, GuardedStore, GuardedTypeHistory, GuardedWrite } from './contract.js';
import { decide } from './decide.js';
import { areMaskedAlike, maskFound } from './evaluate/granting-rules.js';
import { mentionsMemberUsers, resolveMemberUsers } from './evaluate/member-users.js';
import type { Origins } from './fields/mask-resource.js';
import { AUDIT_EVENT, maskEvents, mentionsEvents, restrictEvents, visibleTargets } from './read/audit-names.js';
import { restrictQuery } from './read/restrict.js';
import { typeHistoryVisible } from './read/type-history.js';
import { historyVisible, readVisible, type Reading } from './read/visible-reads.js';
import type { AccessRule, AccessRules, Interaction } from './rule.js';
import { assertSession } from './sign-in/session.js';
import { withConcepts } from './terminology/expand-concepts.js';
import { MAX_FOUND } from './terminology/search-terminology.js';

/** What a guarded store does beside the rights of its caller. */
interface GuardOptions {
  /** Receives what is masked and written, for the audit record of one interaction. */
  readonly trace?: AccessTrace | undefined;
  /** Profiles that written resources must conform to, in addition to those that the project requires. */
  readonly profiles?: ProfileChoice | undefined;
  /** Commits in place of the store. Default: the store, in which administrative writes need the caller's current rights. */
  readonly writes?: StoreWrites | undefined;
}

/**
 * Wraps a store with a caller's rights.
 *
 * @throws FhirError `unauthenticated` - the caller is missing, or it signed in to a store with other definitions, under
 * which its rules have another meaning
 */
export function guardStore(
  store: ResourceStore,
  caller: Caller,
  { trace, profiles, writes: to = store }: GuardOptions = {},
): GuardedStore {
  assertCaller(caller);
  assertSameModel(store, caller);
  const guard = new Guard(store, caller, trace?.origins);
  const inSession = <Result>(options: CallOptions | undefined, work: () => Promise<Result>): Promise<Result> => {
    const checked = assertSession(store, caller, options);
    return checked === undefined ? work() : checked.then(work);
  };
  return {
    caller,
    model: store.model,
    read(keys, options) {
      trace?.called(keys.map(({ type }) => type));
      return inSession(options, () => guard.read(keys, options));
    },
    search(query, options) {
      trace?.called([query.type]);
      return inSession(options, () => guard.search(query, options));
    },
    searchByReference(query, parameter, targets, options) {
      trace?.called([query.type]);
      return inSession(options, () => guard.searchByReference(query, parameter, targets, options));
    },
    commit(writes, options) {
      trace?.called(writes.map((write) => (write.kind === 'assert-no-match' ? write.query.type : write.key.type)));
      return inSession(options, async () => {
        const { commitGuarded } = await loadWriting();
        return commitGuarded(
          { store, caller, to, trace, profiles },
          await guard.withConcepts(writes, options),
          options,
        );
      });
    },
    history(key, page, options) {
      trace?.called([key.type]);
      return inSession(options, () => guard.history(key, page, options));
    },
    typeHistory(query, options) {
      trace?.called([query.type]);
      return inSession(options, () => guard.typeHistory(query, options));
    },
  };
}

/** PERF (start): loaded with the first write. */
const loadWriting = onFirstUse(() => import('./write/commit-guarded.js'));

function assertSameModel(store: ResourceStore, caller: Caller): void {
  if (caller.kind !== 'member' || caller.rules.model === store.model) return;
  throw new FhirError(
    'unauthenticated',
    'The caller signed in over a store with other definitions; sign in over this one',
  );
}

class Guard {
  readonly #allRules: AccessRules | undefined;

  constructor(
    private readonly store: ResourceStore,
    private readonly caller: Caller,
    private readonly origins: Origins | undefined,
  ) {
    this.#allRules = caller.kind === 'member' ? caller.rules : undefined;
  }

  read(keys: readonly GuardedKey[], options?: CallOptions): Promise<readonly ReadResult[]> {
    const reading = this.#reading(options);
    const results = readVisible(reading, keys);
    return keys.some(isEvent) ? results.then((found) => maskEvents(reading, found)) : results;
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
    const masked = await Promise.all(pages.map((page) => this.#mask(query.type, rules, page, options)));
    if (!isEvent(query)) return masked;
    const isVisible = await visibleTargets(targets, this.#reading(options));
    return masked.map((page, index) => (isVisible(targets[index]!) ? page : emptyPage(query)));
  }

  async history(key: GuardedKey, page: VersionRange, options?: CallOptions): Promise<HistoryPage> {
    const reading = this.#reading(options);
    const found = await historyVisible(reading, key, page);
    return isEvent(key) ? { ...found, entries: await maskEvents(reading, found.entries) } : found;
  }

  async typeHistory(query: GuardedTypeHistory, options?: CallOptions): Promise<readonly TypeHistoryEntry[]> {
    const reading = this.#reading(options);
    const found = await typeHistoryVisible(reading, query, (search, rules) =>
      this.#restrict(search, rules, undefined, options),
    );
    return isEvent(query) ? maskEvents(reading, found) : found;
  }

  #reading(options: CallOptions | undefined): Reading {
    return { store: this.store, caller: this.caller, options, origins: this.origins };
  }

  #rules(type: string, interaction: Interaction): readonly AccessRule[] | null {
    return decide(this.caller, type, interaction);
  }

  /** The query for the store; null if the answer is known to be empty. */
  async #restrict(
    query: GuardedQuery,
    rules: readonly AccessRule[] | null,
    reference: string | undefined,
    options: CallOptions | undefined,
  ): Promise<SearchQuery | null> {
    if (rules === null) return null;
    // Almost no search needs to wait for concepts or members.
    const asked = expansionsIn(query.criteria).size === 0 ? query : await this.#expand(query, options);
    const expanded = mentionsEvents(asked) ? await restrictEvents(asked, this.#reading(options)) : asked;
    const restricted = restrictQuery(
      this.store.model,
      this.caller,
      expanded,
      rules,
      (type) => this.#rules(type, 'search'),
      reference,
    );
    const criteria = mentionsMemberUsers(restricted.criteria)
      ? await resolveMemberUsers(this.store, this.caller, restricted.criteria, options)
      : restricted.criteria;
    // The whole resource is needed to decide which rule grants a result.
    const elements = areMaskedAlike(rules) ? query.elements : undefined;
    return criteria.kind === 'none' ? null : { ...restricted, criteria, elements };
  }

  /** Conditions of writes with tests of concepts replaced by tests of their codes. */
  async withConcepts(
    writes: readonly GuardedWrite[],
    options: CallOptions | undefined,
  ): Promise<readonly GuardedWrite[]> {
    const expanded: GuardedWrite[] = [];
    for (const write of writes) {
      expanded.push(
        write.kind === 'assert-no-match'
          ? { ...write, query: await restrictEvents(await this.#expand(write.query, options), this.#reading(options)) }
          : write,
      );
    }
    return expanded;
  }

  /** The terminology sees what the caller sees, so it reveals no other value sets. */
  async #expand(query: GuardedQuery, options: CallOptions | undefined): Promise<GuardedQuery> {
    const context = {
      project: this.caller.project,
      search: async (type: string, criteria: Criteria): Promise<readonly AnyResource[]> => {
        const { matches } = await this.search({ type, criteria, limit: MAX_FOUND }, options);
        return matches.map(({ resource }) => resource);
      },
    };
    const criteria = await withConcepts(query.criteria, this.store.terminology, context, options);
    return { ...query, criteria };
  }

  async #mask(
    type: string,
    rules: readonly AccessRule[],
    page: SearchPage,
    options: CallOptions | undefined,
  ): Promise<SearchPage> {
    const project = homeOf(type, this.caller);
    const matches = await maskFound(
      this.store,
      project,
      type,
      rules,
      this.#allRules,
      page.matches,
      options,
      this.origins,
    );
    if (type !== AUDIT_EVENT) return { ...page, matches };
    return { ...page, matches: await maskEvents(this.#reading(options), matches) };
  }
}

function isEvent({ type }: { readonly type: string }): boolean {
  return type === AUDIT_EVENT;
}

function emptyPage(query: GuardedQuery): SearchPage {
  return query.total === true ? { matches: [], total: 0 } : { matches: [] };
}
