import { FhirError } from '../../fhir/error.js';
import { didYouMean } from '../../fhir/messages.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { idOf, parseReference, referenceText, referenceTo } from '../../fhir/reference.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { kindOf, namedStep } from '../../fhir/validation/findings.js';
import type { PolicyValue } from './policy-criteria.js';
import type { PolicyProblem } from './policy-problem.js';

/** A policy that a membership names, with the values of its parameters. */
export interface ChosenPolicy {
  /** `AccessPolicy/1`. */
  readonly reference: string;
  readonly id: string;
  readonly parameters: ReadonlyMap<string, readonly PolicyValue[]>;
  /** Where the membership names it: `accessPolicy`, `access[0]`. */
  readonly path: string;
}

/** The policies of a membership, and the problems found in them. */
interface MembershipPolicies {
  /** Empty if the membership names no policy, so that the type of the profile decides. */
  readonly chosen: readonly ChosenPolicy[];
  readonly problems: readonly PolicyProblem[];
}

/**
 * Reads the policies of a stored ProjectMembership.
 *
 * Unknown parts are problems and never ignored: a membership with an ignored policy would get the default of its
 * profile type, and a parameter with an ignored value could exclude less.
 */
export function readMembershipPolicies(model: FhirModel, membership: JsonObject): MembershipPolicies {
  const reader = new Reader(model);
  reader.names(membership);
  const single = membership['accessPolicy'];
  if (single !== undefined) reader.choose(single, undefined, 'accessPolicy', 'accessPolicy');
  for (const [item, at] of reader.items(membership['access'], 'access')) {
    if (isJsonObject(item)) reader.choose(item['policy'], item['parameter'], at, `${at}.policy`);
    else reader.problem(at, `must be an object with a policy, not ${kindOf(item)}`);
  }
  return reader;
}

/** Removes repetitions: the same policy with the same parameters grants the same. */
export function distinctPolicies(chosen: readonly ChosenPolicy[]): readonly ChosenPolicy[] {
  const byMeaning = new Map(chosen.map((one) => [JSON.stringify([one.id, ...one.parameters]), one]));
  return [...byMeaning.values()];
}

/** @throws FhirError `policy-invalid` - the membership's access settings have problems */
export function assertMembershipUnderstood(id: string, { problems }: MembershipPolicies): void {
  const [first] = problems;
  if (first === undefined) return;
  const membership = referenceTo('ProjectMembership', id);
  throw new FhirError('policy-invalid', `${membership}, ${first.path}: ${first.message}`, {
    details: { membership },
    issues: problems.map(({ path, message }) => ({
      code: 'invalid',
      diagnostics: `${path}: ${message}`,
      expression: [`ProjectMembership.${path}`],
    })),
  });
}

class Reader implements MembershipPolicies {
  readonly chosen: ChosenPolicy[] = [];
  readonly problems: PolicyProblem[] = [];

  constructor(private readonly model: FhirModel) {}

  problem(path: string, message: string): void {
    this.problems.push({ path, message, severity: 'error' });
  }

  /** A misspelled `accessPolicy` or `active` would leave open what it was meant to close. */
  names(membership: JsonObject): void {
    const known = [...this.model.typeDefinition('ProjectMembership')!.elements.keys()];
    for (const name of Object.keys(membership)) {
      if (name === 'resourceType' || known.includes(name) || known.includes(name.replace(/^_/, ''))) continue;
      this.problem(namedStep(name), `unknown element.${didYouMean(name, known)}`);
    }
    for (const name of ['access', 'accessPolicy', 'active', 'admin']) {
      if (membership[`_${name}`] !== undefined)
        this.problem(`_${name}`, 'extensions of this element are not understood');
    }
  }

  *items(value: unknown, path: string): Iterable<readonly [item: unknown, path: string]> {
    if (value === undefined) return;
    if (!Array.isArray(value)) return this.problem(path, `must be a list, not ${kindOf(value)}`);
    for (const [index, item] of value.entries()) yield [item, `${path}[${index}]`];
  }

  choose(policy: unknown, parameter: unknown, path: string, policyPath: string): void {
    const reference = referenceText(policy);
    const id = reference === undefined ? undefined : idOf(reference, 'AccessPolicy', this.model.baseUrl);
    const parameters = new Map<string, readonly PolicyValue[]>();
    for (const [item, at] of this.items(parameter, `${path}.parameter`)) {
      const read = isJsonObject(item) ? readParameter(item, this.model) : undefined;
      if (read === undefined)
        this.problem(at, 'must have a name, and either a valueString or a valueReference (Type/id)');
      else parameters.set(read.name, [...(parameters.get(read.name) ?? []), read.value]);
    }
    if (reference === undefined || id === undefined) this.problem(policyPath, 'must be a reference to an AccessPolicy');
    else this.chosen.push({ reference, id, parameters, path });
  }
}

function readParameter(
  parameter: JsonObject,
  { baseUrl }: FhirModel,
): { readonly name: string; readonly value: PolicyValue } | undefined {
  const { name, valueString, valueReference } = parameter;
  if (typeof name !== 'string' || name === '') return undefined;
  if (typeof valueString === 'string' && valueReference === undefined) {
    return { name, value: { kind: 'string', text: valueString } };
  }
  const parsed = parseReference(referenceText(valueReference) ?? '', baseUrl);
  if (parsed?.kind !== 'local' || valueString !== undefined) return undefined;
  return { name, value: { kind: 'reference', type: parsed.type, id: parsed.id } };
}
