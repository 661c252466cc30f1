import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { perModel } from '../../fhir/model/per-model.js';
import { LRUCache } from 'lru-cache';
import { quote } from '../../fhir/messages/quote.js';
import type { JsonObject } from '../../fhir/resource.js';
import { coveredByWildcard } from '../fields/administrative-types.js';
import { hasFieldNamed } from '../fields/field-paths.js';
import { policyCriteria } from './policy-criteria.js';
import { located, messageOf } from './policy-fault.js';
import { ruleFields, type PolicyGrant } from './policy-grant.js';

/** Asserts that every name in a rule for all types exists in some type. */
export function assertWildcard(model: FhirModel, grant: PolicyGrant, rule: JsonObject, index: number): void {
  if (rule['resourceType'] !== '*') return;
  assertWildcardCriteria(model, grant, rule, index);
  for (const list of ['hiddenFields', 'readonlyFields'] as const) {
    for (const [at, field] of ruleFields(rule, list).entries()) {
      if (isFieldOfSomeType(model, field)) continue;
      throw located(`resource[${index}].${list}[${at}]`, `no resource type has the field ${quote(field)}`);
    }
  }
}

export function isFieldOfSomeType(model: FhirModel, field: string): boolean {
  const fields = FIELDS(model);
  let known = fields.get(field);
  if (known === undefined) {
    known = model.resourceTypes.some((type) => coveredByWildcard(type) && hasFieldNamed(model, type, field));
    fields.set(field, known);
  }
  return known;
}

/** PERF: needed at each sign-in and computed over all types; the results never change. */
const FIELDS = perModel(() => new LRUCache<string, boolean>({ max: 5_000 }));

/**
 * A rule for all types skips types that its criteria cannot search; criteria without any searchable type are an error.
 */
function assertWildcardCriteria(model: FhirModel, grant: PolicyGrant, rule: JsonObject, index: number): void {
  const { criteria } = rule;
  if (typeof criteria !== 'string') return;
  let first: unknown;
  for (const type of model.resourceTypes.filter(coveredByWildcard)) {
    try {
      policyCriteria(model, type, criteria, grant.parameters);
      return;
    } catch (error) {
      first ??= error;
    }
  }
  throw located(`resource[${index}].criteria`, `no resource type can be searched like this: ${messageOf(first)}`);
}
