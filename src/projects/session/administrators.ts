import type { ProjectMembership, User } from '@medplum/fhirtypes';
import type { MemberCaller } from '../../access/caller.js';
import type { GuardedWrite } from '../../access/contract.js';
import { accessEnd } from '../../access/sign-in/member.js';
import { ENDING_CODES } from '../../access/sign-in/session.js';
import { callerOfMember } from '../../access/sign-in/sign-in.js';
import { normalizeEmail } from '../../access/write/stamp.js';
import { FhirError } from '../../fhir/error.js';
import { sameJson } from '../../fhir/json/copy-json.js';
import { referenceTo, splitReference } from '../../fhir/reference.js';
import { elementsOf } from '../../fhir/resource.js';
import { and, type Criteria, not } from '../../search/criteria/criteria.js';
import { assertNotAborted } from '../../store/guards.js';
import type { ResourceStore } from '../../store/store.js';
import { type ProjectSession, readProject } from './project-session.js';

/**
 * Creates the writes and checks that keep an administrator in the project when a membership is changed or removed.
 *
 * Two administrators who demote each other concurrently would each still find the other. Therefore every loss of an
 * administrator also writes the unchanged Project with a version check: of two concurrent losses one fails and is
 * planned again. Gains need no check.
 *
 * @param after undefined when the membership is removed
 * @throws FhirError `forbidden` - members cannot change their own rights
 * @throws FhirError `conflict` - the project would be left without an administrator who can sign in
 */
export async function keepAnAdministrator(
  session: ProjectSession,
  before: ProjectMembership,
  after: ProjectMembership | undefined,
): Promise<readonly GuardedWrite[]> {
  await assertNotOwnRights(session, before, after);
  if (!isAdministrator(before) || (after !== undefined && isAdministrator(after))) return [];
  const { project, versionId } = await readProject(session);
  if (!(await hasOtherAdministrator(session, before.id!))) {
    throw new FhirError(
      'conflict',
      `ProjectMembership/${before.id!} is the last administrator of Project/${session.project}; make another member administrator first`,
    );
  }
  const key = { type: 'Project', id: session.project };
  return [{ kind: 'put', key, resource: project, keepSecrets: true, expect: { version: versionId } }];
}

/** An administrator with an end date does not count, because the project would lose its last one. */
function isAdministrator(membership: ProjectMembership): boolean {
  const { admin, active } = membership;
  return admin === true && active !== false && accessEnd(membership) === Infinity;
}

/** Only administrators who can sign in count: a lost profile, an inactive User or a broken policy prevents sign-in. */
async function hasOtherAdministrator(session: ProjectSession, except: string): Promise<boolean> {
  const criteria = and([
    flagIs('admin', 'true'),
    not(flagIs('active', 'false')),
    { kind: 'missing', parameter: 'access-expires', missing: true },
    not({ kind: 'id', ids: [except] }),
  ]);
  const { matches } = await session.guard.search({ type: 'ProjectMembership', criteria }, session.options);
  for (const { resource } of matches) if (await canSignIn(session, resource.id!)) return true;
  return false;
}

async function canSignIn({ store, options }: ProjectSession, membership: string): Promise<boolean> {
  assertNotAborted(options);
  try {
    // It writes nothing.
    await callerOfMember(store as ResourceStore, membership, options);
    return true;
  } catch (error) {
    if (error instanceof FhirError && ENDING_CODES.has(error.code)) return false;
    throw error;
  }
}

function flagIs(parameter: string, code: string): Criteria {
  return { kind: 'match', parameter, test: { kind: 'token', code } };
}

/** Elements of their own membership that administrators may change: they affect no rights. */
const HARMLESS: ReadonlySet<string> = new Set(['meta', 'userConfiguration', 'userName']);

/**
 * Members cannot change their own rights: the membership they signed in with, or another one of the same User in this
 * project. Restricted members also cannot change their User's memberships in other projects, or those of another User
 * with the same e-mail address.
 *
 * @param after undefined when the membership is removed
 * @throws FhirError `forbidden`
 */
async function assertNotOwnRights(
  session: ProjectSession,
  before: ProjectMembership,
  after: ProjectMembership | undefined,
): Promise<void> {
  if (!isOwn(session, before) && !(await isOfSamePerson(session, before))) return;
  if (after !== undefined) {
    const [was, is] = [elementsOf(before), elementsOf(after)];
    const names = new Set([...Object.keys(was), ...Object.keys(is)]);
    if ([...names].every((name) => HARMLESS.has(name) || sameJson(was[name], is[name]))) return;
  }
  throw new FhirError(
    'forbidden',
    'Administrators cannot remove, demote or deactivate themselves, or change their own access; ask another administrator',
  );
}

/**
 * Restricted members cannot give themselves another membership.
 *
 * @param people ids of the new member's Users
 * @throws FhirError `forbidden`
 */
export function assertNoWayAround({ caller, project }: ProjectSession, people: readonly string[]): void {
  if (caller.kind !== 'member' || caller.project !== project || !isRestricted(caller)) return;
  if (!people.some((id) => caller.user === referenceTo('User', id))) return;
  throw new FhirError(
    'forbidden',
    'A member who is bound by an access policy, or by the compartment of a patient, cannot give itself another membership',
  );
}

/** True if policies restrict the member, or its profile type grants a compartment only. */
function isRestricted({ bound, profile }: MemberCaller): boolean {
  return bound || ['Patient', 'RelatedPerson'].includes(splitReference(profile).type);
}

function isOwn({ caller, project }: ProjectSession, { id, user }: ProjectMembership): boolean {
  if (caller.kind !== 'member') return false;
  if (id === caller.membership) return true;
  if (caller.project === project) return user.reference === caller.user;
  // Clients and Bots have ids of their projects; Users are the same everywhere.
  return isRestricted(caller) && caller.user.startsWith('User/') && user.reference === caller.user;
}

/** An e-mail address belongs to at most two Users: one of the server, and one of the project. */
async function isOfSamePerson(
  { caller, guard, options }: ProjectSession,
  { user }: ProjectMembership,
): Promise<boolean> {
  if (caller.kind !== 'member' || !isRestricted(caller)) return false;
  const users = [caller.user, user.reference ?? ''].map(splitReference);
  if (users.some(({ type }) => type !== 'User')) return false;
  const [own, other] = (await guard.read(users, options)).map((found) =>
    found.status === 'found' ? (found.resource as User).email : undefined,
  );
  return own !== undefined && other !== undefined && normalizeEmail(own) === normalizeEmail(other);
}
