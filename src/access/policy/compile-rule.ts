import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { FhirError } from '../../fhir/error.js';
import { didYouMean } from '../../fhir/messages/did-you-mean.js';
import { quote } from '../../fhir/messages/quote.js';
import { parseReference } from '../../fhir/reference.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { and, NONE, or, type Criteria } from '../../search/criteria/criteria.js';
import { NO_EXPANSIONS, withExpansions } from '../../search/criteria/concept-tests.js';
import { simplifyCriteria } from '../../search/criteria/simplify-criteria.js';
import { assertAffordable } from '../../search/parse/criteria-cost.js';
import { secretFields } from '../fields/administrative-types.js';
import { fieldPaths, hasFieldNamed } from '../fields/field-paths.js';
import type { AccessRule, RuleCondition } from '../rule.js';
import { clearanceOf } from './clearance-criteria.js';
import { compartmentCriteria } from './compartment.js';
import { placeholderName, placeholderValues } from './parameters.js';
import { criteriaConditions } from './policy-criteria.js';
import { atPath, located } from './policy-fault.js';
import { ruleFields, type PolicyGrant } from './policy-grant.js';
import { ruleInteractions } from './rule-interactions.js';
import { assertWriteConstraint } from './write-constraint.js';

/**
 * Compiles one rule of a policy for resources of one type.
 *
 * @param index position of the rule in its policy
 * @throws PolicyFault - see `policy-fault.ts`
 */
export function compileRule(
  model: FhirModel,
  grant: PolicyGrant,
  rule: JsonObject,
  index: number,
  type: string,
): AccessRule {
  const path = `resource[${index}]`;
  const text = typeof rule['criteria'] === 'string' ? rule['criteria'] : String(rule['resourceType']);
  const conditions = [
    ...conditionsOf(model, rule, type, grant, path),
    ...compartmentOf(model, grant, rule, type, path),
    ...clearanceConditions(grant),
  ];
  return {
    origin: {
      policy: grant.reference,
      text: `${grant.reference}${grant.emergency === true ? ' (emergency)' : ''}, rule ${index + 1}: ${text}`,
    },
    interactions: new Set(ruleInteractions(rule)),
    criteria: affordable(and(conditions.map(({ criteria }) => criteria)), path),
    conditions,
    hidden: [...fieldsOf(model, rule, 'hiddenFields', type, path), ...secretFields(type)],
    readonlyFields: fieldsOf(model, rule, 'readonlyFields', type, path),
    writeConstraints: constraintsOf(model, rule, path),
  };
}

/** Simplifies criteria and asserts that they are affordable in each search. */
function affordable(criteria: Criteria, path: string): Criteria {
  try {
    const simplified = simplifyCriteria(criteria);
    assertAffordable({ criteria: simplified });
    return simplified;
  } catch (error) {
    throw atPath(`${path}.criteria`, error);
  }
}

/** A rule for all types grants nothing of types that lack a parameter of its criteria. */
function conditionsOf(
  model: FhirModel,
  rule: JsonObject,
  type: string,
  { parameters, expansions = NO_EXPANSIONS }: PolicyGrant,
  path: string,
): RuleCondition[] {
  if (rule['criteria'] === undefined) return [];
  const text = String(rule['criteria']);
  try {
    return criteriaConditions(model, type, text, parameters).map((condition) => ({
      ...condition,
      criteria: withExpansions(condition.criteria, expansions),
    }));
  } catch (error) {
    if (rule['resourceType'] === '*' && error instanceof FhirError && CANNOT_SEARCH.has(error.code)) {
      return [{ text, criteria: NONE, missing: [] }];
    }
    throw atPath(`${path}.criteria`, error);
  }
}

/** The error codes for a type that lacks a parameter, or cannot be searched by it. */
const CANNOT_SEARCH: ReadonlySet<string> = new Set(['invalid', 'unsupported']);

function compartmentOf(
  model: FhirModel,
  grant: PolicyGrant,
  rule: JsonObject,
  type: string,
  rulePath: string,
): RuleCondition[] {
  const own = rule['compartment'];
  const value = own ?? grant.policy['compartment'];
  if (!isJsonObject(value)) return [];
  const path = own === undefined ? 'compartment.reference' : `${rulePath}.compartment.reference`;
  const text = String(value['reference']);
  const owners = placeholderValues(text, grant.parameters) ?? [text];
  const criteria = owners.map((owner) => {
    const reference = parseReference(owner);
    if (reference?.kind === 'local' && model.isResourceType(reference.type))
      return compartmentCriteria(model, type, reference);
    throw located(path, 'must be Type/id or a parameter such as %patient');
  });
  const name = placeholderName(text);
  const missing = name === undefined || grant.parameters.has(name) ? [] : [name];
  return [{ text: `compartment ${text}`, criteria: or(criteria), missing }];
}

/** The clearance that the policy states holds for all of its rules. */
function clearanceConditions({ policy }: PolicyGrant): RuleCondition[] {
  const criteria = clearanceOf(policy);
  return criteria === undefined ? [] : [{ text: 'the clearance of the policy', criteria, missing: [] }];
}

/** The expressions of the rule's write constraints. */
export function constraintsOf(model: FhirModel, rule: JsonObject, path: string): string[] {
  const constraints = rule['writeConstraint'];
  return (Array.isArray(constraints) ? constraints.filter(isJsonObject) : []).map((one, index) => {
    const expression = String(one['expression']);
    try {
      assertWriteConstraint(model, expression);
    } catch (error) {
      throw atPath(`${path}.writeConstraint[${index}].expression`, error);
    }
    return expression;
  });
}

/**
 * The elements in a list of the rule. An unknown name would leave an element visible that was meant to be hidden, so it
 * is rejected; only rules for all types may name elements that some of them lack.
 */
function fieldsOf(
  model: FhirModel,
  rule: JsonObject,
  list: 'hiddenFields' | 'readonlyFields',
  type: string,
  path: string,
): string[] {
  return ruleFields(rule, list).flatMap((field, index) => {
    const at = `${path}.${list}[${index}]`;
    if (field === 'id') throw located(at, 'the id is how a resource is named: it can be neither hidden nor written');
    if (rule['resourceType'] === '*' || hasFieldNamed(model, type, field)) return pathsOf(model, type, field, at);
    const names = model.typeDefinition(type)!.elements.keys();
    throw located(at, `${type} does not have the field ${quote(field)}.${didYouMean(field, names)}`);
  });
}

function pathsOf(model: FhirModel, type: string, field: string, path: string): readonly string[] {
  try {
    return fieldPaths(model, type, field);
  } catch (error) {
    throw atPath(path, error);
  }
}
