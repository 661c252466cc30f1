import { assertValidResource } from '../fhir/assert-valid.js';
import { FhirError } from '../fhir/error.js';
import { elementsOf } from '../fhir/resource.js';
import { ABOVE_PROJECTS, type CallOptions, type PutWrite, type ResourceStore } from '../store/store.js';
import type { Caller } from './caller.js';
import type { GuardedWrite } from './guarded-store.js';
import { isAboveProjects } from './policy/administrative-types.js';
import { withSampleOwners } from './policy/assert-policy-write.js';
import { withIndex } from './write-error.js';

/** Tells of which types resources are held to the R4 definitions. */
export type Strictness = (type: string) => boolean;

/**
 * How strict the caller's project is. What lives above projects is always held to the definitions.
 *
 * The project is read only where something is written.
 */
export async function strictnessFor(
  store: ResourceStore,
  caller: Caller,
  writes: readonly GuardedWrite[],
  options: CallOptions | undefined,
): Promise<Strictness> {
  if (caller.project === ABOVE_PROJECTS || !writes.some(({ kind }) => kind === 'put')) return isAboveProjects;
  const [project] = await store.read([{ project: ABOVE_PROJECTS, type: 'Project', id: caller.project }], options);
  const strictMode = project?.status === 'found' && elementsOf(project.resource)['strictMode'] === true;
  return (type) => strictMode || isAboveProjects(type);
}

/** Holds nothing against the definitions: only what could not be stored is refused. */
export const LENIENT: Strictness = () => false;

/**
 * Refuses a resource that could not be stored and, where that is asked for, one that breaks the R4 definitions.
 *
 * @param index position of the write, for the error
 * @throws FhirError `invalid`, `unprocessable` - `details.index` is the write's position, `issues` has every finding
 */
export function validateWrite(
  { key, resource }: { readonly key: { readonly type: string } } & Pick<PutWrite, 'resource'>,
  index: number,
  strictness: Strictness,
): void {
  try {
    const checked = resource.resourceType === 'AccessPolicy' ? withSampleOwners(resource) : resource;
    assertValidResource(checked, { strict: strictness(key.type) });
  } catch (error) {
    throw error instanceof FhirError ? withIndex(error, index) : error;
  }
}
