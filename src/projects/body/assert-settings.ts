import type { GuardedWrite } from '../../access/contract.js';
import { membershipSizeProblem, policySize } from '../../access/policy/policy-shape.js';
import { parametersUsed } from '../../access/policy/validate-policy.js';
import { FhirError, type OutcomeIssue } from '../../fhir/error.js';
import { andMore, didYouMean } from '../../fhir/messages.js';
import { referenceTo, splitReference } from '../../fhir/reference.js';
import { elementsOf } from '../../fhir/resource.js';
import { referenceExists } from '../session/commit-planned.js';
import type { ProjectSession } from '../session/project-session.js';
import { join } from './body-reader.js';
import { type MembershipSettings, policiesOf } from './membership-settings.js';

/** A resource that a body names, `Type/id`, and the field that does. */
export interface NamedResource {
  readonly reference: string;
  readonly path: string;
}

/**
 * Policies are looked up in the whole project; profiles and patients as the caller sees them, since hidden resources do
 * not exist for it. A super administrator from another project, who sees nothing here, may name all of them.
 *
 * @throws FhirError `invalid` - some do not exist in the project; one issue each
 */
export async function assertNamedExist(session: ProjectSession, named: readonly NamedResource[]): Promise<void> {
  const missing = new Set<NamedResource>();
  const policies = named.filter(isPolicy);
  const people = named.filter((one) => !isPolicy(one));
  for (const [guard, group] of [
    [session.view ?? session.guard, people],
    [session.guard, policies],
  ] as const) {
    if (group.length === 0) continue;
    const found = await guard.read(
      group.map(({ reference }) => splitReference(reference)),
      session.options,
    );
    group.forEach((one, index) => found[index]!.status !== 'found' && missing.add(one));
  }
  const [first, ...others] = named.filter((one) => missing.has(one));
  if (first === undefined) return;
  const words = ({ reference }: NamedResource): string => `${reference} does not exist in this project`;
  throw new FhirError('invalid', words(first), {
    issues: [first, ...others].map((one) => ({
      code: 'not-found',
      diagnostics: words(one),
      expression: [one.path],
    })),
  });
}

function isPolicy({ reference }: NamedResource): boolean {
  return splitReference(reference).type === 'AccessPolicy';
}

/** Checks for the commit that the policies of a membership, written before them, exist at that moment. */
export function policyExistenceChecks(membership: string, settings: MembershipSettings): GuardedWrite[] {
  const policies = new Set(policiesOf(settings, '').map(({ reference }) => reference));
  return [...policies].map((policy) =>
    referenceExists(referenceTo('ProjectMembership', membership), 'access-policy', policy),
  );
}

/**
 * Rejects policies that are too large in total: sign-in would reject them every time.
 *
 * @param path of the settings in the body
 * @throws FhirError `invalid`
 */
export async function assertAccessSize(
  session: ProjectSession,
  settings: MembershipSettings,
  path: string,
): Promise<void> {
  const single = settings.accessPolicy == null ? [] : [{ policy: settings.accessPolicy, parameter: undefined }];
  const access = [...single, ...(settings.access ?? [])];
  // A single policy was checked when it was written.
  if (access.length < 2) return;
  const distinct = new Map(access.map((item) => [JSON.stringify([item.policy.reference, item.parameter]), item]));
  const found = await session.guard.read(
    [...distinct.values()].map(({ policy }) => splitReference(policy.reference)),
    session.options,
  );
  const sizes = found.flatMap((result) => (result.status === 'found' ? [policySize(elementsOf(result.resource))] : []));
  const problem = membershipSizeProblem(sizes);
  if (problem === undefined) return;
  const at = join(path, problem.path);
  const diagnostics = `${at}: ${problem.message}`;
  throw new FhirError('invalid', diagnostics, { issues: [{ code: 'invalid', diagnostics, expression: [at] }] });
}

/**
 * Rejects parameters that the policy does not use: a misspelled name would leave the policy without its value, and under
 * `:not` nobody would notice the mistake.
 *
 * @param path of the settings in the body
 * @throws FhirError `invalid` - one issue per parameter
 */
export async function assertParametersUsed(
  session: ProjectSession,
  settings: MembershipSettings,
  path: string,
): Promise<void> {
  const access = (settings.access ?? []).map((item, index) => ({ ...item, path: `${join(path, 'access')}[${index}]` }));
  const withParameters = access.filter(({ parameter = [] }) => parameter.length > 0);
  if (withParameters.length === 0) return;
  const policies = await session.guard.read(
    withParameters.map(({ policy }) => splitReference(policy.reference)),
    session.options,
  );
  const issues = withParameters.flatMap(({ policy, parameter = [], path: at }, index): OutcomeIssue[] => {
    const found = policies[index]!;
    // A missing policy has its own error.
    if (found.status !== 'found') return [];
    const used = parametersUsed(elementsOf(found.resource));
    return parameter.flatMap(({ name }, position) => {
      if (used.has(name)) return [];
      const hint = didYouMean(name, used);
      const diagnostics = `${at}.parameter[${position}].name: ${policy.reference} does not use %${name}.${hint}`;
      return [{ code: 'invalid', diagnostics, expression: [`${at}.parameter[${position}].name`] }];
    });
  });
  const [first] = issues;
  if (first === undefined) return;
  throw new FhirError('invalid', `${first.diagnostics!}${andMore(issues)}`, { issues });
}
