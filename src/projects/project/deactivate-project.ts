import type { Project } from '@medplum/fhirtypes';
import type { ResourceRef } from '../../access/sign-in/find-membership.js';
import type { Stored } from '../../fhir/resource.js';
import { assertMayChange, assertNotOfOperators, openOperator, requireProjectId } from '../session/operator.js';
import { type ProjectContext, projectOperation } from '../session/project-context.js';
import { targetOf } from '../session/project-session.js';
import { isBeingDeleted } from './read-project.js';
import { beingDeleted, writeProject } from './update-project.js';

/**
 * Closes a project: nobody can sign in to it any more (`project-missing`), and callers in use end at their next check.
 * Its data stays, and trusted code can still use it.
 *
 * For super administrators and `serverCaller()`; a super-admin project only for `serverCaller()`. A super administrator
 * whose membership names access policies needs a rule without conditions that grants `update` on Project.
 *
 * @returns the Project, a private copy without secrets. Deactivating it again changes nothing.
 * @throws FhirError `forbidden` - the caller may not deactivate the project
 * @throws FhirError `not-found` - there is no such project
 *
 * @example
 * await deactivateProject('clinic', { store, caller });
 */
export function deactivateProject(project: ResourceRef, context: ProjectContext): Promise<Stored<Project>> {
  return setActive(project, false, context);
}

/**
 * Opens a deactivated project again: members sign in as before.
 *
 * @returns the Project, a private copy without secrets
 * @throws FhirError `forbidden`, `not-found` - as {@link deactivateProject}
 * @throws FhirError `conflict` - its deletion has begun
 *
 * @example
 * await reactivateProject('clinic', { store, caller });
 */
export function reactivateProject(project: ResourceRef, context: ProjectContext): Promise<Stored<Project>> {
  return setActive(project, true, context);
}

function setActive(project: ResourceRef, active: boolean, context: ProjectContext): Promise<Stored<Project>> {
  const interaction = active ? 'reactivate-project' : 'deactivate-project';
  return projectOperation(context, interaction, async (facts, bounded) => {
    const what = active ? 'reactivate' : 'deactivate';
    const session = await openOperator(bounded, 'Project.update', `${what} projects`);
    const id = requireProjectId(project);
    facts.targets = [{ type: 'Project', id }];
    const written = await writeProject(session, id, (before) => {
      assertMayChange(session, before);
      assertNotOfOperators(session, before, what);
      if (active && isBeingDeleted(before)) throw beingDeleted(id);
      return (before.active ?? true) === active ? before : { ...before, active };
    });
    facts.targets = [targetOf(written)];
    return written;
  });
}
