import type { Project } from '@medplum/fhirtypes';
import type { ResourceRef } from '../../access/sign-in/find-membership.js';
import { FhirError, type OutcomeIssue } from '../../fhir/error.js';
import { sameJson } from '../../fhir/json/copy-json.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { type AnyResource, elementsOf, type JsonObject, type Stored } from '../../fhir/resource.js';
import { validateResource } from '../../fhir/validate-resource.js';
import { assertBody, BodyReader, own } from '../body/body-reader.js';
import { commitPlanned } from '../session/commit-planned.js';
import {
  assertMayChange,
  openOperator,
  type OperatorSession,
  readStoredProject,
  requireProjectId,
} from '../session/operator.js';
import { type ProjectContext, projectOperation } from '../session/project-context.js';
import { copyStored, copyWritten, targetOf } from '../session/project-session.js';
import { isBeingDeleted } from './read-project.js';

/** Changes to a Project by element: an absent element stays, null removes it. */
export type ProjectChanges = {
  [Name in keyof Omit<Project, 'resourceType' | 'id' | 'meta' | 'name' | 'superAdmin' | 'active'>]?:
    Project[Name] | null | undefined;
} & { name?: string | undefined };

/**
 * Changes the name and the settings of a project, including the operator's settings and secrets. A call that changes
 * nothing creates no version.
 *
 * For super administrators and `serverCaller()`. A super administrator whose membership names access policies needs a rule
 * without conditions that grants `update` on Project, and cannot change super-admin projects.
 *
 * @returns the Project, a private copy without secrets
 * @throws FhirError `forbidden` - the caller may not change the project
 * @throws FhirError `not-found` - there is no such project
 * @throws FhirError `conflict` - its deletion has begun
 * @throws FhirError `invalid` - the result breaks the definition of Project; one issue per finding
 *
 * @example
 * await updateProject('clinic', { name: 'North Clinic', description: null }, { store, caller });
 */
export function updateProject(
  project: ResourceRef,
  changes: ProjectChanges,
  context: ProjectContext,
): Promise<Stored<Project>> {
  return projectOperation(context, 'update-project', async (facts, bounded) => {
    const session = await openOperator(bounded, 'Project.update', 'change projects');
    const id = requireProjectId(project);
    facts.targets = [{ type: 'Project', id }];
    const wanted = parseChanges(bounded.store.model, changes);
    const written = await writeProject(session, id, (before) => {
      assertMayChange(session, before);
      if (isBeingDeleted(before)) throw beingDeleted(id);
      const after = withChanges(before, wanted);
      assertValid(bounded.store.model, after);
      return after;
    });
    facts.targets = [targetOf(written)];
    return written;
  });
}

/** Writes the next version of a Project, planned on the current one, if it differs. */
export async function writeProject(
  session: OperatorSession,
  id: string,
  change: (before: Project) => Project,
): Promise<Stored<Project>> {
  const { plan, results } = await commitPlanned(
    session.guardOf(id),
    async () => {
      const { project, versionId } = await readStoredProject(session, id);
      const after = change(project);
      const key = { type: 'Project', id };
      const put = { kind: 'put' as const, key, resource: after as AnyResource, expect: { version: versionId } };
      return { writes: sameJson(elementsOf(project), elementsOf(after)) ? [] : [put] };
    },
    session.options,
  );
  if (plan.writes.length > 0) return copyWritten<Project>(results[0], session);
  const [current] = await session.guardOf(id).read([{ type: 'Project', id }], session.options);
  if (current?.status !== 'found') throw new FhirError('unavailable', 'The project keeps changing; try again');
  return copyStored<Project>(current.resource, session);
}

export function beingDeleted(id: string): FhirError {
  return new FhirError(
    'conflict',
    `The deletion of Project/${id} has begun; it can only be finished, by DELETE /admin/projects/[project]`,
  );
}

/** Elements with a function of their own, and those of the library. */
const REFUSED: { readonly [name: string]: string } = {
  resourceType: 'cannot be changed',
  id: 'cannot be changed',
  meta: 'is set by the store',
  superAdmin: 'cannot be changed; a super-admin project is made when a store is set up',
  active: 'is changed by POST /admin/projects/[project]/deactivate and …/reactivate',
};

function parseChanges(model: FhirModel, input: unknown): JsonObject {
  const body = assertBody(input, 'updateProject');
  const reader = new BodyReader(model);
  for (const [name, why] of Object.entries(REFUSED)) {
    if (own(body, name) !== undefined) reader.fault(name, `${name} ${why}`, 'forbidden');
  }
  if (body['name'] === null) reader.fault('name', 'name is required', 'required');
  else if (own(body, 'name') !== undefined) reader.requiredText(body, 'name', '');
  reader.assertGood('The project cannot be changed');
  return body;
}

function withChanges(before: Project, changes: JsonObject): Project {
  const after: { [name: string]: unknown } = { ...elementsOf(before) };
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) delete after[name];
    else if (value !== undefined) after[name] = name === 'name' ? (value as string).trim() : value;
  }
  return after as unknown as Project;
}

function assertValid(model: FhirModel, project: Project): void {
  const issues = validateResource(model, project, { strict: true }).map(withoutType);
  const reader = new BodyReader(model);
  reader.issues.push(...issues);
  reader.assertGood('The project cannot be changed');
}

/** Fields of a body are named without the type of the resource. */
export function withoutType(issue: OutcomeIssue): OutcomeIssue {
  return { ...issue, expression: issue.expression?.map((one) => one.replace(/^Project\./, '')) ?? [] };
}
