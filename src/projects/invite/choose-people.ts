import { randomUUID } from 'node:crypto';
import type { ProjectMembership, RelatedPerson, User } from '@medplum/fhirtypes';
import { FhirError } from '../../fhir/error.js';
import { referenceTo, splitReference } from '../../fhir/reference.js';
import {
  formerProfilesOf,
  livesIn,
  membershipByExternalId,
  membershipsOf,
  membershipsWithProfiles,
  type PersonProfile,
  profileInView,
  profilesWithEmail,
  readProfile,
  readProfiles,
  readUser,
  userByExternalId,
  usersLikeEmail,
  withEmail,
} from '../people/find-people.js';
import type { InviteRequest } from '../body/invite-body.js';
import { type ProjectSession } from '../session/project-session.js';

/** What an invite builds on; undefined for what it has to make. */
export interface ChosenPeople {
  readonly user: User | undefined;
  readonly profile: PersonProfile | undefined;
  /** The membership to update. */
  readonly membership: ProjectMembership | undefined;
  /** Ids of the memberships that the User has in this project. */
  readonly memberships: readonly string[];
  /** The User with the same e-mail at the other scope, who was no member. */
  readonly twin: User | undefined;
  /** Ids of every User that the e-mail was found by. */
  readonly seen: readonly string[];
}

/**
 * Decides who of those already known is invited.
 *
 * The membership:
 *
 * | memberships of the User | `upsert` | `forceNewMembership` | neither |
 * |---|---|---|---|
 * | none | new | new | new |
 * | one, or one that the body names | that one | new | `conflict` |
 * | several | `conflict` | new | `conflict` |
 *
 * The profile, by the first row that applies:
 *
 * | | profile |
 * |---|---|
 * | a membership is updated and its profile exists | that one; `conflict` if the body asks for another |
 * | `membership.profile` | that one; `conflict` if it is another member's or another patient's |
 * | `newProfile` | new |
 * | the User's other memberships here, else its removed ones, had one such profile | that one |
 * | they had several | `conflict` |
 * | the inviter sees profiles with the e-mail address | `conflict` |
 * | | new |
 *
 * An e-mail address inside a profile is no identity: whoever may write profiles may write the address of anybody. So it
 * never decides whose a profile is.
 *
 * A User who is no member of the project takes as many store calls as one who does not exist.
 *
 * @throws FhirError `conflict` - as above (`details.memberships`, `details.profiles`), the other scope's User with the
 * same address is a member, or another member has the external id
 */
export async function choosePeople(
  session: ProjectSession,
  request: InviteRequest,
  hint?: string,
): Promise<ChosenPeople> {
  const { user, twin, seen, holder } = await findUsers(session, request, hint);
  const found = await membershipsOf(session, [user?.id ?? randomUUID(), ...(twin === undefined ? [] : [twin.id!])]);
  const memberships = user === undefined ? [] : found.filter((one) => isOf(one, user));
  if (twin !== undefined && request.mode !== 'another') {
    const others = found.filter((one) => isOf(one, twin));
    if (others.length > 0) throw alreadyMember(others, 'with a User of another scope');
  }
  assertExternalIdFree(holder, request, memberships);
  const membership = chooseMembership(memberships, request);
  const profile = await chooseProfile(session, request, user, memberships, membership);
  return {
    user: request.dryRun && memberships.length === 0 ? undefined : user,
    profile,
    membership,
    memberships: memberships.map(({ id }) => id),
    twin,
    seen,
  };
}

interface FoundUsers extends Pick<ChosenPeople, 'user' | 'twin' | 'seen'> {
  /** The membership with the external id that is asked for. */
  readonly holder: ProjectMembership | undefined;
}

