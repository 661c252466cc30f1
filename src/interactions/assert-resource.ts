import type { FhirModel } from '../fhir/model/fhir-model.js';
import { FhirError } from '../fhir/error.js';
import { isJsonObject, type AnyResource } from '../fhir/resource.js';
import { quote } from '../fhir/messages/quote.js';

/**
 * Asserts the parts of a resource that the guard and the store rely on.
 *
 * @throws FhirError `invalid` - not a JSON object, or of an unknown type
 */
export function assertResource(model: FhirModel, resource: unknown): asserts resource is AnyResource {
  if (!isJsonObject(resource)) throw new FhirError('invalid', 'A resource must be a JSON object');
  const type = Object.hasOwn(resource, 'resourceType') ? resource['resourceType'] : undefined;
  if (typeof type !== 'string') throw new FhirError('invalid', 'A resource must name its type in "resourceType"');
  if (!model.isResourceType(type)) throw new FhirError('invalid', `Unknown resource type ${quote(type)}`);
}
