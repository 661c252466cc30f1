import type { Project, ProjectMembership, RelatedPerson, User } from '@medplum/fhirtypes';
import type { GuardedWrite } from '../../access/contract.js';
import { FhirError } from '../../fhir/error.js';
import { referenceOf, referenceTo, splitReference } from '../../fhir/reference.js';
import { and, not, refersTo } from '../../search/criteria/criteria.js';
import { assertAccessSize } from '../body/assert-access-size.js';
import { assertParametersUsed } from '../body/assert-parameters-used.js';
import { keepAnAdministrator } from '../people/administrators.js';
import { type ChosenPeople, choosePeople } from './choose-people.js';
import { defaultPolicies } from './default-policies.js';
import { emailProfilesQuery, otherUsersLikeEmail, type PersonProfile } from '../people/find-people.js';
import type { InviteRequest } from '../body/invite-body.js';
import { inviterReference } from '../session/inviter.js';
import { type MembershipSettings, policiesOf, withSettings } from '../body/membership-settings.js';
import { assertNoWayAround } from '../session/own-membership.js';
import { assertNamedExist, type NamedResource, policiesStillThere } from '../body/named-resources.js';
import { newMembership, newProfile, newUser } from '../people/new-people.js';
import { authored, type ProjectSession, readProject } from '../session/project-session.js';
import type { PlannedWrites } from '../session/commit-planned.js';
import { sameJson } from '../../fhir/json/same-json.js';
import { referenceExists } from '../session/reference-exists.js';

/** A resource that an invite will leave behind, and where its write stands; undefined for one that stays as it is. */
export interface Planned<Resource> {
  readonly resource: Resource;
  readonly created: boolean;
  readonly write: number | undefined;
}

/** Everything that an invite will do, decided and checked. */
export interface InvitePlan extends PlannedWrites {
  readonly user: Planned<User>;
  readonly profile: Planned<PersonProfile>;
  readonly membership: Planned<ProjectMembership>;
}

/**
 * Decides what an invite will do: User, profile, membership, in this order, and what must hold when they are written.
 *
 * @param hint a resource that stood in the way of the last attempt
 * @throws FhirError `not-found` - there is no such project
 * @throws FhirError `invalid` - something that the body names does not exist in this project; one issue each
 * @throws FhirError `conflict` - the person is a member already, or several people fit
 */
export async function planInvite(session: ProjectSession, request: InviteRequest, hint?: string): Promise<InvitePlan> {
  const { project } = await readProject(session);
  if (project.active === false) throw new FhirError('conflict', `Project/${session.project} is not active`);
  await assertNamedExist(session, namedIn(request));
  await assertAccessSize(session, request.settings, request.policyPath);
  await assertParametersUsed(session, request.settings, request.policyPath);
  const people = await choosePeople(session, request, hint);
  const user = people.user ?? newUser(session, request);
  const profile = people.profile ?? newProfile(session, request);
  const before = people.membership;
  if (before === undefined)
    assertNoWayAround(session, [user.id!, ...(people.twin === undefined ? [] : [people.twin.id!])]);
  const settings = before === undefined ? await chosenSettings(session, request, project, profile) : request.settings;
  const membership = withSettings(
    before === undefined
      ? newMembership(session, user, profile, request, inviterReference(session))
      : withProfile(before, profile),
    settings,
  );
  const writes = new Writes();
  const userAt = people.user === undefined ? writes.create(user) : undefined;
  if (people.profile === undefined && !request.newProfile) writes.add(...noCandidateYet(session, request));
  const profileAt = people.profile === undefined ? writes.create(profile) : undefined;
  if (before === undefined) writes.add(...noOtherMembership(session, request, user, people));
  const membershipAt = await writeMembership(session, writes, before, membership);
  if (membershipAt !== undefined) {
    writes.add(...referencesStillThere(membership, settings, profile));
    const isNewLink = before?.profile.reference !== membership.profile.reference;
    if (people.profile !== undefined && isNewLink) writes.add(nobodyElseHas(profile, user));
  }
  return {
    user: { resource: user, created: userAt !== undefined, write: userAt },
    profile: { resource: profile, created: profileAt !== undefined, write: profileAt },
    membership: { resource: membership, created: before === undefined, write: membershipAt },
    writes: writes.list,
  };
}

/** The writes of one commit in their order. */
class Writes {
  readonly list: GuardedWrite[] = [];

