import { FhirError } from '../../fhir/error.js';
import { isResourceType, resourceTypes } from '../../fhir/definitions.js';
import { parseReference } from '../../fhir/reference.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { and, NONE, or, type Criteria } from '../../search/criteria.js';
import { coveredByWildcard, secretFields } from './administrative-types.js';
import { compartmentCriteria } from './compartment.js';
import { fieldPaths } from './field-paths.js';
import { placeholderValues, type PolicyParameters } from './parameters.js';
import { policyCriteria } from './policy-criteria.js';
import { ALL_INTERACTIONS, READ_INTERACTIONS, type AccessRule, type AccessRules, type Interaction } from './rule.js';

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
 * @throws FhirError `policy-invalid` (from `rulesFor`) - criteria that cannot be understood, a field that is none
 */
export function compilePolicies(grants: readonly PolicyGrant[]): AccessRules {
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
 * Compiles every rule of a policy for the type it is about, to find mistakes when it is written rather than at sign-in.
 *
 * @param parameters names that will have values; references are assumed
 * @throws FhirError `policy-invalid`
 */
export function assertPolicyCompiles(grant: PolicyGrant): void {
  for (const [index, rule] of ruleElements(grant.policy).entries()) {
    const type = rule['resourceType'];
    if (type === '*') compileWildcard(grant, rule, index);
    else if (typeof type === 'string' && isResourceType(type)) compileRule(grant, rule, index, type);
    else throw invalidPolicy(grant, index, 'resourceType must name a resource type, or be *');
  }
}

function grantRules(grant: PolicyGrant, type: string): AccessRule[] {
  return ruleElements(grant.policy).flatMap((rule, index) => {
    const named = rule['resourceType'];
    if (named !== type && !(named === '*' && coveredByWildcard(type))) return [];
    return compileRule(grant, rule, index, type);
  });
}

/** Which types have a field decides what it hides of each; one that no type has is a mistake. */
function compileWildcard(grant: PolicyGrant, rule: JsonObject, index: number): void {
  compileRule(grant, rule, index, 'Patient');
  const types = resourceTypes().filter(coveredByWildcard);
  for (const field of [...texts(rule['hiddenFields']), ...texts(rule['readonlyFields'])]) {
    if (types.some((type) => fieldPaths(type, field).length > 0)) continue;
    throw invalidPolicy(grant, index, `No resource type has the field ${shortened(field)}`);
  }
}

function compileRule(grant: PolicyGrant, rule: JsonObject, index: number, type: string): AccessRule {
  const wildcard = rule['resourceType'] === '*';
  const text = typeof rule['criteria'] === 'string' ? rule['criteria'] : String(rule['resourceType']);
  try {
    return {
      origin: { policy: grant.reference, text: `${grant.reference}, rule ${index + 1}: ${text}` },
      interactions: new Set(interactionsOf(rule)),
      criteria: and([
        criteriaOf(rule, type, grant.parameters, wildcard),
        compartmentOf(rule['compartment'] ?? grant.policy['compartment'], type, grant.parameters),
      ]),
      hidden: [...fieldsOf(rule, 'hiddenFields', type), ...secretFields(type)],
      readonlyFields: fieldsOf(rule, 'readonlyFields', type),
      writeConstraints: constraintsOf(rule['writeConstraint']),
    };
  } catch (error) {
    if (!(error instanceof FhirError)) throw error;
    throw invalidPolicy(grant, index, error.message, error);
  }
}

/** A rule for all types whose criteria name a parameter that a type does not have grants nothing of that type. */
function criteriaOf(rule: JsonObject, type: string, parameters: PolicyParameters, wildcard: boolean): Criteria {
  const text = rule['criteria'];
  if (text === undefined || text === '') return and([]);
  if (typeof text !== 'string') throw new FhirError('invalid', 'criteria must be a string');
  try {
    return policyCriteria(type, text, parameters);
  } catch (error) {
    if (wildcard && error instanceof FhirError && error.code === 'invalid') return NONE;
    throw error;
  }
}

function compartmentOf(value: unknown, type: string, parameters: PolicyParameters): Criteria {
  if (value === undefined) return and([]);
  const text = isJsonObject(value) ? value['reference'] : undefined;
  if (typeof text !== 'string') throw new FhirError('invalid', 'compartment must be a Reference');
  const owners = placeholderValues(text, parameters) ?? [text];
  return or(
    owners.map((owner) => {
      const reference = parseReference(owner);
      if (reference?.kind !== 'local') throw new FhirError('invalid', 'compartment must be Type/id or a parameter');
      return compartmentCriteria(type, reference);
    }),
  );
}

function interactionsOf(rule: JsonObject): readonly Interaction[] {
  if (rule['readonly'] === true) return READ_INTERACTIONS;
  const listed = rule['interaction'];
  if (listed === undefined) return ALL_INTERACTIONS;
  const known = texts(listed).filter((one): one is Interaction =>
    (ALL_INTERACTIONS as readonly string[]).includes(one),
  );
  if (!Array.isArray(listed) || known.length !== listed.length) {
    throw new FhirError('invalid', `interaction takes: ${ALL_INTERACTIONS.join(', ')}`);
  }
  return known;
}

function constraintsOf(value: unknown): string[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new FhirError('invalid', 'writeConstraint must be a list');
  return value.map((one) => {
    const expression: unknown = isJsonObject(one) ? one['expression'] : undefined;
    if (typeof expression !== 'string') throw new FhirError('invalid', 'writeConstraint needs a FHIRPath expression');
    return expression;
  });
}

/**
 * The elements that the rule's list names. A name that the type does not have would leave open what was meant to be
 * hidden, so it is refused; only a rule for all types may name what some of them lack.
 */
function fieldsOf(rule: JsonObject, list: 'hiddenFields' | 'readonlyFields', type: string): string[] {
  return texts(rule[list]).flatMap((field) => {
    const paths = fieldPaths(type, field);
    if (paths.length > 0 || rule['resourceType'] === '*') return paths;
    throw new FhirError('invalid', `${list} names ${shortened(field)}, which ${type} does not have`);
  });
}

function texts(value: unknown): string[] {
  if (value === undefined) return [];
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
  throw new FhirError('invalid', 'hiddenFields, readonlyFields and interaction must be lists of names');
}

function shortened(text: string): string {
  return JSON.stringify(text.slice(0, 60));
}

function ruleElements(policy: JsonObject): JsonObject[] {
  const rules = policy['resource'];
  return Array.isArray(rules) ? rules.filter(isJsonObject) : [];
}

function invalidPolicy(grant: PolicyGrant, index: number, reason: string, cause?: FhirError): FhirError {
  return new FhirError('policy-invalid', `${grant.reference}, rule ${index + 1}: ${reason}`, {
    details: { policy: grant.reference, rule: index + 1 },
    cause,
  });
}
