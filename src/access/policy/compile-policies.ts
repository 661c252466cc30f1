import { LRUCache } from 'lru-cache';
import { FhirError } from '../../fhir/error.js';
import { didYouMean, quote } from '../../fhir/messages.js';
import { type FhirModel, perModel } from '../../fhir/model/fhir-model.js';
import { parseReference } from '../../fhir/reference.js';
import { isJsonObject, type JsonObject, secretFields } from '../../fhir/resource.js';
import { inOneGo } from '../../platform/pace.js';
import {
  and,
  type Criteria,
  NO_EXPANSIONS,
  NONE,
  or,
  simplifyCriteria,
  withExpansions,
} from '../../search/criteria/criteria.js';
import { assertAffordable } from '../../search/parse/parse-context.js';
import { coveredByWildcard } from '../fields/administrative-types.js';
import { fieldPaths, hasFieldNamed } from '../fields/hidden-fields.js';
import { type AccessRule, type AccessRules, type RuleCondition, rulesByType } from '../rule.js';
import { clearanceOf } from './clearance-criteria.js';
import {
  compartmentCriteria,
  placeholderName,
  placeholderValues,
  criteriaConditions,
  policyCriteria,
} from './policy-criteria.js';
import { ruleElements, type PolicyGrant, ruleFields, ruleInteractions } from './policy-grant.js';
import { reported, policyError, atPath, located, messageOf } from './policy-problem.js';
import { shapeProblems, sizeProblems } from './policy-shape.js';
import { assertWriteConstraint } from './write-constraint.js';

/** The rules of policies. */
interface PolicyRules extends AccessRules {
  /** Compiles the rules of a type in steps, so that `rulesFor` has them ready. @throws FhirError `policy-invalid` - as `rulesFor` */
  compiling(type: string): Generator<void>;
}

/**
 * Compiles policies into rules per type, each at first use. Grants add up.
 *
 * No policy can grant the administrative types, even by name: anybody who could write memberships or policies could
 * grant itself any right. Administrators have separate rules for them.
 *
 * See https://www.medplum.com/docs/access/access-policies for the resource's shape.
 *
 * A policy with any unknown part grants nothing: a misspelled element might have restricted any of its rules.
 *
 * @throws FhirError `policy-invalid` - unknown elements or values of another type; from `rulesFor` also criteria,
 * fields and write constraints that cannot be understood
 */
export function compilePolicies(model: FhirModel, grants: readonly PolicyGrant[]): PolicyRules {
  for (const grant of grants) {
    const size = sizeProblems(grant.policy);
    const problems = size.length > 0 ? size : shapeProblems(model, grant.policy);
    if (problems.length > 0) throw policyError(grant.reference, problems);
    ruleElements(grant.policy).forEach((rule, index) =>
      reported(grant, () => assertWildcard(model, grant, rule, index)),
    );
  }
  const compiled = new Map<string, readonly AccessRule[]>();
  return {
    ...rulesByType(model, (type) => inOneGo(compilingRules(model, grants, type)), compiled),
    *compiling(type) {
      compiled.set(type, yield* compilingRules(model, grants, type));
    },
  };
}

function* compilingRules(
  model: FhirModel,
  grants: readonly PolicyGrant[],
  type: string,
): Generator<void, readonly AccessRule[]> {
  const rules: AccessRule[] = [];
  if (!model.isResourceType(type) || !coveredByWildcard(type)) return rules;
  for (const grant of grants) {
    for (const [index, rule] of ruleElements(grant.policy).entries()) {
      const named = rule['resourceType'];
      if (named !== type && named !== '*') continue;
      yield;
      rules.push(reported(grant, () => compileRule(model, grant, rule, index, type)));
    }
  }
  return rules;
}

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
    const reference = parseReference(owner, model.baseUrl);
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

/** Needed at each sign-in and computed over all types; the results never change. */
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
