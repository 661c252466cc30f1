import type { ProjectMembership } from '@medplum/fhirtypes';
import { notFound } from '../../fhir/not-found.js';
import { nameToId } from '../../fhir/reference.js';
import type { Stored } from '../../fhir/stored.js';
import { type ProjectContext, projectOperation } from '../session/project-context.js';
import { copyStored, openProject, readMembership } from '../session/project-session.js';

/**
 * A member of a project, for those who may administer it.
 *
 * @throws FhirError `forbidden` - the caller may not administer the members of this project
 * @throws FhirError `not-found` - the project has no such membership
 */
export function readMember(
  project: string,
  membership: string,
  context: ProjectContext,
): Promise<Stored<ProjectMembership>> {
  return projectOperation(context, 'read', async (facts, bounded) => {
    const session = await openProject(project, bounded, 'read');
    const id = nameToId(membership, 'ProjectMembership');
    facts.targets = [{ type: 'ProjectMembership', id }];
    if (id === undefined) throw notFound({ type: 'ProjectMembership', id: 'given' });
    return copyStored<ProjectMembership>((await readMembership(session, id)).membership, session);
  });
}
