import { isDeepStrictEqual } from 'node:util';
import type { ProjectMembership } from '@medplum/fhirtypes';
import { FhirError } from '../../fhir/error.js';
import { elementsOf } from '../../fhir/resource.js';
import type { ProjectSession } from './project-session.js';

/** What administrators may change of their own membership: it gives and takes nothing. */
const HARMLESS: ReadonlySet<string> = new Set(['meta', 'userConfiguration', 'userName']);

/**
 * Nobody changes what binds itself: the membership that it signed in with, or another one of the same User in this project.
 *
 * @param after undefined when the membership is removed
 * @throws FhirError `forbidden`
 */
export function assertNotOwnRights(
  session: ProjectSession,
  before: ProjectMembership,
  after: ProjectMembership | undefined,
): void {
  if (!isOwn(session, before)) return;
  if (after !== undefined) {
    const [was, is] = [elementsOf(before), elementsOf(after)];
    const names = new Set([...Object.keys(was), ...Object.keys(is)]);
    if ([...names].every((name) => HARMLESS.has(name) || isDeepStrictEqual(was[name], is[name]))) return;
  }
  throw new FhirError(
    'forbidden',
    'Administrators cannot remove, demote or deactivate themselves, nor change their own access; ask another one',
  );
}

/**
 * A member who is bound by access policies gives itself no membership beside the one that binds it.
 *
 * @param user the User who is to become a member, `User/1`
 * @throws FhirError `forbidden`
 */
export function assertNoWayAround({ caller, project }: ProjectSession, user: string): void {
  if (caller.kind !== 'member' || caller.project !== project || caller.user !== user || !caller.bound) return;
  throw new FhirError('forbidden', 'A member who is bound by an access policy cannot give itself another membership');
}

function isOwn({ caller, project }: ProjectSession, { id, user }: ProjectMembership): boolean {
  if (caller.kind !== 'member') return false;
  return id === caller.membership || (caller.project === project && user.reference === caller.user);
}
