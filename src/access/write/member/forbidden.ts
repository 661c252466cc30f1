import { FhirError } from '../../../fhir/error.js';
import type { Interaction } from '../../rule.js';

/** No rule of the caller allows the interaction with any resource of the type, or with one that it reads. */
export function forbidden(type: string, interaction: Interaction): FhirError {
  const operations = type === 'Project' && interaction !== 'create' ? undefined : OPERATIONS.get(type);
  const hint = operations === undefined ? '' : `; use ${operations}`;
  return new FhirError('forbidden', `Not allowed to ${interaction} ${type}${hint}`);
}

/**
 * The routes for types that the repository and mutations cannot write. Clients and Bots have none: the application makes
 * them, by `createClient` and `createBot`.
 */
const OPERATIONS: ReadonlyMap<string, string> = new Map([
  ['Project', 'POST Project'],
  ['ProjectMembership', 'POST /admin/projects/[project]/invite, or PATCH or DELETE of …/members/[membership]'],
]);
