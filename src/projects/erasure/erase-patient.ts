import { FhirError } from '../../fhir/error.js';
import { notFound, referenceTo } from '../../fhir/reference.js';
import { isResourceId } from '../../fhir/resource.js';
import type { ResourceKey } from '../../store/resource-key.js';
import { projectOperation } from '../session/project-context.js';
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
   * Resources that are in other patients' compartments too, such as a Group, or an Appointment of several patients.
   * `keep`, the default, leaves them unchanged and lists them, so that a person decides; `erase` erases them for all
   * patients.
   */
  readonly shared?: 'keep' | 'erase' | undefined;
  /** Types that are never erased. Default `['AuditEvent']`, so that the trail still shows who saw the record. */
  readonly keepTypes?: readonly string[] | undefined;
}

/** The resources of a patient that were erased, or would be. */
export interface PatientErasure {
  /** `Patient/1`. */
  readonly patient: string;
  /** The erased resources, as `Type/id`; the Patient last. */
  readonly erased: readonly string[];
  /** The remaining resources that refer to the patient, each with the reason. */
  readonly kept: readonly KeptResource[];
  /** The number of versions removed; 0 in a dry run. */
  readonly versions: number;
}

/**
 * Erases a patient for good: the Patient, all resources of the compartment
 * (https://hl7.org/fhir/R4/compartmentdefinition-patient.html), with deleted resources and all versions; Bundles that
 * contain resources of this patient alone; and Binaries that erased resources link to. Each leaves a tombstone as with
 * `eraseResource`.
 *
 * Resources that also belong to other patients are kept and listed, and so are resources that only an earlier version
 * tied to this patient; check them with a dry run. To find deleted resources and Bundles, it reads the earlier versions
 * of the compartment's types once, and all Bundles.
 *
 * It works in commits of 50 resources, the Patient last. After an interruption, call it again.
 *
 * For trusted code (`systemCaller(project)`, `serverCaller(project)`) and super administrators without access policies.
 *
 * @param context `scrub` is true by default
 * @throws FhirError `forbidden`, `invalid`, `unsupported`, `unavailable` - as `eraseResource`
 * @throws FhirError `not-found` - the Patient never existed
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

/** Erases resources that were written during the erasure. */
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

function scopeFrom(id: string, { shared = 'keep', keepTypes = ['AuditEvent'] }: PatientErasureContext): PatientScope {
  if (shared !== 'keep' && shared !== 'erase') throw new FhirError('invalid', 'shared must be keep or erase');
  return { id, shared, keepTypes: new Set(keepTypes) };
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
