import { parseReference } from '../../../fhir/reference.js';
import { isJsonObject, isResourceId } from '../../../fhir/resource.js';
import type { ReferenceTarget } from '../../../store/resource-key.js';
import type { Run } from '../run.js';

/**
 * The resource that a value of a resolver names: `Observation/1`, a Reference, or a resource. Of a resource only type
 * and id count: it is read again as the caller sees it.
 *
 * @returns undefined for anything else
 */
export function resourceLink(value: unknown, { options }: Run): ReferenceTarget | undefined {
  if (isJsonObject(value) && value['resourceType'] !== undefined) {
    const { resourceType: type, id } = value;
    return typeof type === 'string' && options.store.model.isResourceType(type) && isResourceId(id)
      ? { type, id }
      : undefined;
  }
  const text = isJsonObject(value) ? value['reference'] : value;
  const parsed = typeof text === 'string' ? parseReference(text, options.baseUrl) : undefined;
  if (parsed?.kind !== 'local' || !options.store.model.isResourceType(parsed.type)) return undefined;
  return { type: parsed.type, id: parsed.id };
}