  add(...writes: readonly GuardedWrite[]): number {
    return this.list.push(...writes) - 1;
  }

  create(resource: User | PersonProfile | ProjectMembership): number {
    const key = { type: resource.resourceType, id: resource.id! };
    return this.add({ kind: 'put', key, resource, expect: { version: null } });
  }
}

/** Every resource that the body names. */
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
  const patient = (profile as Partial<RelatedPerson>).patient?.reference;
  const defaults = defaultPolicies(project, resourceType, settings.admin === true, patient);
  for (const { reference } of policiesOf(defaults, '')) {
    const [found] = await session.guard.read([splitReference(reference)], session.options);
    if (found?.status === 'found') continue;
    throw new FhirError('conflict', `${reference}, a default access policy of the project, does not exist`);
  }
  return { ...settings, ...defaults };
}

/** A membership whose profile was lost gets the one found or made for it. */
function withProfile(before: ProjectMembership, profile: PersonProfile): ProjectMembership {
  const reference = referenceOf(profile);
  if (before.profile.reference === reference) return before;
  return { ...before, profile: { reference } };
}

/** Checks that the inviter still sees no profile with the e-mail address, where that was the reason to make one. */
function noCandidateYet(session: ProjectSession, request: InviteRequest): GuardedWrite[] {
  const query = emailProfilesQuery(session.store.model, session, request);
  return query === undefined ? [] : [{ kind: 'unmatched', query }];
}

/**
 * Checks that whoever is about to become a member has no memberships but those known: through this User, through that of
 * the other scope, or through a User whom another invite has just made there. The e-mail of a User is unique per scope
 * only. Where another membership is wanted, only those of the User itself count: they decide about its profile.
 */
function noOtherMembership(
  session: ProjectSession,
  { email, mode }: InviteRequest,
  user: User,
  people: ChosenPeople,
): GuardedWrite[] {
  const ofUser = refersTo('user', { type: 'User', id: user.id! });
  const known = not({ kind: 'id', ids: people.memberships });
  const own: GuardedWrite = {
    kind: 'unmatched',
    query: { type: 'ProjectMembership', criteria: people.memberships.length === 0 ? ofUser : and([ofUser, known]) },
  };
  if (mode === 'another') return [own];
  const { twin } = people;
  const ofTwin: GuardedWrite[] =
    twin === undefined
      ? []
      : [
          {
            kind: 'unmatched',
            query: { type: 'ProjectMembership', criteria: refersTo('user', { type: 'User', id: twin.id! }) },
          },
        ];
  if (email === undefined) return [own, ...ofTwin];
  const criteria = otherUsersLikeEmail(session, email, [...people.seen, user.id!]);
  return [own, ...ofTwin, { kind: 'unmatched', query: { type: 'User', criteria } }];
}

/** Checks that a profile that was there before has not become another User's. */
function nobodyElseHas(profile: PersonProfile, user: User): GuardedWrite {
  const ofUser = refersTo('user', { type: 'User', id: user.id! });
  const withProfile = refersTo('profile', { type: profile.resourceType, id: profile.id! });
  return { kind: 'unmatched', query: { type: 'ProjectMembership', criteria: and([withProfile, not(ofUser)]) } };
}

/** @returns the position of its write; undefined where nothing changes */
async function writeMembership(
  session: ProjectSession,
  writes: Writes,
  before: ProjectMembership | undefined,
  after: ProjectMembership,
): Promise<number | undefined> {
  if (before === undefined) return writes.create(after);
  if (sameJson(before, after)) return undefined;
  writes.add(...(await keepAnAdministrator(session, before, after)));
  const key = { type: 'ProjectMembership', id: before.id! };
  return writes.add({
    kind: 'put',
    key,
    resource: authored(session, after),
    expect: { version: before.meta!.versionId! },
  });
}

/** Checked when they were looked up, and again in the commit. */
function referencesStillThere(
  membership: ProjectMembership,
  settings: MembershipSettings,
  profile: PersonProfile,
): GuardedWrite[] {
  const profileName = referenceOf(profile);
  const patient = (profile as Partial<RelatedPerson>).patient?.reference;
  return [
    referenceExists(referenceTo('ProjectMembership', membership.id!), 'profile', profileName),
    ...policiesStillThere(membership.id!, settings),
    ...(patient === undefined ? [] : [referenceExists(profileName, 'patient', patient)]),
  ];
}
