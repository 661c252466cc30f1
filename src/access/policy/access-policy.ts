import { LRUCache } from 'lru-cache';
import { FhirError } from '../../fhir/error.js';
import { isResourceType, resourceTypes, typeDefinition } from '../../fhir/definitions.js';
import { parseReference } from '../../fhir/reference.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { and, NONE, or, type Criteria } from '../../search/criteria/criteria.js';
import { assertAffordable } from '../../search/parse/criteria-cost.js';
import { didYouMean } from '../../fhir/messages/did-you-mean.js';
import { quote } from '../../fhir/messages/quote.js';
import { simplifyCriteria } from '../../search/criteria/simplify-criteria.js';
import { coveredByWildcard, secretFields } from '../fields/administrative-types.js';
import { compartmentCriteria } from './compartment.js';
import { fieldPaths, hasFieldNamed } from '../fields/field-paths.js';
import { placeholderName, placeholderValues, type PolicyParameters } from './parameters.js';
import { criteriaConditions, policyCriteria } from './policy-criteria.js';
import { policyError, type PolicyProblem } from './policy-problem.js';
import { sizeProblems } from './policy-size.js';
import { shapeProblems } from './policy-shape.js';
import { ruleInteractions } from './rule-interactions.js';
import type { AccessRule, AccessRules, RuleCondition } from '../rule.js';
import { assertWriteConstraint } from './write-constraint.js';

/** An AccessPolicy with the parameters that one membership gives it. */
export interface PolicyGrant {
  /** `AccessPolicy/1`. */
  readonly reference: string;
  readonly policy: JsonObject;
  readonly parameters: PolicyParameters;
}

/**
 * Compiles policies into rules per type, each at first use. Grants add up.
 *
 * No policy reaches the administrative types, even by their names: whoever could write memberships or policies could
 * give itself any right. Administrators have rules of their own for them.
 *
 * See https://www.medplum.com/docs/access/access-policies for the resource's shape.
 *
 * A policy that is not understood as a whole grants nothing: a misspelt element might have restricted any of its rules.
 *
 * @throws FhirError `policy-invalid` - unknown elements or values of another type; from `rulesFor` also criteria, fields
 * and write constraints that cannot be understood
 */
export function compilePolicies(grants: readonly PolicyGrant[]): AccessRules {
  for (const grant of grants) {
    const size = sizeProblems(grant.policy);
    const problems = size.length > 0 ? size : shapeProblems(grant.policy);
    if (problems.length > 0) throw policyError(grant.reference, problems);
    ruleElements(grant.policy).forEach((rule, index) => reported(grant, () => assertWildcard(grant, rule, index)));
  }
  const cache = new Map<string, readonly AccessRule[]>();
  return {
    rulesFor(type) {
      let rules = cache.get(type);
      if (rules === undefined) {
        rules =
          isResourceType(type) && coveredByWildcard(type) ? grants.flatMap((grant) => grantRules(grant, type)) : [];
        if (cache.size < MAX_TYPES) cache.set(type, rules);
      }
      return rules;
    },
  };
}

/** More than there are resource types, so the cache is bounded whatever names are asked for. */
const MAX_TYPES = 500;

/**
 * What is wrong in the rules of a policy whose elements have the right shape: criteria that cannot be understood, fields
 * that the type does not have, write constraints that do not parse. At most one per rule.
 *
 * @param grant the policy with a value for each parameter that it uses
 */
export function ruleProblems(grant: PolicyGrant): PolicyProblem[] {
  return ruleElements(grant.policy).flatMap((rule, index) => {
    try {
      const type = String(rule['resourceType']);
      compileRule(grant, rule, index, type === '*' ? 'Patient' : type);
      assertWildcard(grant, rule, index);
      return [];
    } catch (error) {
      return [problemOf(error)];
    }
  });
}

function grantRules(grant: PolicyGrant, type: string): AccessRule[] {
  return ruleElements(grant.policy).flatMap((rule, index) => {
    const named = rule['resourceType'];
    if (named !== type && !(named === '*' && coveredByWildcard(type))) return [];
    return reported(grant, () => compileRule(grant, rule, index, type));
  });
}

