import type { ProjectMembership, RelatedPerson, User } from '@medplum/fhirtypes';
import { FhirError } from '../fhir/error.js';
import {
  livesIn,
  membershipByExternalId,
  membershipsOf,
  membershipsWithProfile,
  type PersonProfile,
  profileByEmail,
  readProfile,
  readUser,
  userByExternalId,
  usersLikeEmail,
  withEmail,
} from './find-people.js';
import type { InviteRequest } from './invite-body.js';
import { type ProjectDesk, splitReference } from './project-desk.js';

/** What an invite builds on; undefined for what it has to make. */
export interface ChosenPeople {
  readonly user: User | undefined;
  readonly profile: PersonProfile | undefined;
  /** The membership to update. */
  readonly membership: ProjectMembership | undefined;
  /** The User with the same e-mail at the other scope, who was no member. */
  readonly twin: User | undefined;
  /** Ids of every User that the e-mail was found by. */
  readonly seen: readonly string[];
}

/**
 * Finds who is invited among those who are known already.
 *
 * @throws FhirError `conflict` - a member already (`details.memberships`), or somebody else holds what was asked for
 */
export async function choosePeople(desk: ProjectDesk, request: InviteRequest, hint?: string): Promise<ChosenPeople> {
  const { user, twin, seen } = await findUser(desk, request, hint);
  if (twin !== undefined && request.mode !== 'another') {
    const memberships = await membershipsOf(desk, [twin.id!]);
    if (memberships.length > 0) throw alreadyMember(memberships, 'with a User of another scope');
  }
  const memberships = user === undefined ? [] : await membershipsOf(desk, [user.id!]);
  await assertExternalIdFree(desk, request, memberships);
  const membership = chooseMembership(memberships, request);
  const profile =
    membership === undefined
      ? await chooseProfile(desk, request, user)
      : await keptProfile(desk, request, user, membership);
  return { user, profile, membership, twin, seen };
}

/** The User at the scope asked for, and the one with the same e-mail at the other scope. */
async function findUser(
  desk: ProjectDesk,
  { email, externalId, scope }: InviteRequest,
  hint: string | undefined,
): Promise<Pick<ChosenPeople, 'user' | 'twin' | 'seen'>> {
  if (email === undefined) {
    const member = await membershipByExternalId(desk, externalId!);
    const user = member && (await readUser(desk, member.user.reference ?? ''));
    return { user: user ?? (await userByExternalId(desk, externalId!)), twin: undefined, seen: [] };
  }
  const found = await usersLikeEmail(desk, email, hint);
  const seen = found.map(({ id }) => id!);
  const users = withEmail(found, email);
  const ofServer = users.find((one) => livesIn(one, undefined));
  const ofProject = users.find((one) => livesIn(one, desk.project));
  return scope === 'project' ? { user: ofProject, twin: ofServer, seen } : { user: ofServer, twin: ofProject, seen };
}

/** An external id names one member of a project. */
async function assertExternalIdFree(
  desk: ProjectDesk,
  { externalId, mode }: InviteRequest,
  memberships: readonly ProjectMembership[],
): Promise<void> {
  if (externalId === undefined) return;
  const holder = await membershipByExternalId(desk, externalId);
  if (holder === undefined) return;
  if (mode !== 'another' && memberships.some(({ id }) => id === holder.id)) return;
  throw new FhirError('conflict', `ProjectMembership/${holder.id!} of this project has this externalId already`, {
    details: { memberships: [`ProjectMembership/${holder.id!}`] },
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
    { details: { memberships: candidates.map(({ id }) => `ProjectMembership/${id!}`) } },
  );
}

/** The profile of the membership that is updated; another one only where that is lost. */
async function keptProfile(
  desk: ProjectDesk,
  request: InviteRequest,
  user: User | undefined,
  membership: ProjectMembership,
): Promise<PersonProfile | undefined> {
  const reference = membership.profile.reference ?? '';
  const profile = await readProfile(desk, reference);
  if (profile === undefined) return chooseProfile(desk, request, user);
  const asked = request.profile ?? reference;
  const patient = (profile as Partial<RelatedPerson>).patient?.reference;
  const differs =
    asked !== reference ||
    profile.resourceType !== request.resourceType ||
    (request.patient !== undefined && request.patient !== patient);
  if (differs) throw alreadyMember([membership], 'with a different profile');
  return profile;
}

/** The profile that is named, else the one found by e-mail. It must not be somebody else's. */
async function chooseProfile(
  desk: ProjectDesk,
  request: InviteRequest,
  user: User | undefined,
): Promise<PersonProfile | undefined> {
  const profile =
    request.profile === undefined ? await profileByEmail(desk, request) : await readProfile(desk, request.profile);
  if (profile === undefined) return undefined;
  const name = `${profile.resourceType}/${profile.id!}`;
  const patient = (profile as Partial<RelatedPerson>).patient?.reference;
  if (request.patient !== undefined && request.patient !== patient) {
    throw new FhirError('conflict', `${name} belongs to another patient than the one given`);
  }
  const owner = (await membershipsWithProfile(desk, name)).find(
    (membership) => splitReference(membership.user.reference ?? '').id !== user?.id,
  );
  if (owner === undefined) return profile;
  throw new FhirError('conflict', `${name} is the profile of another member; choose one as membership.profile`, {
    details: { memberships: [`ProjectMembership/${owner.id!}`] },
  });
}

function alreadyMember(memberships: readonly ProjectMembership[], how?: string, hint = ''): FhirError {
  const names = memberships.map(({ id }) => `ProjectMembership/${id!}`);
  return new FhirError(
    'conflict',
    `User is already a member of this project${how === undefined ? '' : ` ${how}`}: ${names.join(', ')}${hint}`,
    { details: { memberships: names } },
  );
}
