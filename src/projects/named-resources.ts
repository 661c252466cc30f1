import { FhirError } from '../fhir/error.js';
import type { GuardedWrite } from '../access/guarded-store.js';
import { type MembershipSettings, policiesOf } from './membership-settings.js';
import { type ProjectDesk, splitReference } from './project-desk.js';
import { stillThere } from './still-there.js';

/** A resource that a body names, `Type/id`, and the field that does. */
export interface NamedResource {
  readonly reference: string;
  readonly path: string;
}

/** @throws FhirError `invalid` - some do not exist in the project; one issue each */
export async function assertNamedExist(desk: ProjectDesk, named: readonly NamedResource[]): Promise<void> {
  const found = await desk.guard.read(
    named.map(({ reference }) => splitReference(reference)),
    desk.options,
  );
  const missing = named.filter((_, index) => found[index]!.status !== 'found');
  const [first] = missing;
  if (first === undefined) return;
  const words = ({ reference }: NamedResource): string => `${reference} does not exist in this project`;
  throw new FhirError('invalid', words(first), {
    issues: missing.map((one) => ({ code: 'not-found', diagnostics: words(one), expression: [one.path] })),
  });
}

/** Checks for the commit that the policies of a membership, written before them, exist at that moment. */
export function policiesStillThere(membership: string, settings: MembershipSettings): GuardedWrite[] {
  const policies = new Set(policiesOf(settings, '').map(({ reference }) => reference));
  return [...policies].map((policy) => stillThere(`ProjectMembership/${membership}`, 'access-policy', policy));
}
