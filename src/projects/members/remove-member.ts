import type { ResourceRef } from '../../access/sign-in/find-membership.js';
import { keepAnAdministrator } from '../session/administrators.js';
import { commitPlanned, type PlannedWrites } from '../session/commit-planned.js';
import { type ProjectContext, projectOperation } from '../session/project-context.js';
import { openProjectOfMember, type ProjectSession, readMembership } from '../session/project-session.js';

/**
 * Removes a member from its project. The profile and the User stay; a new invitation of the person finds both.
 *
 * @param membership its id, `ProjectMembership/id` or a Reference
 * @throws FhirError `forbidden` - the caller is not an administrator, or would remove itself
 * @throws FhirError `not-found` - no such membership in the caller's project
 * @throws FhirError `conflict` - it is the last administrator of the project
 *
 * @example
 * await removeMember(membership, { store, caller });
 */
export function removeMember(membership: ResourceRef, context: ProjectContext): Promise<void> {
  return projectOperation(context, 'remove-member', async (facts, bounded) => {
    const { session, id } = await openProjectOfMember(membership, bounded, 'delete');
    facts.targets = [{ type: 'ProjectMembership', id }];
    await commitPlanned(session.guard, () => planRemoval(session, id), session.options);
  });
}

async function planRemoval(session: ProjectSession, id: string): Promise<PlannedWrites> {
  const { membership, versionId } = await readMembership(session, id);
  const guards = await keepAnAdministrator(session, membership, undefined);
  const key = { type: 'ProjectMembership', id };
  return { writes: [...guards, { kind: 'delete', key, expect: { version: versionId } }] };
}
