import type { FhirModel } from '../fhir/model/fhir-model.js';
import { FhirError } from '../fhir/error.js';
import { isJsonObject, type AnyResource } from '../fhir/resource.js';
import { quote } from '../fhir/messages/quote.js';
import { kindOf } from '../fhir/validation/findings.js';
import { MAX_NAMES } from '../fhir/validation/json-safety.js';

/** @throws FhirError `invalid` - not a JSON object, or of an unknown type */
export function assertTyped(model: FhirModel, resource: unknown): asserts resource is AnyResource {
  if (!isJsonObject(resource)) {
    const found = resource === undefined ? 'missing' : kindOf(resource);
    throw new FhirError('invalid', `A resource must be a JSON object, not ${found}`);
  }
  const type = Object.hasOwn(resource, 'resourceType') ? resource['resourceType'] : undefined;
  if (typeof type !== 'string') throw new FhirError('invalid', 'A resource must name its type in "resourceType"');
  if (!model.isResourceType(type)) throw new FhirError('invalid', `Unknown resource type ${quote(type)}`);
}

/**
 * Asserts the parts of a resource that the guard and the store rely on.
 *
 * @throws FhirError `invalid` - as {@link assertTyped}
 * @throws FhirError `too-costly` - more elements than any object may have names
 */
export function assertResource(model: FhirModel, resource: unknown): asserts resource is AnyResource {
  assertTyped(model, resource);
  // Writing copies a resource before the guard checks it.
  let names = 0;
  for (const _ in resource) {
    if (++names > MAX_NAMES) throw new FhirError('too-costly', `A resource has more than ${MAX_NAMES} elements`);
  }
}
