import type { ProjectMembership, User, RelatedPerson } from '@medplum/fhirtypes';
import type { GuardedWrite } from '../../access/contract.js';
import { FhirError } from '../../fhir/error.js';
import { referenceTo, referenceOf, splitReference } from '../../fhir/reference.js';
import type { Stored } from '../../fhir/resource.js';
import { randomId } from '../../platform/crypto.js';
import { and, not, refersTo } from '../../search/criteria/criteria.js';
import type { InviteRequest } from '../body/invite-body.js';
import {
  type PersonProfile,
  type ProjectSession,
  profileInView,
  readProfile,
  readUser,
} from '../session/project-session.js';
import {
  emailProfilesQuery,
  formerProfilesOf,
  livesIn,
  membershipByExternalId,
  membershipsOf,
  membershipsWithProfiles,
  otherUsersLikeEmail,
  profilesWithEmail,
  readProfiles,
  userByExternalId,
  usersLikeEmail,
  withEmail,
} from './find-people.js';

/** Whom an invite is about, as the project has them. */
export interface Invited extends Candidates {
  /** The membership to update; undefined to create one. */
  readonly membership: Stored<ProjectMembership> | undefined;
  readonly profile: ProfileChoice;
}

/** The stored resources that fit an invite. */
export interface Candidates {
  /** The User in the requested scope. */
  readonly user: Stored<User> | undefined;
  /** The User with the same e-mail at the other scope. */
  readonly otherScopeUser: Stored<User> | undefined;
  /** The memberships of the User in this project. */
  readonly memberships: readonly Stored<ProjectMembership>[];
  /** The memberships of the other scope's User in this project. */
  readonly otherScopeMemberships: readonly Stored<ProjectMembership>[];
  /** The membership with the requested external id. */
  readonly externalIdHolder: Stored<ProjectMembership> | undefined;
  /** Ids of all Users found by the e-mail. */
  readonly foundUsers: readonly string[];
}

/**
 * Finds the person of an invite: the User, the membership to update, the profile to link. A User outside the project
 * takes as many store calls as one who does not exist.
 *
 * @param hint the resource that the last attempt conflicted with, `Type/id`
 * @throws FhirError `conflict` - the person is a member already, or several resources fit
 */
export async function findInvited(session: ProjectSession, request: InviteRequest, hint?: string): Promise<Invited> {
  const found = await findCandidates(session, request, hint);
  const membership = chooseMembership(found, request);
  const profile = await chooseProfile({ session, request, found, updated: membership });
  return { ...found, membership, profile };
}

async function findCandidates(
  session: ProjectSession,
  request: InviteRequest,
  hint: string | undefined,
): Promise<Candidates> {
  const users = await findUsers(session, request, hint);
  const { user, otherScopeUser } = users;
  const ids = [user?.id ?? randomId(), ...(otherScopeUser === undefined ? [] : [otherScopeUser.id])];
  const found = await membershipsOf(session, ids);
  return {
    ...users,
    memberships: found.filter((one) => belongsTo(one, user)),
    otherScopeMemberships: found.filter((one) => belongsTo(one, otherScopeUser)),
  };
}

function belongsTo({ user }: ProjectMembership, person: User | undefined): boolean {
  return person !== undefined && user.reference === referenceTo('User', person.id!);
}

