import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { SearchPosition } from '../../search/evaluate/sort.js';
import { assertAffordable, MAX_RESTRICTED_COST } from '../../search/parse/criteria-cost.js';
import type { SearchQuery } from '../../store/search-query.js';
import { type Caller, homeOf } from '../caller.js';
import type { GuardedQuery } from '../contract.js';
import { readsHidden } from '../fields/hidden-fields.js';
import { hiddenInResources } from '../fields/mask-resource.js';
import type { AccessRule } from '../rule.js';
import { restrict, type SearchRules } from './restrict.js';

/**
 * Restricts a caller's search to resources that the rules grant, without any use of hidden fields.
 *
 * @throws FhirError `too-costly` - the search itself, or with the rules added; see `assertAffordable`
 *
 * @param rules those of the searched type
 * @param rulesOf those of the types that chains lead to
 * @param reference the parameter that a search by reference follows
 */
export function restrictQuery(
  model: FhirModel,
  caller: Caller,
  query: GuardedQuery,
  rules: readonly AccessRule[],
  rulesOf: SearchRules,
  reference?: string,
): SearchQuery {
  const project = homeOf(query.type, caller);
  // Sorting by a hidden field would reveal its order.
  const all = caller.kind === 'member' ? caller.rules : undefined;
  const inside = hiddenInResources(model, all);
  const open = query.sort?.map(({ parameter }) =>
    rules.every(({ hidden }) => !readsHidden(model, query.type, parameter, hidden, inside)),
  );
  const isOpen = (_: unknown, index: number): boolean => open?.[index] !== false;
  const place = ({ values, id }: SearchPosition): SearchPosition => ({ values: values.filter(isOpen), id });
  const criteria = restrict(model, query.criteria, query.type, rules, rulesOf, reference, all);
  const sort = query.sort?.filter(isOpen);
  if (sort !== undefined && sort.length > 0) assertAffordable({ criteria, sort }, MAX_RESTRICTED_COST);
  return {
    ...query,
    project,
    criteria,
    sort,
    after: query.after && place(query.after),
    before: query.before && place(query.before),
  };
}
