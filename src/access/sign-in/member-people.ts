import { FhirError } from '../../fhir/error.js';
import { parseReference, referenceText, splitReference } from '../../fhir/reference.js';
import { elementsOf, type AnyResource } from '../../fhir/resource.js';
import { SERVER_SCOPE, type ResourceStore } from '../../store/store.js';

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

/** @throws FhirError `user-missing`, `membership-inactive` - the User, client or Bot is gone, or switched off */
export async function assertUser(store: ResourceStore, project: string, user: string): Promise<void> {
  const { type, id } = splitReference(user);
  const [found] = await store.read([{ project: type === 'User' ? SERVER_SCOPE : project, type, id }]);
  if (found?.status !== 'found')
    throw new FhirError('user-missing', `${user} of the membership does not exist any more`);
  if (isSwitchedOff(found.resource)) throw new FhirError('membership-inactive', `${user} is switched off`);
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
