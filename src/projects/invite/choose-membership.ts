import type { ProjectMembership } from '@medplum/fhirtypes';
import { FhirError } from '../../fhir/error.js';
import { referenceOf } from '../../fhir/reference.js';
import type { Stored } from '../../fhir/stored.js';
import type { InviteRequest } from '../body/invite-body.js';
import type { Invited } from './find-invited.js';
import { alreadyMember } from './invite-conflicts.js';

/** What to do with the membership, by the mode of the invite and the User's memberships in the project. */
const OUTCOMES = {
  new: { none: 'new', one: 'already a member', several: 'already a member' },
  upsert: { none: 'new', one: 'update', several: 'ambiguous' },
  another: { none: 'new', one: 'new', several: 'new' },
} as const satisfies Record<InviteRequest['mode'], Record<'none' | 'one' | 'several', string>>;

/**
 * Chooses the membership. If there are several, an upsert takes the one named by profile or external id in the request.
 *
 * @returns the membership to update; undefined to create a new one
 * @throws FhirError `conflict` - the person is a member, with this User or that of the other scope; several memberships
 * fit; another member has the external id
 */
export function chooseMembership(invited: Invited, request: InviteRequest): Stored<ProjectMembership> | undefined {
  const { memberships, otherScopeMemberships } = invited;
  if (request.mode !== 'another' && otherScopeMemberships.length > 0) {
    throw alreadyMember(otherScopeMemberships, ' with a User of another scope');
  }
  assertExternalIdFree(invited, request);
  const named = request.mode === 'upsert' ? memberships.filter((one) => isNamed(one, request)) : [];
  const candidates = named.length > 0 ? named : memberships;
  const count = candidates.length === 0 ? 'none' : candidates.length === 1 ? 'one' : 'several';
  switch (OUTCOMES[request.mode][count]) {
    case 'new':
      return undefined;
    case 'update':
      return candidates[0]!;
    case 'already a member':
      throw alreadyMember(memberships, '', '; use upsert to change the membership, forceNewMembership for another');
    case 'ambiguous':
      throw new FhirError(
        'conflict',
        `The user has ${candidates.length} memberships in this project; name the profile of the one to update`,
        { details: { memberships: candidates.map(referenceOf) } },
      );
  }
}

/** An external id identifies one member of a project. */
function assertExternalIdFree({ externalIdHolder: holder, memberships }: Invited, { mode }: InviteRequest): void {
  if (holder === undefined) return;
  if (mode !== 'another' && memberships.some(({ id }) => id === holder.id)) return;
  const name = referenceOf(holder);
  throw new FhirError('conflict', `${name} of this project has this externalId already`, {
    details: { memberships: [name] },
  });
}

function isNamed({ externalId, profile }: ProjectMembership, request: InviteRequest): boolean {
  return (
    (request.externalId !== undefined && externalId === request.externalId) ||
    (request.profile !== undefined && profile.reference === request.profile)
  );
}
