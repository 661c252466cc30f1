import type { ProjectMembership, User } from '@medplum/fhirtypes';
import { referenceTo } from '../../fhir/reference.js';
import type { Stored } from '../../fhir/stored.js';
import type { InviteRequest } from '../body/invite-body.js';
import {
  livesIn,
  membershipByExternalId,
  membershipsOf,
  readUser,
  userByExternalId,
  usersLikeEmail,
  withEmail,
} from '../people/find-people.js';
import type { ProjectSession } from '../session/project-session.js';
import { randomId } from '../../platform/node-crypto.js';

/** The stored resources of an invited person. */
export interface Invited {
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
 * A User outside the project takes as many store calls as one who does not exist.
 *
 * @param hint the resource that the last attempt conflicted with, `Type/id`
 */
export async function findInvited(session: ProjectSession, request: InviteRequest, hint?: string): Promise<Invited> {
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

export function belongsTo({ user }: ProjectMembership, person: User | undefined): boolean {
  return person !== undefined && user.reference === referenceTo('User', person.id!);
}

async function findUsers(
  session: ProjectSession,
  { email, externalId, scope }: InviteRequest,
  hint: string | undefined,
): Promise<Omit<Invited, 'memberships' | 'otherScopeMemberships'>> {
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
