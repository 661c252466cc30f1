import type { ProjectMembership, User } from '@medplum/fhirtypes';
import type { GuardedWrite } from '../../access/contract.js';
import { referenceOf, referenceTo } from '../../fhir/reference.js';
import { and, not, refersTo } from '../../search/criteria/criteria.js';
import { policyExistenceChecks } from '../body/assert-settings.js';
import type { InviteRequest } from '../body/invite-body.js';
import type { MembershipSettings } from '../body/membership-settings.js';
import { emailProfilesQuery, otherUsersLikeEmail, type PersonProfile } from '../people/find-people.js';
import { referenceExists } from '../session/commit-planned.js';
import type { ProjectSession } from '../session/project-session.js';
import type { Invited } from './find-invited.js';
import { patientOf } from './own-profiles.js';

// The commit verifies the facts on which an invite was decided.

/** Checks that the inviter still sees no profile with the e-mail address, if that was the reason to create one. */
export function noCandidateYet(session: ProjectSession, request: InviteRequest): GuardedWrite[] {
  const query = emailProfilesQuery(session.store.model, session, request);
  return query === undefined ? [] : [{ kind: 'assert-no-match', query }];
}

/**
 * Checks that the new member has no other memberships: through this User, the User of the other scope, or a new User
 * created there by a concurrent invite. E-mail addresses are unique per scope only. If another membership is wanted,
 * only the User's own memberships count, since they determine its profile.
 */
export function noOtherMembership(
  session: ProjectSession,
  { email, mode }: InviteRequest,
  user: User,
  { memberships, otherScopeUser, foundUsers }: Invited,
): GuardedWrite[] {
  const ofUser = refersTo('user', { type: 'User', id: user.id! });
  const known = not({ kind: 'id', ids: memberships.map(({ id }) => id) });
  const own: GuardedWrite = {
    kind: 'assert-no-match',
    query: { type: 'ProjectMembership', criteria: memberships.length === 0 ? ofUser : and([ofUser, known]) },
  };
  if (mode === 'another') return [own];
  const ofOtherScope: GuardedWrite[] =
    otherScopeUser === undefined
      ? []
      : [
          {
            kind: 'assert-no-match',
            query: { type: 'ProjectMembership', criteria: refersTo('user', { type: 'User', id: otherScopeUser.id }) },
          },
        ];
  if (email === undefined) return [own, ...ofOtherScope];
  const criteria = otherUsersLikeEmail(session, email, [...foundUsers, user.id!]);
  return [own, ...ofOtherScope, { kind: 'assert-no-match', query: { type: 'User', criteria } }];
}

/** Checks that an existing profile has not been linked to another User. */
export function nobodyElseHas(profile: PersonProfile, user: User): GuardedWrite {
  const ofUser = refersTo('user', { type: 'User', id: user.id! });
  const withProfile = refersTo('profile', { type: profile.resourceType, id: profile.id! });
  return { kind: 'assert-no-match', query: { type: 'ProjectMembership', criteria: and([withProfile, not(ofUser)]) } };
}

/** Checked on lookup, and again in the commit. */
export function referenceExistenceChecks(
  membership: ProjectMembership,
  settings: MembershipSettings,
  profile: PersonProfile,
): GuardedWrite[] {
  const profileName = referenceOf(profile);
  const patient = patientOf(profile);
  return [
    referenceExists(referenceTo('ProjectMembership', membership.id!), 'profile', profileName),
    ...policyExistenceChecks(membership.id!, settings),
    ...(patient === undefined ? [] : [referenceExists(profileName, 'patient', patient)]),
  ];
}