/** The result of work on a grant; a fault of the policy as the error of that policy. */
function reported<Result>(grant: PolicyGrant, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw policyError(grant.reference, [problemOf(error)], error);
  }
}

/** What a rule for all types names must be there in some type: which of them has it decides what the rule means there. */
function assertWildcard(grant: PolicyGrant, rule: JsonObject, index: number): void {
  if (rule['resourceType'] !== '*') return;
  assertWildcardCriteria(grant, rule, index);
  for (const list of ['hiddenFields', 'readonlyFields'] as const) {
    for (const [at, field] of texts(rule[list]).entries()) {
      if (isFieldOfSomeType(field)) continue;
      throw located(`resource[${index}].${list}[${at}]`, `no resource type has the field ${quote(field)}`);
    }
  }
}

/**
 * First-level elements in write constraints that the type of their rule does not have: they have no values, so
 * `%before.statuss.exists().not()` always holds.
 *
 * @param policy one without errors
 */
export function constraintWarnings(policy: JsonObject): PolicyProblem[] {
  return ruleElements(policy).flatMap((rule, index) => {
    const type = String(rule['resourceType']);
    return constraintsOf(rule, `resource[${index}]`).flatMap((expression, at) => {
      const path = `resource[${index}].writeConstraint[${at}].expression`;
      const unknown = [...assertWriteConstraint(expression)].filter((name) => !isElement(name, type));
      return unknown.map((name): PolicyProblem => {
        const hint = didYouMean(name, typeDefinition(type)?.elements.keys() ?? []);
        return { path, message: `${type} does not have the element ${quote(name)}.${hint}`, severity: 'warning' };
      });
    });
  });
}

/** A path may begin with the name of a type. A rule for all types may name what some of them lack. */
function isElement(name: string, type: string): boolean {
  if (name === 'resourceType' || typeDefinition(name) !== undefined) return true;
  return type === '*' ? isFieldOfSomeType(name) : hasFieldNamed(type, name);
}

function isFieldOfSomeType(field: string): boolean {
  let known = FIELDS.get(field);
  if (known === undefined) {
    known = resourceTypes().some((type) => coveredByWildcard(type) && hasFieldNamed(type, field));
    FIELDS.set(field, known);
  }
  return known;
}

/** Asked at each sign-in, and answered by looking through all types; what comes out never changes. */
const FIELDS = new LRUCache<string, boolean>({ max: 5_000 });

/** A rule for all types grants nothing of those that its criteria cannot search; criteria of no type at all are a mistake. */
function assertWildcardCriteria(grant: PolicyGrant, rule: JsonObject, index: number): void {
  const { criteria } = rule;
  if (typeof criteria !== 'string') return;
  let first: unknown;
  for (const type of resourceTypes().filter(coveredByWildcard)) {
    try {
      policyCriteria(type, criteria, grant.parameters);
      return;
    } catch (error) {
      first ??= error;
    }
  }
  throw located(`resource[${index}].criteria`, `no resource type can be searched like this: ${messageOf(first)}`);
}

function compileRule(grant: PolicyGrant, rule: JsonObject, index: number, type: string): AccessRule {
  const path = `resource[${index}]`;
  const text = typeof rule['criteria'] === 'string' ? rule['criteria'] : String(rule['resourceType']);
  const conditions = [...conditionsOf(rule, type, grant.parameters, path), ...compartmentOf(grant, rule, type, path)];
  return {
    origin: { policy: grant.reference, text: `${grant.reference}, rule ${index + 1}: ${text}` },
    interactions: new Set(ruleInteractions(rule)),
    criteria: affordable(and(conditions.map(({ criteria }) => criteria)), path),
    conditions,
    hidden: [...fieldsOf(rule, 'hiddenFields', type, path), ...secretFields(type)],
    readonlyFields: fieldsOf(rule, 'readonlyFields', type, path),
    writeConstraints: constraintsOf(rule, path),
  };
}

/** Criteria without repetitions, once it is known that they do not cost too much in each search. */
function affordable(criteria: Criteria, path: string): Criteria {
  try {
    const simplified = simplifyCriteria(criteria);
    assertAffordable({ criteria: simplified });
    return simplified;
  } catch (error) {
    throw atPath(`${path}.criteria`, error);
  }
}