/** The User at the scope asked for, and the one with the same e-mail at the other scope. */
async function findUsers(
  session: ProjectSession,
  { email, externalId, scope }: InviteRequest,
  hint: string | undefined,
): Promise<FoundUsers> {
  const holder = externalId === undefined ? undefined : await membershipByExternalId(session, externalId);
  if (email === undefined) {
    const byMembership = holder && (await readUser(session, holder.user.reference ?? ''));
    const user = byMembership ?? (await userByExternalId(session, externalId!));
    return { user, twin: undefined, seen: [], holder };
  }
  const found = await usersLikeEmail(session, email, hint);
  const seen = found.map(({ id }) => id);
  const users = withEmail(found, email);
  const ofServer = users.find((one) => livesIn(one, undefined));
  const ofProject = users.find((one) => livesIn(one, session.project));
  const [user, twin] = scope === 'project' ? [ofProject, ofServer] : [ofServer, ofProject];
  return { user, twin, seen, holder };
}

/** An external id names one member of a project. */
function assertExternalIdFree(
  holder: ProjectMembership | undefined,
  { mode }: InviteRequest,
  memberships: readonly ProjectMembership[],
): void {
  if (holder === undefined) return;
  if (mode !== 'another' && memberships.some(({ id }) => id === holder.id)) return;
  throw new FhirError('conflict', `ProjectMembership/${holder.id!} of this project has this externalId already`, {
    details: { memberships: [referenceTo('ProjectMembership', holder.id!)] },
  });
}

/** @returns undefined where a new membership is to be made */
function chooseMembership(
  memberships: readonly ProjectMembership[],
  request: InviteRequest,
): ProjectMembership | undefined {
  if (memberships.length === 0 || request.mode === 'another') return undefined;
  if (request.mode === 'new') {
    throw alreadyMember(
      memberships,
      undefined,
      '; use upsert to change the membership, forceNewMembership for another',
    );
  }
  const named = memberships.filter(
    ({ externalId, profile }) =>
      (request.externalId !== undefined && externalId === request.externalId) ||
      (request.profile !== undefined && profile.reference === request.profile),
  );
  const candidates = named.length > 0 ? named : memberships;
  if (candidates.length === 1) return candidates[0];
  throw new FhirError(
    'conflict',
    `The user has ${candidates.length} memberships in this project; name the profile of the one to update`,
    { details: { memberships: candidates.map(({ id }) => referenceTo('ProjectMembership', id!)) } },
  );
}

/** @returns undefined where a new profile is to be made */
async function chooseProfile(
  session: ProjectSession,
  request: InviteRequest,
  user: User | undefined,
  memberships: readonly ProjectMembership[],
  updated: ProjectMembership | undefined,
): Promise<PersonProfile | undefined> {
  const kept = updated && (await readProfile(session, updated.profile.reference ?? ''));
  if (kept !== undefined) return keptProfile(session, request, kept, updated!);
  if (request.profile !== undefined) return namedProfile(session, request, request.profile, user);
  if (request.newProfile) return undefined;
  const own = await ownProfiles(session, request, user, memberships);
  if (own.length === 1) return own[0];
  if (own.length > 1)
    throw severalProfiles('The user has had several profiles in this project', await inView(session, own));
  const others = await profilesWithEmail(session, request);
  if (others.length === 0) return undefined;
  throw severalProfiles(
    'An e-mail address does not prove whose profile it is, and other profiles have this one',
    others,
  );
}

/** The profile of the membership that is updated, which stays. */
async function keptProfile(
  session: ProjectSession,
  request: InviteRequest,
  profile: PersonProfile,
  membership: ProjectMembership,
): Promise<PersonProfile> {
  const reference = membership.profile.reference ?? '';
  const differs =
    (request.profile ?? reference) !== reference ||
    profile.resourceType !== request.resourceType ||
    (request.patient !== undefined && request.patient !== patientOf(await profileInView(session, profile)));
  if (differs) throw alreadyMember([membership], 'with a different profile');
  return profile;
}

