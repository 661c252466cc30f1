import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { kindOf } from '../../fhir/validation/findings.js';
import { FhirError } from '../../fhir/error.js';
import { copyFromHost } from '../../fhir/json/copy-json.js';
import { decimalTextsOf } from '../../fhir/json/decimal-texts.js';
import { hasDecimalText } from '../../fhir/json/stringify-json.js';
import { type AnyResource, isJsonObject, isResourceId, MAX_RESOURCE_DEPTH } from '../../fhir/resource.js';
import { assertTyped } from '../../interactions/write-request.js';

/**
 * {@link checkResource} for a value from the host. A resource that the host has read keeps the digits of its decimals
 * in hidden members, which an ordinary copy would lose, so it is copied together with them.
 */
export function resourceFromHost(model: FhirModel, value: unknown): AnyResource {
  const shape = { hasTexts: false };
  const resource = checkedResource(model, value, shape);
  return shape.hasTexts && hasDecimalText(resource) ? copyFromHost(resource) : resource;
}

/**
 * Asserts that a value is a storable resource: an object of a known type, its id (if any) well formed, its nesting
 * bounded. Elements are not checked against their definitions.
 *
 * @throws FhirError `invalid`
 */
export function checkResource(model: FhirModel, value: unknown): AnyResource {
  return checkedResource(model, value, { hasTexts: false });
}

/** The findings of the walk through a resource. */
interface Shape {
  /**
   * True if some object has digits of decimals. Found on the same walk, because a second walk takes half as long
   * again.
   */
  hasTexts: boolean;
}

function checkedResource(model: FhirModel, value: unknown, shape: Shape): AnyResource {
  assertTyped(model, value);
  const type = value.resourceType;
  const id = Object.hasOwn(value, 'id') ? value.id : undefined;
  if (id !== undefined && !isResourceId(id)) {
    throw new FhirError('invalid', `The id of the ${type} must be 1 to 64 letters, digits, "-" or "."`);
  }
  const meta: unknown = Object.hasOwn(value, 'meta') ? value.meta : undefined;
  if (meta !== undefined && !isJsonObject(meta)) {
    throw new FhirError('invalid', `"meta" of the ${type} must be an object, not ${kindOf(meta)}`);
  }
  checkShape(value, 0, shape);
  return value;
}

function checkShape(value: object, depth: number, shape: Shape): void {
  if (depth >= MAX_RESOURCE_DEPTH) {
    throw new FhirError('invalid', `The resource is nested more than ${MAX_RESOURCE_DEPTH} levels deep`);
  }
  if (Array.isArray(value)) {
    for (const item of value as readonly unknown[]) if (isObject(item)) checkShape(item, depth + 1, shape);
    return;
  }
  if (decimalTextsOf(value) !== undefined) shape.hasTexts = true;
  // Unlike `Object.keys`, it makes no list.
  for (const key in value) {
    // `JSON.parse` makes this an own property; copying it anywhere would change a prototype.
    if (key === '__proto__') throw new FhirError('invalid', '"__proto__" is not the name of an element');
    const inner = (value as { readonly [key: string]: unknown })[key];
    if (isObject(inner)) checkShape(inner, depth + 1, shape);
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
