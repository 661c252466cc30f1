import type { Bundle, BundleEntry } from '@medplum/fhirtypes';
import type { AuditTarget, RestInteraction } from '../../audit/audit-record.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { parseReference } from '../../fhir/reference.js';
import { isJsonObject } from '../../fhir/resource.js';
import { mapInTurns, Pace } from '../../platform/pace.js';
import { type EntryRequest, parseEntryRequest } from '../entries/bundle-entries.js';

/**
 * The targets of a Bundle's entries, for the audit trail. Malformed entries are left out. Never rejects.
 *
 * @param response undefined before execution, and if it failed
 */
export async function bundleTargets(
  model: FhirModel,
  request: unknown,
  response: Bundle | undefined,
  baseUrl: string | undefined,
): Promise<readonly AuditTarget[]> {
  const entries = isJsonObject(request) && Array.isArray(request['entry']) ? (request['entry'] as unknown[]) : [];
  const targets = await mapInTurns(entries, new Pace(), (entry, index) => {
    const asked = isJsonObject(entry) && isJsonObject(entry['request']) ? entry['request'] : {};
    const parsed = attempt(() => parseEntryRequest(model, asked['method'], asked['url'], baseUrl));
    return parsed && targetOf(parsed, response?.entry?.[index]);
  });
  return targets.filter((target) => target !== undefined);
}

function targetOf(request: EntryRequest, answered: BundleEntry | undefined): AuditTarget {
  const { type, id, version } = request;
  const interaction = interactionOf(request);
  const location = parseReference(answered?.response?.location ?? '');
  if (location?.kind === 'local') return { type, id: location.id, versionId: location.version, interaction };
  return { type, id, versionId: version, interaction };
}

function interactionOf({ method, id, version, history }: EntryRequest): RestInteraction {
  if (method === 'POST') return 'create';
  if (method === 'PUT') return 'update';
  if (method === 'DELETE') return 'delete';
  if (history === true) return 'history';
  return version !== undefined ? 'vread' : id === undefined ? 'search' : 'read';
}

function attempt<Value>(make: () => Value): Value | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}