/** The profile that the body names, unless it is somebody else's. */
async function namedProfile(
  session: ProjectSession,
  request: InviteRequest,
  name: string,
  user: User | undefined,
): Promise<PersonProfile | undefined> {
  const profile = await readProfile(session, name);
  if (profile === undefined) return undefined;
  if (request.patient !== undefined) {
    const seen = session.view === undefined ? profile : await profileInView(session, profile);
    if (patientOf(seen) !== request.patient) {
      throw new FhirError('conflict', `${name} belongs to another patient than the one given`);
    }
  }
  const owner = (await membershipsWithProfiles(session, [name])).find((one) => !isOf(one, user));
  if (owner === undefined) return profile;
  throw new FhirError('conflict', `${name} is the profile of another member; choose one as membership.profile`, {
    details: { memberships: [referenceTo('ProjectMembership', owner.id)] },
  });
}

/** The profiles that fit the request of the User's memberships here, else of its removed ones, without those of others. */
async function ownProfiles(
  session: ProjectSession,
  request: InviteRequest,
  user: User | undefined,
  memberships: readonly ProjectMembership[],
): Promise<readonly PersonProfile[]> {
  const former = await formerProfilesOf(session, user?.id ?? randomUUID());
  const current = memberships.map(({ profile }) => profile.reference ?? '');
  for (const names of [current, former]) {
    const ofType = [...new Set(names)].filter((name) => splitReference(name).type === request.resourceType);
    const profiles = await readProfiles(session, ofType);
    const fitting = await ofPatient(session, profiles, request.patient);
    if (fitting.length === 0) continue;
    const holders = await membershipsWithProfiles(session, fitting.map(nameOf));
    const taken = new Set(holders.filter((one) => !isOf(one, user)).map(({ profile }) => profile.reference));
    const free = fitting.filter((one) => !taken.has(nameOf(one)));
    if (free.length > 0) return free;
  }
  return [];
}

/** Those that belong to the patient asked for, as far as the inviter sees: whose patient it does not see is no answer. */
async function ofPatient(
  session: ProjectSession,
  profiles: readonly PersonProfile[],
  patient: string | undefined,
): Promise<readonly PersonProfile[]> {
  if (patient === undefined) return profiles;
  const { caller, view } = session;
  const seesNothing = view === undefined && caller.kind === 'member' && caller.bound;
  const seen = view === undefined ? profiles : await Promise.all(profiles.map((one) => profileInView(session, one)));
  return seesNothing ? [] : profiles.filter((_, index) => patientOf(seen[index]!) === patient);
}

/** Names of the profiles that the inviter sees. */
async function inView(session: ProjectSession, profiles: readonly PersonProfile[]): Promise<readonly string[]> {
  const keys = profiles.map(({ resourceType, id }) => ({ type: resourceType, id: id! }));
  const found = (await session.view?.read(keys, session.options)) ?? [];
  return profiles.filter((_, index) => found[index]?.status === 'found').map(nameOf);
}

function severalProfiles(reason: string, profiles: readonly string[]): FhirError {
  const names = profiles.length === 0 ? '' : `: ${profiles.join(', ')}`;
  return new FhirError(
    'conflict',
    `${reason}; name the right one as membership.profile, or make another with newProfile${names}`,
    { details: { profiles } },
  );
}

function alreadyMember(memberships: readonly ProjectMembership[], how?: string, hint = ''): FhirError {
  const names = memberships.map(({ id }) => referenceTo('ProjectMembership', id!));
  return new FhirError(
    'conflict',
    `User is already a member of this project${how === undefined ? '' : ` ${how}`}: ${names.join(', ')}${hint}`,
    { details: { memberships: names } },
  );
}

function isOf({ user }: ProjectMembership, person: User | undefined): boolean {
  return person !== undefined && user.reference === referenceTo('User', person.id!);
}

function nameOf({ resourceType, id }: PersonProfile): string {
  return referenceTo(resourceType, id!);
}

function patientOf(profile: PersonProfile): string | undefined {
  return (profile as Partial<RelatedPerson>).patient?.reference;
}
