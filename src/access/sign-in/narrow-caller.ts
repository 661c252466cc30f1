import { FhirError } from '../../fhir/error.js';
import { assertCaller, type Caller, type MemberCaller } from '../caller.js';
import { narrowedCaller } from '../narrow/narrowed-caller.js';
import type { Narrowing } from '../narrowing.js';
import { joinSession } from './standing.js';

/**
 * A caller that may do less: what its own rules grant and the scopes of its token, or the compartment of one patient, too.
 * It never may do more, and lives as long as the caller that it was made of.
 *
 * Narrowing again narrows further. `explainAccess` says which scope leaves what.
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