async function findUsers(
  session: ProjectSession,
  { email, externalId, scope }: InviteRequest,
  hint: string | undefined,
): Promise<Omit<Candidates, 'memberships' | 'otherScopeMemberships'>> {
  const externalIdHolder = externalId === undefined ? undefined : await membershipByExternalId(session, externalId);
  if (email === undefined) {
    const byMembership = externalIdHolder && (await readUser(session, externalIdHolder.user.reference ?? ''));
    const user = byMembership ?? (await userByExternalId(session, externalId!));
    return { user, otherScopeUser: undefined, foundUsers: [], externalIdHolder };
  }
  const found = await usersLikeEmail(session, email, hint);
  const users = withEmail(found, email);
  const ofServer = users.find((one) => livesIn(one, undefined));
  const ofProject = users.find((one) => livesIn(one, session.project));
  const [user, otherScopeUser] = scope === 'project' ? [ofProject, ofServer] : [ofServer, ofProject];
  return { user, otherScopeUser, foundUsers: found.map(({ id }) => id), externalIdHolder };
}

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
export function chooseMembership(found: Candidates, request: InviteRequest): Stored<ProjectMembership> | undefined {
  const { memberships, otherScopeMemberships } = found;
  if (request.mode !== 'another' && otherScopeMemberships.length > 0) {
    throw alreadyMember(otherScopeMemberships, ' with a User of another scope');
  }
  assertExternalIdFree(found, request);
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
function assertExternalIdFree({ externalIdHolder: holder, memberships }: Candidates, { mode }: InviteRequest): void {
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

/** The profile of an invited person. */
type ProfileChoice =
  /** The unchanged profile of the updated membership. */
  | { readonly kind: 'kept'; readonly profile: PersonProfile }
  /** An existing profile, which must not belong to anybody else at commit time. */
  | { readonly kind: 'linked'; readonly profile: PersonProfile }
  | {
      readonly kind: 'new';
      /** Created because the inviter sees no profile with the e-mail address; the commit verifies this. */
      readonly forWantOfCandidates: boolean;
    };

/** The input of the rules below. */
interface Question {
  readonly session: ProjectSession;
  readonly request: InviteRequest;
  readonly found: Candidates;
  /** The membership that is updated. */
  readonly updated: ProjectMembership | undefined;
}

/** @returns undefined if the row does not apply @throws FhirError `conflict` */
type Row = (question: Question) => Promise<ProfileChoice | undefined> | ProfileChoice | undefined;

/**
 * The first row that applies decides; the last one always does.
 *
 * | row | profile |
 * |---|---|
 * | a membership is updated and its profile exists | that one; `conflict` if the body asks for another |
 * | `membership.profile` | that one; `conflict` if it is another member's or another patient's |
 * | `newProfile` | new |
 * | the User's other memberships here, else its removed ones, had one such profile | that one; `conflict` for several |
 * | the inviter sees profiles with the e-mail address | `conflict`, else new |
 *
 * An e-mail address inside a profile is not an identity: a caller who may write profiles may write anybody's address. So it
 * never decides who owns a profile.
 */
const ROWS: readonly Row[] = [profileOfMembership, profileInBody, newProfile, profileOfUser];

/**
 * @throws FhirError `conflict` - see the table; `details.profiles` or `details.memberships` name the conflicting
 * resources
 */
async function chooseProfile(question: Question): Promise<ProfileChoice> {
  for (const row of ROWS) {
    const choice = await row(question);
    if (choice !== undefined) return choice;
  }
  return newUnlessSeen(question);
}

async function profileOfMembership({ session, request, updated }: Question): Promise<ProfileChoice | undefined> {
  if (updated === undefined) return undefined;
  const reference = updated.profile.reference ?? '';
  const profile = await readProfile(session, reference);
  if (profile === undefined) return undefined;
  const differs =
    (request.profile ?? reference) !== reference ||
    profile.resourceType !== request.resourceType ||
    (request.patient !== undefined && request.patient !== patientOf(await profileInView(session, profile)));
  if (differs) throw alreadyMember([updated], ' with a different profile');
  return { kind: 'kept', profile };
}

async function profileInBody({ session, request, found }: Question): Promise<ProfileChoice | undefined> {
  const name = request.profile;
  if (name === undefined) return undefined;
  const profile = await readProfile(session, name);
  // It was deleted after the body was checked.
  if (profile === undefined) return { kind: 'new', forWantOfCandidates: !request.newProfile };
  if (request.patient !== undefined) {
    const seen = session.view === undefined ? profile : await profileInView(session, profile);
    if (patientOf(seen) !== request.patient) {
      throw new FhirError('conflict', `${name} belongs to a different patient than the request names`);
    }
  }
  const owner = (await membershipsWithProfiles(session, [name])).find((one) => !belongsTo(one, found.user));
  if (owner === undefined) return { kind: 'linked', profile };
  throw new FhirError('conflict', `${name} is the profile of another member; choose one as membership.profile`, {
    details: { memberships: [referenceOf(owner)] },
  });
}

function newProfile({ request }: Question): ProfileChoice | undefined {
  return request.newProfile ? { kind: 'new', forWantOfCandidates: false } : undefined;
}

async function profileOfUser({ session, request, found }: Question): Promise<ProfileChoice | undefined> {
  const [profile, ...others] = await formerOrCurrentProfiles(session, request, found);
  if (profile === undefined) return undefined;
  if (others.length === 0) return { kind: 'linked', profile };
  throw severalProfiles(
    'The user has had several profiles in this project',
    await namesInView(session, [profile, ...others]),
  );
}

async function newUnlessSeen({ session, request }: Question): Promise<ProfileChoice> {
  const others = await profilesWithEmail(session, request);
  if (others.length === 0) return { kind: 'new', forWantOfCandidates: true };
  throw severalProfiles(
    'An e-mail address does not prove who owns a profile, and other profiles have this one',
    others,
  );
}

async function namesInView(session: ProjectSession, profiles: readonly PersonProfile[]): Promise<readonly string[]> {
  const keys = profiles.map(({ resourceType, id }) => ({ type: resourceType, id: id! }));
  const found = (await session.view?.read(keys, session.options)) ?? [];
  return profiles.filter((_, index) => found[index]?.status === 'found').map(referenceOf);
}

/** The matching profiles of the User's memberships here, else of its removed ones, without those of others. */
async function formerOrCurrentProfiles(
  session: ProjectSession,
  request: InviteRequest,
  { user, memberships }: Candidates,
): Promise<readonly PersonProfile[]> {
  const former = await formerProfilesOf(session, user?.id ?? randomId());
  const current = memberships.map(({ profile }) => profile.reference ?? '');
  for (const names of [current, former]) {
    const ofType = [...new Set(names)].filter((name) => splitReference(name).type === request.resourceType);
    const profiles = await readProfiles(session, ofType);
    const fitting = await ofPatient(session, profiles, request.patient);
    if (fitting.length === 0) continue;
    const holders = await membershipsWithProfiles(session, fitting.map(referenceOf));
    const taken = new Set(holders.filter((one) => !belongsTo(one, user)).map(({ profile }) => profile.reference));
    const free = fitting.filter((one) => !taken.has(referenceOf(one)));
    if (free.length > 0) return free;
  }
  return [];
}

/** Profiles of the requested patient, as the inviter sees them: a profile with a hidden patient does not match. */
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

/** The Patient of a RelatedPerson, as `Patient/1`. */
export function patientOf(profile: PersonProfile): string | undefined {
  return (profile as Partial<RelatedPerson>).patient?.reference;
}

/** The person is a member; `details.memberships` names the memberships. */
function alreadyMember(memberships: readonly ProjectMembership[], how = '', hint = ''): FhirError {
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
function severalProfiles(reason: string, profiles: readonly string[]): FhirError {
  const names = profiles.length === 0 ? '' : `: ${profiles.join(', ')}`;
  return new FhirError(
    'conflict',
    `${reason}; name the right one as membership.profile, or make another with newProfile${names}`,
    { details: { profiles } },
  );
}

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
  { memberships, otherScopeUser, foundUsers }: Candidates,
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
