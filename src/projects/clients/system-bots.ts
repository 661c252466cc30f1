import type { Caller } from '../../access/caller.js';
import { isSystemBot } from '../../access/write/decide-trusted.js';
import { FhirError } from '../../fhir/error.js';
import type { AnyResource } from '../../fhir/resource.js';

/**
 * Only the operator's code (`serverCaller()`) and unrestricted super administrators can create or change a Bot with
 * `system: true`, which may use the operator's secrets (`Project.systemSecret`).
 *
 * @throws FhirError `forbidden`
 */
export function assertMayMakeSystemBot(caller: Caller, ...versions: readonly AnyResource[]): void {
  if (caller.kind === 'server') return;
  if (caller.kind === 'member' && caller.superAdmin && caller.powers === undefined) return;
  if (!versions.some(isSystemBot)) return;
  throw new FhirError(
    'forbidden',
    'Only unrestricted super administrators and trusted code may make or change a system Bot',
  );
}
