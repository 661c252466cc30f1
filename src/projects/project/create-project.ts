import type { Project } from '@medplum/fhirtypes';
import { assertCaller, type Caller, serverCaller } from '../../access/caller.js';
import { guardStore } from '../../access/guarded-store.js';
import { leavesOffice } from '../../access/narrow/narrowed-caller.js';
import { writesWhile } from '../../access/sign-in/current-caller.js';
import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { Stored } from '../../fhir/resource.js';
import { validateResource } from '../../fhir/validate-resource.js';
import { randomId } from '../../platform/crypto.js';
import { assertBody, BodyReader, own } from '../body/body-reader.js';
import { type ProjectContext, projectOperation } from '../session/project-context.js';
import { copyWritten, targetOf } from '../session/project-session.js';
import { withoutType } from './update-project.js';

/** A Project to create. An `id` and `meta` in it are not used, because both are assigned; `superAdmin` cannot be requested. */
export type ProjectBody = { resourceType: 'Project'; name: string } & {
  [Name in keyof Omit<Project, 'resourceType' | 'name' | 'superAdmin'>]?: Project[Name] | undefined;
};

/**
 * Creates a project with an id of its own; an id in the body is not used. `strictMode` defaults to true: resources are then validated against the R4 definitions.
 *
 * For super administrators and trusted code. A super administrator whose membership names access policies needs a rule
 * without conditions that grants `create` on Project.
 *
 * @returns the Project with its id, a private copy
 * @throws FhirError `forbidden` - the caller may not create projects
 * @throws FhirError `invalid` - the body breaks the definition of Project; one issue per finding
 *
 * @example
 * const clinic = await createProject({ resourceType: 'Project', name: 'Clinic', strictMode: true }, { store, caller });
 */
export function createProject(body: ProjectBody, context: ProjectContext): Promise<Stored<Project>> {
  return projectOperation(context, 'create-project', async (facts, bounded) => {
    const { store, caller, call } = bounded;
    assertCaller(caller);
    if (!mayCreateProjects(caller)) {
      throw new FhirError('forbidden', 'Only super administrators and trusted code may create projects');
    }
    const project = parseProject(bounded.store.model, body);
    const key = { type: 'Project', id: project.id! };
    const writes = writesWhile(store, caller, mayCreateProjects);
    const guard = guardStore(store, serverCaller(key.id), { writes });
    const [result] = await guard.commit([{ kind: 'put', key, resource: project, expect: { version: null } }], call);
    const created = copyWritten<Project>(result, bounded);
    facts.targets = [targetOf(created)];
    return created;
  });
}

function mayCreateProjects(caller: Caller): boolean {
  if (caller.kind !== 'member') return caller.kind === 'server';
  return (
    caller.superAdmin && (caller.powers?.has('Project.create') ?? true) && leavesOffice(caller, 'Project', 'create')
  );
}

function parseProject(model: FhirModel, input: unknown): Project {
  const body = assertBody(input, 'createProject');
  const reader = new BodyReader(model);
  if (own(body, 'resourceType') !== 'Project') reader.fault('resourceType', 'resourceType must be Project');
  if (Object.hasOwn(body, 'superAdmin') && body['superAdmin'] !== undefined) {
    reader.fault(
      'superAdmin',
      'superAdmin cannot be set; a super-admin project is made when a store is set up',
      'forbidden',
    );
  }
  const name = reader.requiredText(body, 'name', '');
  const { id: _id, meta: _meta, superAdmin: _superAdmin, ...settings } = body;
  const given = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
  const project = { strictMode: true, ...given, resourceType: 'Project', id: randomId(), name } as Project;
  // Issues of the fields above need not be repeated.
  const said = reader.issues.length > 0 ? [] : validateResource(model, project, { strict: true });
  reader.issues.push(...said.map(withoutType));
  reader.assertGood('The project cannot be made');
  return project;
}
