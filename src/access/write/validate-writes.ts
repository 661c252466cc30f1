import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { assertValidResource } from '../../fhir/assert-valid.js';
import { FhirError } from '../../fhir/error.js';
import type { OutcomeIssue } from '../../fhir/operation-outcome.js';
import { elementsOf } from '../../fhir/resource.js';
import { SERVER_SCOPE, type CallOptions, type PutWrite, type ResourceStore } from '../../store/store.js';
import type { Caller } from '../caller.js';
import type { GuardedWrite } from '../contract.js';
import { isAboveProjects } from '../fields/administrative-types.js';
import { withIndex } from '../write-error.js';

/** Decides which types are checked against the R4 definitions. */
export type Strictness = (type: string) => boolean;

/**
 * The strictness of the caller's project. Resources above projects are always validated.
 *
 * The project is read only for writes.
 */
export async function strictnessFor(
  store: ResourceStore,
  caller: Caller,
  writes: readonly GuardedWrite[],
  options: CallOptions | undefined,
): Promise<Strictness> {
  if (caller.project === SERVER_SCOPE || !writes.some(({ kind }) => kind === 'put')) return isAboveProjects;
  const [project] = await store.read([{ project: SERVER_SCOPE, type: 'Project', id: caller.project }], options);
  const strictMode = project?.status === 'found' && elementsOf(project.resource)['strictMode'] === true;
  return (type) => strictMode || isAboveProjects(type);
}

/** No validation against the definitions: only unstorable resources are rejected. */
export const LENIENT: Strictness = () => false;

/**
 * Rejects a resource that cannot be stored and, in strict mode, one that violates the R4 definitions.
 *
 * @param index position of the write, for the error
 * @param maxBytes maximum size, in bytes of the JSON text
 * @param kept top-level elements kept from the stored version, which are not validated
 * @throws FhirError `too-costly` - it is larger than `maxBytes`
 * @throws FhirError `invalid`, `unprocessable` - `details.index` is the write's position, `issues` has every finding
 */
export function validateWrite(
  model: FhirModel,
  { key, resource }: { readonly key: { readonly type: string } } & Pick<PutWrite, 'resource'>,
  index: number,
  strictness: Strictness,
  maxBytes: number | undefined,
  kept: ReadonlySet<string> = NONE_KEPT,
): void {
  const except = kept.size === 0 ? undefined : (issue: OutcomeIssue) => concerns(model, issue, key.type, kept);
  try {
    assertValidResource(model, resource, { strict: strictness(key.type), except, maxBytes });
  } catch (error) {
    throw error instanceof FhirError ? withIndex(error, index) : error;
  }
}

const NONE_KEPT: ReadonlySet<string> = new Set();

/** True for a finding inside one of the elements, or about a reference to what they may contain. */
function concerns(
  model: FhirModel,
  { code, expression }: OutcomeIssue,
  type: string,
  names: ReadonlySet<string>,
): boolean {
  if (code === 'not-found' && names.has('contained')) return true;
  // Findings about a storable resource have an expression, such as `Patient.name[0]`.
  const [, head] = expression![0]!.split(/[.[]/);
  if (head === undefined) return false;
  const { elements } = model.typeDefinition(type)!;
  return [...names].some((name) => name === head || elements.get(name)?.choiceOf === head);
}
