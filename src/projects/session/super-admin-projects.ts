import type { Caller } from '../../access/caller.js';
import type { Interaction } from '../../access/rule.js';
import { FhirError } from '../../fhir/error.js';
import { elementsOf } from '../../fhir/resource.js';
import type { CallOptions } from '../../store/call-options.js';
import { SERVER_SCOPE } from '../../store/resource-key.js';
import type { ResourceStore } from '../../store/store.js';

/**
 * Keeps super administrators who are bound by access policies away from those who have super-admin powers: a caller who could
 * make a member, client or Bot of a super-admin project, or change one, could act without any bounds.
 *
 * Searching stays possible, because it grants no rights.
 *
 * @throws FhirError `forbidden` - the project is a super-admin project, and the caller is bound by policies
 */
export async function assertMayTouchMembers(
  store: ResourceStore,
  caller: Caller,
  project: string,
  interaction: Interaction,
  options: CallOptions,
): Promise<void> {
  // Other callers only reach their own project, and sign-in verified that it is not a super-admin project.
  if (caller.kind !== 'member' || !caller.superAdmin || caller.powers === undefined || interaction === 'search') return;
  const [found] = await store.read([{ project: SERVER_SCOPE, type: 'Project', id: project }], options);
  if (found?.status !== 'found' || elementsOf(found.resource)['superAdmin'] !== true) return;
  throw new FhirError(
    'forbidden',
    'Only super administrators without access policies may change the members, clients and Bots of a super-admin project',
  );
}
