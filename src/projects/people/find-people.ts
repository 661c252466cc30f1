import type { ProjectMembership, User } from '@medplum/fhirtypes';
import type { GuardedQuery } from '../../access/contract.js';
import { decide } from '../../access/decide.js';
import { restrictQuery } from '../../access/read/restrict.js';
import { formerProfiles } from '../../access/write/membership-records.js';
import { normalizeEmail } from '../../access/write/stamp.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { referenceOf, referenceTo, splitReference } from '../../fhir/reference.js';
import type { Stored } from '../../fhir/resource.js';
import { and, type Criteria, not, or, refersTo } from '../../search/criteria/criteria.js';
import { fold } from '../../search/index/fold.js';
import type { InviteRequest } from '../body/invite-body.js';
import type { PersonProfile, ProjectSession } from '../session/project-session.js';

/** Every User with an e-mail address: one of the server, one per project at most. */
export async function usersByEmail(session: ProjectSession, email: string): Promise<readonly Stored<User>[]> {
  return withEmail(await usersLikeEmail(session, email), email);
}

/**
 * The Users found by an e-mail address: those who have it, and those whose addresses differ in accents alone.
 *
 * @param hint a User known to have it, as `User/id`
 */
export async function usersLikeEmail(
  session: ProjectSession,
  email: string,
  hint?: string,
): Promise<readonly Stored<User>[]> {
  const hinted = splitReference(hint ?? '');
  const byText = likeEmail(email);
  const criteria = hinted.type === 'User' ? or([byText, { kind: 'id', ids: [hinted.id] }]) : byText;
  const { matches } = await session.guard.search({ type: 'User', criteria }, session.options);
  return matches.map(({ resource }) => resource as Stored<User>);
}

/** Users with exactly this e-mail address: the search uses folding, which is coarser than the normal form. */
export function withEmail(users: readonly Stored<User>[], email: string): readonly Stored<User>[] {
  return users.filter((user) => user.email !== undefined && normalizeEmail(user.email) === email);
}

/** Users of the server or of this project found by an e-mail address, except those with these ids. */
export function otherUsersLikeEmail(session: ProjectSession, email: string, ids: readonly string[]): Criteria {
  const here = or([
    { kind: 'missing', parameter: 'project', missing: true },
    refersTo('project', { type: 'Project', id: session.project }),
  ]);
  return and([likeEmail(email), here, not({ kind: 'id', ids })]);
}

/** The User of this project with an external id. */
export async function userByExternalId(session: ProjectSession, externalId: string): Promise<Stored<User> | undefined> {
  const criteria = and([hasExternalId(externalId), refersTo('project', { type: 'Project', id: session.project })]);
  const { matches } = await session.guard.search({ type: 'User', criteria, limit: 1 }, session.options);
  return matches[0]?.resource as Stored<User> | undefined;
}

/** True if the User lives on the server (`project` undefined) or in the project. */
export function livesIn(user: User, project: string | undefined): boolean {
  return user.project?.reference === (project === undefined ? undefined : referenceTo('Project', project));
}

/** The memberships of some Users in the project, by id. */
export async function membershipsOf(
  session: ProjectSession,
  users: readonly string[],
): Promise<readonly Stored<ProjectMembership>[]> {
  return findMemberships(session, or(users.map((id) => refersTo('user', { type: 'User', id }))));
}

export async function membershipByExternalId(
  session: ProjectSession,
  externalId: string,
): Promise<Stored<ProjectMembership> | undefined> {
  const [found] = await findMemberships(session, hasExternalId(externalId));
  return found;
}

/** The memberships that have one of these profiles. */
export function membershipsWithProfiles(
  session: ProjectSession,
  profiles: readonly string[],
): Promise<readonly Stored<ProjectMembership>[]> {
  return findMemberships(session, or(profiles.map((profile) => refersTo('profile', splitReference(profile)))));
}

/** Profiles of a type with the e-mail address; for RelatedPersons also with the patient, if the request names one. */
function profileCriteria(request: InviteRequest): Criteria | undefined {
  if (request.email === undefined) return undefined;
  const email: Criteria = { kind: 'match', parameter: 'email', test: { kind: 'token', code: request.email } };
  if (request.patient === undefined) return email;
  return and([email, refersTo('patient', { type: 'Patient', id: splitReference(request.patient).id })]);
}

/**
 * Profiles with the e-mail address of an invite that the inviter can see: `Type/id`, the first few. An address
 * is not an identity: anybody who may write profiles may write any address into one.
 */
export async function profilesWithEmail(session: ProjectSession, request: InviteRequest): Promise<readonly string[]> {
  const criteria = profileCriteria(request);
  if (criteria === undefined || session.view === undefined) return [];
  const { matches } = await session.view.search(
    { type: request.resourceType, criteria, limit: MAX_NAMED_PROFILES },
    session.options,
  );
  return matches.map(({ resource }) => referenceOf(resource));
}

/**
 * The query of {@link profilesWithEmail}, so that a commit can check that it still finds nothing; undefined if there is
 * nothing to search.
 */
export function emailProfilesQuery(
  model: FhirModel,
  { caller, project }: ProjectSession,
  request: InviteRequest,
): GuardedQuery | undefined {
  const criteria = profileCriteria(request);
  const type = request.resourceType;
  if (criteria === undefined || (caller.kind === 'member' && caller.project !== project)) return undefined;
  const rules = decide(caller, type, 'search');
  if (rules === null) return undefined;
  return restrictQuery(model, caller, { type, criteria }, rules, (other) => decide(caller, other, 'search'));
}

/** Maximum number of profiles named in an error. */
const MAX_NAMED_PROFILES = 20;

/** The profiles, as `Type/id`, that removed memberships of a User in the project had. */
export function formerProfilesOf(session: ProjectSession, user: string): Promise<readonly string[]> {
  return formerProfiles(session.store, session.project, user, session.options);
}

/** The profiles that exist in the project; others are left out. */
export async function readProfiles(
  session: ProjectSession,
  profiles: readonly string[],
): Promise<readonly Stored<PersonProfile>[]> {
  if (profiles.length === 0) return [];
  const found = await session.guard.read(profiles.map(splitReference), session.options);
  return found.flatMap((one) => (one.status === 'found' ? [one.resource as Stored<PersonProfile>] : []));
}

function likeEmail(email: string): Criteria {
  return { kind: 'match', parameter: 'email', test: { kind: 'string', comparator: 'equals', text: fold(email) } };
}

async function findMemberships(
  session: ProjectSession,
  criteria: Criteria,
): Promise<readonly Stored<ProjectMembership>[]> {
  const { matches } = await session.guard.search({ type: 'ProjectMembership', criteria }, session.options);
  return matches.map(({ resource }) => resource as Stored<ProjectMembership>);
}

function hasExternalId(text: string): Criteria {
  return { kind: 'match', parameter: 'external-id', test: { kind: 'string', comparator: 'exact', text } };
}