/** A rule for all types whose criteria name a parameter that a type does not have grants nothing of that type. */
function conditionsOf(rule: JsonObject, type: string, parameters: PolicyParameters, path: string): RuleCondition[] {
  if (rule['criteria'] === undefined) return [];
  const text = String(rule['criteria']);
  try {
    return criteriaConditions(type, text, parameters);
  } catch (error) {
    if (rule['resourceType'] === '*' && error instanceof FhirError && CANNOT_SEARCH.has(error.code)) {
      return [{ text, criteria: NONE, missing: [] }];
    }
    throw atPath(`${path}.criteria`, error);
  }
}

/** A type lacks a parameter, or has one of that name that cannot be searched by. */
const CANNOT_SEARCH: ReadonlySet<string> = new Set(['invalid', 'unsupported']);

function compartmentOf(grant: PolicyGrant, rule: JsonObject, type: string, rulePath: string): RuleCondition[] {
  const own = rule['compartment'];
  const value = own ?? grant.policy['compartment'];
  if (!isJsonObject(value)) return [];
  const path = own === undefined ? 'compartment.reference' : `${rulePath}.compartment.reference`;
  const text = String(value['reference']);
  const owners = placeholderValues(text, grant.parameters) ?? [text];
  const criteria = owners.map((owner) => {
    const reference = parseReference(owner);
    if (reference?.kind === 'local' && isResourceType(reference.type)) return compartmentCriteria(type, reference);
    throw located(path, 'must be Type/id or a parameter such as %patient');
  });
  const name = placeholderName(text);
  const missing = name === undefined || grant.parameters.has(name) ? [] : [name];
  return [{ text: `compartment ${text}`, criteria: or(criteria), missing }];
}

function constraintsOf(rule: JsonObject, path: string): string[] {
  const constraints = rule['writeConstraint'];
  return (Array.isArray(constraints) ? constraints.filter(isJsonObject) : []).map((one, index) => {
    const expression = String(one['expression']);
    try {
      assertWriteConstraint(expression);
    } catch (error) {
      throw atPath(`${path}.writeConstraint[${index}].expression`, error);
    }
    return expression;
  });
}

/**
 * The elements that the rule's list names. A name that the type does not have would leave open what was meant to be
 * hidden, so it is refused; only a rule for all types may name what some of them lack.
 */
function fieldsOf(rule: JsonObject, list: 'hiddenFields' | 'readonlyFields', type: string, path: string): string[] {
  return texts(rule[list]).flatMap((field, index) => {
    const at = `${path}.${list}[${index}]`;
    if (field === 'id') throw located(at, 'the id is how a resource is named: it can be neither hidden nor written');
    if (rule['resourceType'] === '*' || hasFieldNamed(type, field)) return pathsOf(type, field, at);
    const names = typeDefinition(type)?.elements.keys() ?? [];
    throw located(at, `${type} does not have the field ${quote(field)}.${didYouMean(field, names)}`);
  });
}

function pathsOf(type: string, field: string, path: string): readonly string[] {
  try {
    return fieldPaths(type, field);
  } catch (error) {
    throw atPath(path, error);
  }
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

function ruleElements(policy: JsonObject): JsonObject[] {
  const rules = policy['resource'];
  return Array.isArray(rules) ? rules.filter(isJsonObject) : [];
}

/** A fault at a place of the policy, until it is reported for the policy as a whole. */
class PolicyFault extends Error {
  constructor(
    readonly problem: PolicyProblem,
    cause?: unknown,
  ) {
    super(problem.message, { cause });
  }
}

function located(path: string, message: string, cause?: unknown): PolicyFault {
  return new PolicyFault({ path, message, severity: 'error' }, cause);
}

/** Faults of this library's own making pass as they are. */
function atPath(path: string, error: unknown): unknown {
  return error instanceof FhirError ? located(path, error.message, error) : error;
}

function messageOf(error: unknown): string {
  if (error instanceof FhirError) return error.message;
  throw error;
}

function problemOf(error: unknown): PolicyProblem {
  if (error instanceof PolicyFault) return error.problem;
  throw error;
}
