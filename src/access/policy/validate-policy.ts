import { didYouMean, quote } from '../../fhir/messages.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { referenceTo } from '../../fhir/reference.js';
import { elementsOf, isJsonObject, type AnyResource, type JsonObject } from '../../fhir/resource.js';
import { SAMPLE_EXPANSIONS } from '../../search/criteria/criteria.js';
import { hasFieldNamed } from '../fields/hidden-fields.js';
import { compileRule, constraintsOf, assertWildcard, isFieldOfSomeType } from './compile-policies.js';
import { placeholderName, type PolicyParameters, type PolicyValue, criteriaParameters } from './policy-criteria.js';
import { ruleElements, type PolicyGrant } from './policy-grant.js';
import { policyError, type PolicyProblem, problemOf } from './policy-problem.js';
import { sizeProblems, shapeProblems } from './policy-shape.js';
import { assertWriteConstraint } from './write-constraint.js';

/**
 * Rejects an unusable AccessPolicy when it is written, not only at sign-in.
 *
 * @param hasTerminology whether value sets and hierarchies of codes in criteria can be expanded at sign-in
 * @throws FhirError `policy-invalid` - an issue per problem, with the path of each
 */
export function assertPolicyWrite(model: FhirModel, policy: AnyResource, hasTerminology = false): void {
  const reference = referenceTo('AccessPolicy', policy.id ?? 'new');
  const errors = policyProblems(model, reference, elementsOf(policy), hasTerminology);
  if (errors.length > 0) throw policyError(reference, errors);
}

/** Everything in an AccessPolicy that is not understood or has no effect, in the order of its elements. */
export function policyProblems(
  model: FhirModel,
  reference: string,
  policy: JsonObject,
  hasTerminology = false,
): PolicyProblem[] {
  const size = sizeProblems(policy);
  if (size.length > 0) return size;
  const shape = shapeProblems(model, policy);
  // Malformed rules have no meaning to check.
  if (shape.length > 0) return shape;
  const expansions = hasTerminology ? SAMPLE_EXPANSIONS : undefined;
  return ruleProblems(model, { reference, policy, parameters: sampleValues(policy), expansions });
}

/** The names of the parameters that a policy uses, without the percent sign. */
export function parametersUsed(policy: JsonObject): ReadonlySet<string> {
  return new Set(uses(policy).map(({ name }) => name));
}

/**
 * The policy's parameters have no values yet, so each gets a fitting sample: a reference for the owner of a
 * compartment, otherwise text that is a valid id, code, number and date.
 */
function sampleValues(policy: JsonObject): PolicyParameters {
  const used = uses(policy);
  const owners = new Set(used.filter(({ owner }) => owner).map(({ name }) => name));
  return new Map(used.map(({ name }) => [name, [owners.has(name) ? OWNER : VALUE]]));
}

const OWNER: PolicyValue = { kind: 'reference', type: 'Patient', id: '2000' };
const VALUE: PolicyValue = { kind: 'string', text: '2000' };

interface ParameterUse {
  readonly name: string;
  /** Represents the owner of a compartment. */
  readonly owner: boolean;
}

function uses(policy: JsonObject): ParameterUse[] {
  return [
    ...ownerOf(policy['compartment']),
    ...ruleElements(policy).flatMap(({ criteria, compartment }) => [
      ...(typeof criteria === 'string' ? criteriaParameters(criteria) : []),
      ...ownerOf(compartment),
    ]),
  ];
}

function ownerOf(compartment: unknown): ParameterUse[] {
  const text = isJsonObject(compartment) ? compartment['reference'] : undefined;
  const name = typeof text === 'string' ? placeholderName(text) : undefined;
  return name === undefined ? [] : [{ name, owner: true }];
}

/**
 * What is wrong in the rules of a policy whose elements have the right shape: criteria that cannot be understood, fields
 * that the type does not have, write constraints that do not parse. At most one per rule.
 *
 * @param grant the policy with a value for each parameter that it uses
 */
export function ruleProblems(model: FhirModel, grant: PolicyGrant): PolicyProblem[] {
  return ruleElements(grant.policy).flatMap((rule, index) => {
    try {
      const type = String(rule['resourceType']);
      compileRule(model, grant, rule, index, type === '*' ? 'Patient' : type);
      assertWildcard(model, grant, rule, index);
      return [];
    } catch (error) {
      return [problemOf(error)];
    }
  });
}

/**
 * First-level elements in write constraints that the type of their rule does not have: they have no values, so
 * `%before.statuss.exists().not()` always holds.
 *
 * @param policy one without errors
 */
export function constraintWarnings(model: FhirModel, policy: JsonObject): PolicyProblem[] {
  return ruleElements(policy).flatMap((rule, index) => {
    const type = String(rule['resourceType']);
    return constraintsOf(model, rule, `resource[${index}]`).flatMap((expression, at) => {
      const path = `resource[${index}].writeConstraint[${at}].expression`;
      const unknown = [...assertWriteConstraint(model, expression)].filter((name) => !isElement(model, name, type));
      return unknown.map((name): PolicyProblem => {
        const hint = didYouMean(name, model.typeDefinition(type)?.elements.keys() ?? []);
        return { path, message: `${type} does not have the element ${quote(name)}.${hint}`, severity: 'warning' };
      });
    });
  });
}

/** A path may begin with the name of a type. A rule for all types may name what some of them lack. */
function isElement(model: FhirModel, name: string, type: string): boolean {
  if (name === 'resourceType' || model.typeDefinition(name) !== undefined) return true;
  return type === '*' ? isFieldOfSomeType(model, name) : hasFieldNamed(model, type, name);
}
