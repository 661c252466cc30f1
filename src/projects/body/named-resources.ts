import type { GuardedWrite } from '../../access/contract.js';
import { FhirError } from '../../fhir/error.js';
import { referenceTo, splitReference } from '../../fhir/reference.js';
import { referenceExists } from '../session/commit-planned.js';
import type { ProjectSession } from '../session/project-session.js';
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
