import { FhirError } from '../../fhir/error.js';
import { parametersOf } from '../../search/criteria/parameters-of.js';
import { SERVER_SCOPE } from '../../store/resource-key.js';
import type { ResourceStore } from '../../store/store.js';
import type { AccessRules } from '../rule.js';

/**
 * Rejects a member whose rules use search parameters that are being re-indexed: their resources could not be found.
 * Costs nothing in the usual case without re-indexing.
 *
 * Callers who signed in before are safe too: the store rejects every search with such criteria.
 *
 * @throws FhirError `unavailable`
 */
export async function assertRulesIndexed(store: ResourceStore, project: string, rules: AccessRules): Promise<void> {
  if (store.pendingParameters === undefined) return;
  const pending = [...(await store.pendingParameters(project)), ...(await store.pendingParameters(SERVER_SCOPE))];
  if (pending.length === 0) return;
  const names = new Set(pending.map(({ type, parameter }) => `${type}.${parameter}`));
  for (const type of store.model.resourceTypes) {
    for (const { criteria } of rules.rulesFor(type)) {
      const used = parametersOf(type, criteria).find(({ type: of, parameter }) => names.has(`${of}.${parameter}`));
      if (used === undefined) continue;
      throw new FhirError(
        'unavailable',
        `The access policy of this member uses ${used.type}.${used.parameter}. The index of this parameter is being rebuilt; sign in again later`,
        { details: { type: used.type, parameter: used.parameter } },
      );
    }
  }
}
