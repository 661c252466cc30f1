import { FhirError } from '../../fhir/error.js';
import { nameToId } from '../../fhir/reference.js';
import { isJsonObject } from '../../fhir/resource.js';
import { derivedCaller, type Caller, type MemberCaller } from '../caller.js';
import type { Clearance, Narrowing } from '../narrowing.js';
import { clearanceCriteria } from '../policy/clearance-criteria.js';
import type { Interaction } from '../rule.js';
import { clearanceLimits, type Limits, patientLimits, scopeLimits, narrowRules } from './limits.js';

/**
 * The caller within a narrowing.
 *
 * @throws FhirError `invalid`, `too-costly` - the narrowing
 */
export function narrowedCaller(caller: MemberCaller, narrowing: Narrowing): MemberCaller {
  const limits = limitsOf(caller, narrowing);
  return derivedCaller(caller, (facts) => ({
    ...facts,
    rules: narrowRules(facts.rules, limits),
    narrowings: [...(facts.narrowings ?? []), narrowing],
  }));
}

/** The caller with the narrowings of another caller. */
export function narrowedLike(caller: MemberCaller, { narrowings = [] }: MemberCaller): MemberCaller {
  return narrowings.reduce(narrowedCaller, caller);
}

/**
 * True if a caller's narrowings allow an operation of administrators: a `user/` or `system/` scope must name the type
 * without a constraint. Always true for callers that are not narrowed.
 */
export function leavesOffice(caller: Caller, type: string, interaction: Interaction): boolean {
  if (caller.kind !== 'member') return true;
  return (caller.narrowings ?? []).every((narrowing) =>
    limitsOf(caller, narrowing)
      .limitsFor(type)
      .some(({ interactions, criteria }) => criteria.kind === 'all' && interactions.has(interaction)),
  );
}

function limitsOf(caller: MemberCaller, narrowing: unknown): Limits {
  const { model } = caller.rules;
  if (!isJsonObject(narrowing)) throw unnamed();
  const { scopes, patient, clearance } = narrowing;
  if (clearance !== undefined) return clearanceLimits('the clearance', clearanceCriteria(assertClearances(clearance)));
  const named = patient === undefined ? undefined : patientId(patient, model.baseUrl);
  if (scopes === undefined) {
    if (named === undefined) throw unnamed();
    return patientLimits(model, named);
  }
  if (typeof scopes !== 'string') throw new FhirError('invalid', 'scopes must be a string, separated by spaces');
  return scopeLimits(model, scopes, named ?? caller.patient);
}

/** @throws FhirError `invalid` */
function assertClearances(clearances: unknown): readonly Clearance[] {
  const isClearance = (one: unknown): one is Clearance => {
    if (!isJsonObject(one)) return false;
    const { system, codes } = one;
    return (
      typeof system === 'string' &&
      system !== '' &&
      Array.isArray(codes) &&
      codes.every((code) => typeof code === 'string')
    );
  };
  if (Array.isArray(clearances) && clearances.every(isClearance)) return clearances;
  throw new FhirError('invalid', 'clearance must be a list of { system, codes }');
}

function unnamed(): FhirError {
  return new FhirError('invalid', 'narrowCaller needs scopes, a patient or a clearance');
}

function patientId(patient: unknown, baseUrl: string | undefined): string {
  const id = nameToId(patient, 'Patient', baseUrl);
  if (id !== undefined) return id;
  throw new FhirError('invalid', 'The patient must be named by its id, Patient/id or a Reference');
}
