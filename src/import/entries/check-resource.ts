import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { kindOf } from '../../fhir/validation/findings.js';
import { quote } from '../../fhir/messages/quote.js';
import { FhirError } from '../../fhir/error.js';
import { type AnyResource, isJsonObject, isResourceId, MAX_RESOURCE_DEPTH } from '../../fhir/resource.js';

/**
 * Asserts that a value is a storable resource: an object of a known type, its id (if any) well formed, its nesting
 * bounded. Elements are not checked against their definitions.
 *
 * @throws FhirError `invalid`
 */
export function checkResource(model: FhirModel, value: unknown): AnyResource {
  if (!isJsonObject(value)) {
    const found = value === undefined ? 'missing' : kindOf(value);
    throw new FhirError('invalid', `A resource must be a JSON object, not ${found}`);
  }
  const type = Object.hasOwn(value, 'resourceType') ? value['resourceType'] : undefined;
  if (typeof type !== 'string') {
    throw new FhirError('invalid', 'A resource must name its type in "resourceType"');
  }
  if (!model.isResourceType(type)) throw new FhirError('invalid', `Unknown resource type ${quote(type)}`);
  const id = Object.hasOwn(value, 'id') ? value['id'] : undefined;
  if (id !== undefined && !isResourceId(id)) {
    throw new FhirError('invalid', `The id of the ${type} must be 1 to 64 letters, digits, "-" or "."`);
  }
  const meta = Object.hasOwn(value, 'meta') ? value['meta'] : undefined;
  if (meta !== undefined && !isJsonObject(meta)) {
    throw new FhirError('invalid', `"meta" of the ${type} must be an object, not ${kindOf(meta)}`);
  }
  checkShape(value, 0);
  return value as unknown as AnyResource;
}

function checkShape(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth >= MAX_RESOURCE_DEPTH) {
    throw new FhirError('invalid', `The resource is nested more than ${MAX_RESOURCE_DEPTH} levels deep`);
  }
  if (Array.isArray(value)) {
    for (const item of value) checkShape(item, depth + 1);
    return;
  }
  // `JSON.parse` makes this an own property; copying it anywhere would change a prototype.
  if (Object.hasOwn(value, '__proto__')) {
    throw new FhirError('invalid', '"__proto__" is not the name of an element');
  }
  for (const key of Object.keys(value)) checkShape((value as { readonly [key: string]: unknown })[key], depth + 1);
}
