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

/** What a rule for all types names must be there in some type: which of them has it decides what the rule means there. */
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

/** Asked at each sign-in, and answered by looking through all types; what comes out never changes. */
const FIELDS = perModel(() => new LRUCache<string, boolean>({ max: 5_000 }));

/** A rule for all types grants nothing of those that its criteria cannot search; criteria of no type at all are a mistake. */
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
