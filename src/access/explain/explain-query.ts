import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { Criteria } from '../../search/criteria/criteria.js';
import type { SearchQuery } from '../../store/search-query.js';
import type { Caller } from '../caller.js';
import type { GuardedQuery } from '../contract.js';
import { decide } from '../decide.js';
import { isLocal } from '../evaluate/evaluate-criteria.js';
import { MEMBER_USERS } from '../policy/default-rules.js';
import { restrictQuery } from '../read/restrict.js';
import type { AccessRule } from '../rule.js';

/** A caller's search as sent to the store, with the parts that come from the caller's rules. */
interface ExplainedQuery {
  /** Undefined if nothing may be searched; then the store is not queried. */
  readonly query: SearchQuery | undefined;
  /** The rules that allow searching the type. */
  readonly rules: readonly AccessRule[];
  /** The criteria added by rules, with those rules. All other criteria come from the query. */
  readonly origins: ReadonlyMap<Criteria, readonly AccessRule[]>;
  /** The sort parameters hidden by rules. */
  readonly hiddenSort: readonly string[];
}

/**
 * Restricts a search as the guarded store would, without querying the store.
 *
 * "Members of the project", which the guard would look up, is unchanged.
 */
export function explainQuery(
  model: FhirModel,
  caller: Caller,
  query: GuardedQuery,
  reference?: string,
): ExplainedQuery {
  const origins = new Map<Criteria, AccessRule[]>();
  const rulesOf = (type: string): readonly AccessRule[] | null => {
    const rules = decide(caller, type, 'search');
    for (const rule of rules ?? []) noteOrigin(rule, origins);
    return rules;
  };
  const rules = rulesOf(query.type);
  if (rules === null) return { query: undefined, rules: [], origins, hiddenSort: [] };
  const restricted = restrictQuery(model, caller, query, rules, rulesOf, reference);
  const kept = new Set(restricted.sort);
  return {
    query: restricted.criteria.kind === 'none' ? undefined : restricted,
    rules,
    origins,
    hiddenSort: query.sort?.flatMap((key) => (kept.has(key) ? [] : key.parameter)) ?? [],
  };
}

/** The rules that a search tests on its results with one query each, because they show different fields. */
export function rulesAskedAfterSearch(rules: readonly AccessRule[]): readonly AccessRule[] {
  const [first, ...others] = rules;
  const alike = others.every(({ hidden }) => hidden.join() === first!.hidden.join());
  const open = rules.some(({ criteria, hidden }) => criteria.kind === 'all' && hidden.length === 0);
  return alike || open ? [] : rulesAskedAfterRead(rules);
}

/** The rules for which a read needs a search to decide whether they grant the resource. */
export function rulesAskedAfterRead(rules: readonly AccessRule[]): readonly AccessRule[] {
  return rules.filter(({ criteria }) => criteria !== MEMBER_USERS && !isLocal(criteria));
}

/** Joining flattens nested criteria of the same kind, so the parts of a rule may appear without the rule's own node. */
function noteOrigin(rule: AccessRule, origins: Map<Criteria, AccessRule[]>): void {
  const { criteria } = rule;
  if (criteria.kind === 'all' || criteria.kind === 'none') return;
  const parts = criteria.kind === 'and' || criteria.kind === 'or' ? [criteria, ...criteria.of] : [criteria];
  for (const part of parts) {
    const known = origins.get(part);
    if (known === undefined) origins.set(part, [rule]);
    else if (!known.includes(rule)) known.push(rule);
  }
}
