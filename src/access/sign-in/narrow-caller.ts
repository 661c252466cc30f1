import { FhirError } from '../../fhir/error.js';
import { assertCaller, type Caller, type MemberCaller } from '../caller.js';
import { narrowedCaller } from '../narrow/narrowed-caller.js';
import type { Narrowing } from '../narrowing.js';
import { joinSession } from './standing.js';

/**
 * Creates a caller with fewer rights: it can do only what the original caller's rules grant and the scopes, the patient
 * or the clearances also allow. It never has more rights than the original caller, and ends with it.
 *
 * Narrowing again narrows further. `explainAccess` names the scope in each rule, and the rights that the scopes remove.
 *
 * @throws FhirError `unauthenticated` - no caller
 * @throws FhirError `invalid` - trusted code, which has no rules to narrow; neither scopes nor a patient; scopes that begin
 * with `patient/` without a patient
 * @throws FhirError `too-costly` - more than 500 scopes
 *
 * @example
 * const app = narrowCaller(caller, { scopes: token.scope, patient: token.patient });
 */
export function narrowCaller(caller: Caller, narrowing: Narrowing): MemberCaller {
  assertCaller(caller);
  if (caller.kind !== 'member') {
    throw new FhirError('invalid', 'Only callers of signIn can be narrowed; trusted code has no rules');
  }
  const narrowed = narrowedCaller(caller, narrowing);
  joinSession(narrowed, caller);
  return narrowed;
}
