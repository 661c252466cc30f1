import type { ProjectMembership } from '@medplum/fhirtypes';
import { FhirError } from '../../fhir/error.js';
import { referenceOf } from '../../fhir/reference.js';

/** The person is a member; `details.memberships` names the memberships. */
export function alreadyMember(memberships: readonly ProjectMembership[], how = '', hint = ''): FhirError {
  const names = memberships.map(referenceOf);
  return new FhirError('conflict', `User is already a member of this project${how}: ${names.join(', ')}${hint}`, {
    details: { memberships: names },
  });
}

/**
 * Only the inviter can choose among several profiles.
 *
 * @param profiles as `Type/id`, those that the inviter sees; `details.profiles` has them
 */
export function severalProfiles(reason: string, profiles: readonly string[]): FhirError {
  const names = profiles.length === 0 ? '' : `: ${profiles.join(', ')}`;
  return new FhirError(
    'conflict',
    `${reason}; name the right one as membership.profile, or make another with newProfile${names}`,
    { details: { profiles } },
  );
}
