import type { Project, ProjectMembership, User } from '@medplum/fhirtypes';
import type { GuardedWrite } from '../../access/contract.js';
import { FhirError } from '../../fhir/error.js';
import { sameJson } from '../../fhir/json/same-json.js';
import { referenceOf, splitReference } from '../../fhir/reference.js';
import type { PutWrite } from '../../store/write.js';
import {
  assertAccessSize,
  assertParametersUsed,
  assertNamedExist,
  type NamedResource,
} from '../body/assert-settings.js';
import type { InviteRequest } from '../body/invite-body.js';
import { type MembershipSettings, policiesOf, withSettings } from '../body/membership-settings.js';
import { invitationRecord, type NewInvitation, withInvitation } from '../invitation/new-invitation.js';
import type { PersonProfile } from '../people/find-people.js';
import { newMembership, newProfile, newUser } from '../people/new-people.js';
import { keepAnAdministrator, assertNoWayAround } from '../session/administrators.js';
import type { PlannedWrites } from '../session/commit-planned.js';
import { inviterReference, authored, type ProjectSession, readProject } from '../session/project-session.js';
import { chooseMembership } from './choose-membership.js';
import { chooseProfile } from './choose-profile.js';
import { defaultPolicies } from './default-policies.js';
import { findInvited } from './find-invited.js';
import { nobodyElseHas, noCandidateYet, noOtherMembership, referenceExistenceChecks } from './invite-checks.js';
import { patientOf } from './own-profiles.js';

/** A resource of an invite with the position of its write; undefined if it is unchanged. */
export interface Planned<Resource> {
  readonly resource: Resource;
  readonly created: boolean;
  readonly write: number | undefined;
}

/** The complete plan of an invite, validated. */
export interface InvitePlan extends PlannedWrites {
  readonly user: Planned<User>;
  readonly profile: Planned<PersonProfile>;
  readonly membership: Planned<ProjectMembership>;
  /** The invitation that the person must accept, if any. */
  readonly invitation: NewInvitation | undefined;
}

/**
 * Plans an invite: User, profile and membership, in this order, with the checks of the commit.
 *
 * @param hint the resource that the last attempt conflicted with
 * @param invitation to be accepted by the person, unless an external id is linked already
 * @throws FhirError `not-found` - there is no such project
 * @throws FhirError `invalid` - something that the body names does not exist in this project; one issue each
 * @throws FhirError `conflict` - the person is a member already, or several people fit
 */
export async function planInvite(
  session: ProjectSession,
  request: InviteRequest,
  hint?: string,
  invitation?: NewInvitation,
): Promise<InvitePlan> {
  const { project } = await readProject(session);
  if (project.active === false) throw new FhirError('conflict', `Project/${session.project} is not active`);
  await assertNamedExist(session, namedIn(request));
  await assertAccessSize(session, request.settings, request.policyPath);
  await assertParametersUsed(session, request.settings, request.policyPath);
  const invited = await findInvited(session, request, hint);
  const before = chooseMembership(invited, request);
  const choice = await chooseProfile({ session, request, invited, updated: before });
  // A dry run treats non-members as unknown.
  const isUnknown = invited.user === undefined || (request.dryRun && invited.memberships.length === 0);
  const user = isUnknown ? newUser(session, request) : invited.user;
  const profile = choice.kind === 'new' ? newProfile(session, request) : choice.profile;
  if (before === undefined) {
    assertNoWayAround(session, [
      user.id!,
      ...(invited.otherScopeUser === undefined ? [] : [invited.otherScopeUser.id]),
    ]);
  }
  const settings = before === undefined ? await chosenSettings(session, request, project, profile) : request.settings;
  const settled = withSettings(
    before === undefined
      ? newMembership(session, user, profile, request, inviterReference(session))
      : withProfile(before, profile),
    settings,
  );
  const isOpen = invitation !== undefined && settled.externalId === undefined;
  const membership = isOpen ? withInvitation(settled, invitation) : settled;
  const records = isOpen ? [invitationRecord(membership.id!, session.project, invitation)] : undefined;
  const writes = new Writes();
  const userAt = isUnknown ? writes.create(user) : undefined;
  if (choice.kind === 'new' && choice.forWantOfCandidates) writes.add(...noCandidateYet(session, request));
  const profileAt = choice.kind === 'new' ? writes.create(profile) : undefined;
  if (before === undefined) writes.add(...noOtherMembership(session, request, user, invited));
  const membershipAt = await writeMembership(session, writes, before, membership, records);
  if (membershipAt !== undefined) {
    writes.add(...referenceExistenceChecks(membership, settings, profile));
    if (choice.kind === 'linked') writes.add(nobodyElseHas(profile, user));
  }
  return {
    user: { resource: user, created: userAt !== undefined, write: userAt },
    profile: { resource: profile, created: profileAt !== undefined, write: profileAt },
    membership: { resource: membership, created: before === undefined, write: membershipAt },
    invitation: isOpen ? invitation : undefined,
    writes: writes.list,
  };
}

/** The writes of one commit in order. */
class Writes {
  readonly list: GuardedWrite[] = [];

  add(...writes: readonly GuardedWrite[]): number {
    return this.list.push(...writes) - 1;
  }

  create(resource: User | PersonProfile | ProjectMembership, records?: readonly PutWrite[]): number {
    const key = { type: resource.resourceType, id: resource.id! };
    return this.add({ kind: 'put', key, resource, expect: { version: null }, records });
  }
}

function namedIn(request: InviteRequest): NamedResource[] {
  return [
    ...(request.patient === undefined ? [] : [{ reference: request.patient, path: 'patient' }]),
    ...(request.profile === undefined ? [] : [{ reference: request.profile, path: 'membership.profile' }]),
    ...policiesOf(request.settings, request.policyPath),
  ];
}

/** The settings of a new membership: chosen ones, else the project's defaults. */
async function chosenSettings(
  session: ProjectSession,
  { settings, resourceType }: InviteRequest,
  project: Project,
  profile: PersonProfile,
): Promise<MembershipSettings> {
  if (settings.accessPolicy !== undefined || settings.access !== undefined) return settings;
  const patient = patientOf(profile);
  const defaults = defaultPolicies(project, resourceType, settings.admin === true, patient);
  for (const { reference } of policiesOf(defaults, '')) {
    const [found] = await session.guard.read([splitReference(reference)], session.options);
    if (found?.status === 'found') continue;
    throw new FhirError('conflict', `${reference}, a default access policy of the project, does not exist`);
  }
  return { ...settings, ...defaults };
}

/** A membership with a lost profile gets a found or new one. */
function withProfile(before: ProjectMembership, profile: PersonProfile): ProjectMembership {
  const reference = referenceOf(profile);
  if (before.profile.reference === reference) return before;
  return { ...before, profile: { reference } };
}

/** @returns the position of its write; undefined if nothing changes */
async function writeMembership(
  session: ProjectSession,
  writes: Writes,
  before: ProjectMembership | undefined,
  after: ProjectMembership,
  records: readonly PutWrite[] | undefined,
): Promise<number | undefined> {
  if (before === undefined) return writes.create(after, records);
  if (sameJson(before, after)) return undefined;
  writes.add(...(await keepAnAdministrator(session, before, after)));
  const key = { type: 'ProjectMembership', id: before.id! };
  return writes.add({
    kind: 'put',
    key,
    resource: authored(session, after),
    expect: { version: before.meta!.versionId! },
    records,
  });
}
