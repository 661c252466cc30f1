import { FhirError } from '../../fhir/error.js';
import { notFound } from '../../fhir/not-found.js';
import { referenceTo, trimBaseUrl } from '../../fhir/reference.js';
import { isResourceId } from '../../fhir/resource.js';
import type { ResourceKey } from '../../store/resource-key.js';
import { projectOperation } from '../session/project-operation.js';
import { assertNoProfiles, eraseKeys } from './erase-keys.js';
import {
  assertReason,
  type ErasureContext,
  type ErasureSession,
  openErasure,
  scopeOf,
  scrubUnless,
} from './erasure-session.js';
import { type KeptResource, PatientPlan, type PatientScope } from './patient-plan.js';

/** The context of erasing a patient. */
export interface PatientErasureContext extends ErasureContext {
  /** Only list what would be erased and kept. Default false. */
  readonly dryRun?: boolean | undefined;
  /**
   * Resources that are in other patients' compartments too, such as a Group or an Appointment of several: `keep`, the
   * default, leaves them whole and lists them, so that a person decides; `erase` erases them for all.
   */
  readonly shared?: 'keep' | 'erase' | undefined;
  /** Types that are never erased. Default `['AuditEvent']`: who saw the record stays known. */
  readonly keepTypes?: readonly string[] | undefined;
  /** The service's own base URL: absolute references below it are local. Default: none are. */
  readonly baseUrl?: string | undefined;
}

/** What was erased of a patient, or would be. */
export interface PatientErasure {
  /** `Patient/1`. */
  readonly patient: string;
  /** What was erased, as `Type/id`; the Patient last. */
  readonly erased: readonly string[];
  /** What is left and mentions the patient, with the reason. */
  readonly kept: readonly KeptResource[];
  /** The number of versions removed; 0 in a dry run. */
  readonly versions: number;
}

/**
 * Erases a patient for good: the Patient, all resources of the compartment (https://hl7.org/fhir/R4/compartmentdefinition-patient.html),
 * deleted ones and all versions included, Bundles that hold resources of this patient alone, and Binaries that what is
 * erased links. Each leaves a tombstone as `eraseResource` does.
 *
 * What belongs to other patients too is kept and listed, and so is what an earlier version tied to this patient; look at it
 * with a dry run. Deleted resources are found by reading the earlier versions of the types concerned once, and Bundles by
 * reading all of them.
 *
 * It works in commits of 50 resources, the Patient last: after an interruption it is called again.
 *
 * For trusted code (`systemCaller(project)`, `serverCaller(project)`) and super administrators without access policies.
 *
 * @param context `scrub` is true by default
 * @throws FhirError `forbidden`, `invalid`, `unsupported`, `unavailable` - as `eraseResource`
 * @throws FhirError `not-found` - there never was such a Patient
 * @throws FhirError `conflict` - the Patient, or a RelatedPerson of the compartment, is the profile of a member; nothing is
 * erased then
 *
 * @example
 * const { erased, kept } = await erasePatient(id, { store, caller, project, reason: 'patient-request', dryRun: true });
 */
export function erasePatient(id: string, context: PatientErasureContext): Promise<PatientErasure> {
  return projectOperation(context, 'erase-patient', async (facts, bounded) => {
    const session = await openErasure(bounded, 'erase patients');
    const { reason, dryRun = false, scrub = true } = bounded;
    assertReason(reason);
    if (!isResourceId(id)) throw new FhirError('invalid', 'The id must be 1 to 64 letters, digits, "-" or "."');
    facts.targets = [{ type: 'Patient', id }];
    facts.reason = reason;
    const patient = { project: scopeOf(session, bounded.caller, 'Patient'), type: 'Patient', id };
    const scope = scopeFrom(id, bounded);
    await assertWritten(session, patient);
    const plan = new PatientPlan(session, scope);
    await plan.addCurrent();
    await plan.addPast();
    await plan.addBinaries();
    await assertNoProfiles(session, [patient, ...plan.erased.values()]);
    facts.results = plan.erased.size + 1;
    if (dryRun) return resultOf(patient, plan, 0);
    let versions = await eraseAll(session, [...plan.erased.values()], reason);
    versions += await eraseLate(session, scope, plan, reason);
    versions += await eraseAll(session, [patient], reason);
    facts.results = plan.erased.size + 1;
    await scrubUnless(session, scrub);
    return resultOf(patient, plan, versions);
  });
}

/** Erases what was written while the others were erased. */
async function eraseLate(
  session: ErasureSession,
  scope: PatientScope,
  plan: PatientPlan,
  reason: ErasureContext['reason'],
): Promise<number> {
  let versions = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const late = new PatientPlan(session, scope);
    await late.addCurrent();
    if (late.erased.size === 0) break;
    await late.addBinaries();
    versions += await eraseAll(session, [...late.erased.values()], reason);
    for (const [name, key] of late.erased) plan.erased.set(name, key);
  }
  return versions;
}

async function eraseAll(
  session: ErasureSession,
  keys: readonly ResourceKey[],
  reason: ErasureContext['reason'],
): Promise<number> {
  let versions = 0;
  for (let start = 0; start < keys.length; start += AT_ONCE) {
    const erased = await eraseKeys(session, keys.slice(start, start + AT_ONCE), reason);
    versions += erased.reduce((sum, one) => sum + one.versions, 0);
  }
  return versions;
}

async function assertWritten({ store, options }: ErasureSession, key: ResourceKey): Promise<void> {
  const [found] = await store.read([key], options);
  if (found?.status === 'missing') throw notFound(key);
}

function scopeFrom(
  id: string,
  { shared = 'keep', keepTypes = ['AuditEvent'], baseUrl }: PatientErasureContext,
): PatientScope {
  if (shared !== 'keep' && shared !== 'erase') throw new FhirError('invalid', 'shared must be keep or erase');
  return {
    id,
    shared,
    keepTypes: new Set(keepTypes),
    baseUrl: baseUrl === undefined ? undefined : trimBaseUrl(baseUrl),
  };
}

function resultOf(patient: ResourceKey, { erased, kept }: PatientPlan, versions: number): PatientErasure {
  const name = referenceTo('Patient', patient.id);
  return {
    patient: name,
    erased: [...erased.keys(), name],
    kept: [...kept].map(([resource, because]): KeptResource => ({ resource, because })),
    versions,
  };
}

const AT_ONCE = 50;
const ROUNDS = 3;
