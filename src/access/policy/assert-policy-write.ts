import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { referenceTo } from '../../fhir/reference.js';
import { elementsOf, isJsonObject, type AnyResource, type JsonObject } from '../../fhir/resource.js';
import { SAMPLE_EXPANSIONS } from '../../search/criteria/concept-tests.js';
import { placeholderName, type PolicyParameters, type PolicyValue } from './parameters.js';
import { criteriaParameters } from './policy-criteria.js';
import { policyError, type PolicyProblem } from './policy-problem.js';
import { sizeProblems } from './policy-size.js';
import { shapeProblems } from './policy-shape.js';
import { ruleElements } from './policy-grant.js';
import { ruleProblems } from './rule-problems.js';

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
