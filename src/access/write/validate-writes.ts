import { assertingValidResource } from '../../fhir/assert-valid.js';
import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { OutcomeIssue } from '../../fhir/operation-outcome.js';
import { elementsOf } from '../../fhir/resource.js';
import { loadFhirPath } from '../../fhirpath/library.js';
import type { ProfileChoice } from '../../profiles/validate-profiles.js';
import type { CallOptions } from '../../store/call-options.js';
import { SERVER_SCOPE } from '../../store/resource-key.js';
import type { ResourceStore } from '../../store/store.js';
import type { PutWrite } from '../../store/write.js';
import type { Caller } from '../caller.js';
import { type GuardedWrite, withIndex } from '../contract.js';
import { isAboveProjects } from '../fields/administrative-types.js';
import { noteProjects, readProjectSettings, warnIfMissing } from './project-settings.js';
import { assertingProfiles, NO_PROFILES, requiredProfiles, type RequiredProfiles } from './required-profiles.js';

/** The validation of the resources in a commit. */
export interface WriteValidation {
  /** Whether resources of a type are checked against the R4 definitions. */
  isStrict(type: string): boolean;
  readonly profiles: RequiredProfiles;
}

/** No validation against definitions: only unstorable resources are rejected. */
export const LENIENT: WriteValidation = { isStrict: () => false, profiles: NO_PROFILES };

const ABOVE_PROJECTS: WriteValidation = { isStrict: isAboveProjects, profiles: NO_PROFILES };

/**
 * The validation that the caller's project and the host require. Resources above projects are always validated.
 * FHIRPath is loaded where profiles need it.
 *
 * The project is read only for writes.
 *
 * @param asked profiles that the host requires, in addition to those of the project
 */
export async function validationFor(
  store: ResourceStore,
  caller: Caller,
  writes: readonly GuardedWrite[],
  asked: ProfileChoice | undefined,
  options: CallOptions | undefined,
): Promise<WriteValidation> {
  if (writes.some((write) => write.kind === 'put' && write.key.type === 'Project')) noteProjects(store);
  if (caller.project === SERVER_SCOPE || !writes.some(({ kind }) => kind === 'put')) return ABOVE_PROJECTS;
  const settings = await readProjectSettings(store, caller.project, options);
  if (caller.kind === 'system') warnIfMissing(store, caller.project, settings);
  const strictMode = settings['strictMode'] === true;
  const profiles = requiredProfiles(settings, asked);
  if (profiles.claimed || profiles.listed.length > 0) await loadFhirPath();
  return { isStrict: (type) => strictMode || isAboveProjects(type), profiles };
}

/**
 * Rejects, in steps, a resource that cannot be stored, that violates the R4 definitions in strict mode, or that does
 * not conform to the required profiles.
 *
 * @param index position of the write, for the error
 * @param maxBytes maximum size, in bytes of the JSON text
 * @param kept top-level elements kept from the stored version, which are not validated
 * @throws FhirError `too-costly` - it is larger than `maxBytes`
 * @throws FhirError `invalid`, `unprocessable` - `details.index` is the write's position, `issues` has every finding
 */
export function* validatingWrite(
  model: FhirModel,
  { key, resource }: { readonly key: { readonly type: string } } & Pick<PutWrite, 'resource'>,
  index: number,
  validation: WriteValidation,
  maxBytes: number | undefined,
  kept: ReadonlySet<string> = NONE_KEPT,
): Generator<void> {
  const except = kept.size === 0 ? undefined : (issue: OutcomeIssue) => concerns(model, issue, key.type, kept);
  try {
    yield* assertingValidResource(model, resource, { strict: validation.isStrict(key.type), except, maxBytes });
    const found = except && exceptHidden(except);
    yield* assertingProfiles(model, elementsOf(resource), validation.profiles, found);
  } catch (error) {
    throw error instanceof FhirError ? withIndex(error, index) : error;
  }
}

const NONE_KEPT: ReadonlySet<string> = new Set();

/** Invariants of the whole resource may be about hidden elements, which the writer does not send. Each finding has a place. */
function exceptHidden(except: (issue: OutcomeIssue) => boolean): (issue: OutcomeIssue) => boolean {
  return (issue) => except(issue) || (issue.code === 'invariant' && !/[.[]/.test(issue.expression![0]!));
}

/** True for a finding inside one of the elements, or about a reference to a resource inside them. */
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
