import { FhirError } from '../../fhir/error.js';
import { elementsOf, type AnyResource, type JsonObject } from '../../fhir/resource.js';
import { SERVER_SCOPE } from '../../store/resource-key.js';
import type { ResourceStore } from '../../store/store.js';

/** The elements of a Project whose members may sign in. @throws FhirError `project-missing` */
export async function readActiveProject(store: ResourceStore, id: string): Promise<JsonObject> {
  const [found] = await store.read([{ project: SERVER_SCOPE, type: 'Project', id }]);
  if (found?.status !== 'found') throw new FhirError('project-missing', `Project/${id} does not exist`);
  if (isInactive(found.resource)) throw new FhirError('project-missing', `Project/${id} is not active`);
  return elementsOf(found.resource);
}

/** True for an inactive Project or membership. Any value of `active` other than `true` means inactive. */
export function isInactive(resource: AnyResource): boolean {
  const { active } = elementsOf(resource);
  return active !== undefined && active !== true;
}
