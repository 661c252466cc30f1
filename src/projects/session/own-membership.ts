import type { ProjectMembership, User } from '@medplum/fhirtypes';
import type { MemberCaller } from '../../access/caller.js';
import { normalizeEmail } from '../../access/write/stamp.js';
import { FhirError } from '../../fhir/error.js';
import { sameJson } from '../../fhir/json/same-json.js';
import { referenceTo, splitReference } from '../../fhir/reference.js';
import { elementsOf } from '../../fhir/resource.js';
import { type ProjectSession } from './project-session.js';

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
export async function assertNotOwnRights(
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
