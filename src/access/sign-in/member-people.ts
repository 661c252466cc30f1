import { FhirError } from '../../fhir/error.js';
import { parseReference, referenceText, splitReference } from '../../fhir/reference.js';
import { elementsOf, type AnyResource } from '../../fhir/resource.js';
import { SERVER_SCOPE } from '../../store/resource-key.js';
import type { ResourceStore } from '../../store/store.js';
import { revokedUserKey } from './revoked-users.js';

/**
 * The `Type/id` in an element of a membership.
 *
 * @throws FhirError `membership-missing` - the membership has none
 */
export function memberReference(membership: AnyResource, element: 'user' | 'profile'): string {
  const reference = referenceText(elementsOf(membership)[element]);
  if (reference !== undefined && parseReference(reference)?.kind === 'local') return reference;
  throw new FhirError('membership-missing', `The membership names no ${element}`);
}

/**
 * Checks the User, client or Bot of a membership.
 *
 * @returns the record of a User's revoked sessions, if it has one
 * @throws FhirError `user-missing`, `membership-inactive` - it is gone, or switched off
 */
export async function checkUser(store: ResourceStore, project: string, user: string): Promise<AnyResource | undefined> {
  const { type, id } = splitReference(user);
  const isPerson = type === 'User';
  const key = { project: isPerson ? SERVER_SCOPE : project, type, id };
  const [found, revoked] = await store.read(isPerson ? [key, revokedUserKey(id)] : [key]);
  if (found?.status !== 'found')
    throw new FhirError('user-missing', `${user} of the membership does not exist any more`);
  if (isSwitchedOff(found.resource)) throw new FhirError('membership-inactive', `${user} is switched off`);
  return revoked?.status === 'found' ? revoked.resource : undefined;
}

/** True for a User, client or Bot that may not sign in. */
export function isSwitchedOff(resource: AnyResource): boolean {
  return elementsOf(resource)['status'] === 'off';
}

/** @throws FhirError `profile-missing` */
export async function readProfile(store: ResourceStore, project: string, profile: string): Promise<AnyResource> {
  const [found] = await store.read([{ project, ...splitReference(profile) }]);
  if (found?.status === 'found') return found.resource;
  throw new FhirError(
    'profile-missing',
    `${profile}, the profile of this member, does not exist any more; an administrator can invite the person again`,
  );
}
