import type { Project } from '@medplum/fhirtypes';
import type { Caller } from '../../access/caller.js';
import { OWN_EXTENSIONS } from '../../fhir/own-extensions.js';
import { notFound } from '../../fhir/reference.js';
import type { Stored } from '../../fhir/resource.js';
import { mayOperate, openOperator, requireProjectId } from '../session/operator.js';
import { type ProjectContext, projectOperation } from '../session/project-context.js';
import { copyStored, openProject, readProject as readOwnProject } from '../session/project-session.js';

/**
 * A project of the store, without its secrets, for those who may read or list projects, and for its administrators.
 *
 * @throws FhirError `forbidden` - the caller may neither read nor list projects, and is not its administrator
 * @throws FhirError `not-found` - there is no such project
 */
export function readProject(project: string, context: ProjectContext): Promise<Stored<Project>> {
  return projectOperation(context, 'read', async (facts, bounded) => {
    if (!mayReadProjects(bounded.caller)) {
      const own = await openProject(project, bounded, 'read');
      facts.targets = [{ type: 'Project', id: own.project }];
      return copyStored<Project>((await readOwnProject(own)).project, own);
    }
    const right = mayOperate(bounded.caller, 'Project.read') ? 'Project.read' : 'Project.search';
    const session = await openOperator(bounded, right, 'read projects');
    const id = requireProjectId(project);
    facts.targets = [{ type: 'Project', id }];
    const [found] = await session.guardOf(id).read([{ type: 'Project', id }], session.options);
    if (found?.status !== 'found') throw notFound({ type: 'Project', id });
    return copyStored<Project>(found.resource, session);
  });
}

/** Whether {@link readProject} answers the caller. */
export function mayReadProjects(caller: Caller): boolean {
  return mayOperate(caller, 'Project.read') || mayOperate(caller, 'Project.search');
}

const URL = OWN_EXTENSIONS.projectDeletion;

/** True for a Project whose deletion has begun: it can only be finished. */
export function isBeingDeleted(project: Project): boolean {
  return project.extension?.some(({ url }) => url === URL) === true;
}

/** The Project, deactivated and marked. */
export function markedForDeletion(project: Project): Project {
  return { ...project, active: false, extension: [...(project.extension ?? []), { url: URL, valueBoolean: true }] };
}
