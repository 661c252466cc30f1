import type { Project, ProjectMembership, User, ContactPoint } from '@medplum/fhirtypes';
import type { GuardedWrite } from '../../access/contract.js';
import { FhirError } from '../../fhir/error.js';
import { sameJson } from '../../fhir/json/copy-json.js';
import { referenceOf, splitReference, referenceTo } from '../../fhir/reference.js';
import { randomId } from '../../platform/crypto.js';
import type { PutWrite } from '../../store/write.js';
import { policyExistenceChecks } from '../body/assert-settings.js';
import type { InviteRequest, PersonType } from '../body/invite-body.js';
import { type MembershipSettings, policiesOf, withSettings } from '../body/membership-settings.js';
import { invitationRecord, type NewInvitation, withInvitation } from '../invitation.js';
import { type Invited, noCandidateYet, nobodyElseHas, noOtherMembership, patientOf } from '../people/find-invited.js';
import { keepAnAdministrator, assertNoWayAround } from '../session/administrators.js';
import { type PlannedWrites, referenceExists } from '../session/commit-planned.js';
import { authored, inviterReference, type PersonProfile, type ProjectSession } from '../session/project-session.js';

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
 * @param invited the person, as found
 * @param invitation to be accepted by the person, unless an external id is linked already
 * @throws FhirError `forbidden` - members give themselves no other membership
 * @throws FhirError `conflict` - a default policy of the project is gone; the project would lose its last administrator
 */
export async function planInvite(
  session: ProjectSession,
  request: InviteRequest,
  project: Project,
  invited: Invited,
  invitation?: NewInvitation,
): Promise<InvitePlan> {
  const { membership: before, profile: choice, otherScopeUser } = invited;
  // A dry run treats non-members as unknown.
  const isUnknown = invited.user === undefined || (request.dryRun && invited.memberships.length === 0);
  const user = isUnknown ? newUser(session, request) : invited.user;
  const profile = choice.kind === 'new' ? newProfile(session, request) : choice.profile;
  if (before === undefined) {
    assertNoWayAround(session, [user.id!, ...(otherScopeUser === undefined ? [] : [otherScopeUser.id])]);
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

/**
 * The policies that a project gives to new members for whom none was chosen: `Project.defaultAccessPolicies`, and for
 * Patients the older `Project.defaultPatientAccessPolicy`. A RelatedPerson's comes with its patient as parameter.
 *
 * | member | `profileType` looked for |
 * |---|---|
 * | Practitioner who is administrator | `Admin`, then `Practitioner` |
 * | others | the type of the profile |
 *
 * @param patient `Patient/1`: the RelatedPerson's
 */
function defaultPolicies(
  project: Project,
  type: PersonType,
  admin: boolean,
  patient: string | undefined,
): MembershipSettings {
  const wanted = type === 'Practitioner' && admin ? ['Admin', 'Practitioner'] : [type];
  const listed = wanted.flatMap(
    (one) => project.defaultAccessPolicies?.filter((entry) => entry.profileType === one) ?? [],
  );
  const reference =
    listed[0]?.accessPolicy.reference ??
    (type === 'Patient' ? project.defaultPatientAccessPolicy?.reference : undefined);
  if (reference === undefined) return {};
  if (type !== 'RelatedPerson' || patient === undefined) return { accessPolicy: { reference } };
  const parameter = [{ name: 'patient', valueReference: { reference: patient } }];
  return { access: [{ policy: { reference }, parameter }] };
}

/** Checked on lookup, and again in the commit. */
function referenceExistenceChecks(
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

function newUser(session: ProjectSession, request: InviteRequest): User {
  const { firstName, lastName, email, externalId, scope, mfaRequired } = request;
  return {
    resourceType: 'User',
    id: randomId(),
    ...(scope === 'project' ? { project: { reference: referenceTo('Project', session.project) } } : {}),
    firstName,
    lastName,
    ...(email === undefined ? {} : { email }),
    ...(externalId === undefined ? {} : { externalId }),
    ...(mfaRequired ? { mfaRequired } : {}),
  };
}

/** @throws FhirError `invalid` - a RelatedPerson without a patient */
function newProfile(session: ProjectSession, request: InviteRequest): PersonProfile {
  const { resourceType, firstName, lastName, patient } = request;
  const telecom = telecomOf(request);
  const person = {
    id: randomId(),
    name: [{ given: [firstName], family: lastName }],
    ...(telecom === undefined ? {} : { telecom: [telecom] }),
  };
  if (resourceType !== 'RelatedPerson') return authored(session, { resourceType, ...person });
  if (patient === undefined) {
    const diagnostics = 'patient is required to make a RelatedPerson';
    throw new FhirError('invalid', diagnostics, {
      issues: [{ code: 'required', diagnostics, expression: ['patient'] }],
    });
  }
  return authored(session, { resourceType, ...person, patient: { reference: patient } });
}

function newMembership(
  session: ProjectSession,
  user: User,
  profile: PersonProfile,
  request: InviteRequest,
  invitedBy: ProjectMembership['invitedBy'],
): ProjectMembership {
  const name = `${request.firstName} ${request.lastName}`;
  return authored(session, {
    resourceType: 'ProjectMembership',
    id: randomId(),
    active: true,
    project: { reference: referenceTo('Project', session.project) },
    ...(invitedBy === undefined ? {} : { invitedBy }),
    user: { reference: referenceTo('User', user.id!), display: request.email ?? name },
    profile: { reference: referenceOf(profile), display: name },
  });
}

/** Staff are invited at their work address; the use of other addresses is unknown. */
function telecomOf({ resourceType, email }: InviteRequest): ContactPoint | undefined {
  if (email === undefined) return undefined;
  return { system: 'email', ...(resourceType === 'Practitioner' ? { use: 'work' } : {}), value: email };
}
