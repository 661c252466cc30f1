import { assertValidResource } from '../fhir/assert-valid.js';
import { FhirError } from '../fhir/error.js';
import { elementsOf } from '../fhir/resource.js';
import { ABOVE_PROJECTS, type CallOptions, type ResourceStore } from '../store/store.js';
import type { Caller } from './caller.js';
import type { GuardedWrite } from './guarded-store.js';
import { isAboveProjects } from './policy/administrative-types.js';
import { withIndex } from './write-error.js';

/**
 * Refuses resources that could not be stored and, in projects with `strictMode`, those that break the R4 definitions.
 * What lives above projects is always held to the definitions.
 *
 * @throws FhirError `invalid`, `unprocessable` - `details.index` is the write's position, `issues` has every finding
 */
export async function validateWrites(
  store: ResourceStore,
  caller: Caller,
  writes: readonly GuardedWrite[],
  options: CallOptions | undefined,
): Promise<void> {
  if (!writes.some(({ kind }) => kind === 'put')) return;
  const [project] = await store.read([{ project: ABOVE_PROJECTS, type: 'Project', id: caller.project }], options);
  const strictMode = project?.status === 'found' && elementsOf(project.resource)['strictMode'] === true;
  for (const [index, write] of writes.entries()) {
    if (write.kind !== 'put') continue;
    try {
      assertValidResource(write.resource, { strict: strictMode || isAboveProjects(write.key.type) });
    } catch (error) {
      throw error instanceof FhirError ? withIndex(error, index) : error;
    }
  }
}
