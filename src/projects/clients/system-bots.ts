import type { Caller } from '../../access/caller.js';
import { FhirError } from '../../fhir/error.js';
import { elementsOf, type AnyResource } from '../../fhir/resource.js';

/**
 * Only trusted code and unrestricted super administrators make or change a Bot with `system: true`, which may use what
 * the operator keeps from the project (`Project.systemSecret`).
 *
 * @throws FhirError `forbidden`
 */
export function assertMayMakeSystemBot(caller: Caller, ...versions: readonly AnyResource[]): void {
  if (caller.kind !== 'member' || (caller.superAdmin && caller.powers === undefined)) return;
  if (!versions.some((bot) => bot.resourceType === 'Bot' && elementsOf(bot)['system'] === true)) return;
  throw new FhirError('forbidden', 'Only unrestricted super administrators may make or change a system Bot');
}
