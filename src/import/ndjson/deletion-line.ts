import type { GuardedKey } from '../../access/contract.js';
import { parseReference } from '../../fhir/reference.js';
import { type AnyResource, elementsOf, isJsonObject } from '../../fhir/resource.js';

/**
 * The resources that a line deletes; undefined for any other line.
 *
 * ```
 * { resourceType: 'Bundle', type: 'transaction', entry: [{ request: { method: 'DELETE', url: 'Patient/1' } }] }
 * ```
 *
 * See https://hl7.org/fhir/uv/bulkdata/export.html (`deleted`).
 */
export function deletionsOf(resource: AnyResource): readonly GuardedKey[] | undefined {
  const { resourceType, id, type, entry } = elementsOf(resource);
  if (resourceType !== 'Bundle' || id !== undefined || type !== 'transaction') return undefined;
  if (!Array.isArray(entry) || entry.length === 0) return undefined;
  const keys = entry.map(deletedBy);
  return keys.every((key) => key !== undefined) ? keys : undefined;
}

function deletedBy(entry: unknown): GuardedKey | undefined {
  const request = isJsonObject(entry) && entry['resource'] === undefined ? entry['request'] : undefined;
  if (!isJsonObject(request) || request['method'] !== 'DELETE' || typeof request['url'] !== 'string') return undefined;
  const target = parseReference(request['url']);
  return target?.kind === 'local' && target.version === undefined ? { type: target.type, id: target.id } : undefined;
}
