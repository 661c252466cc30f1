import type { Meta, Resource } from '@medplum/fhirtypes';

/**
 * A FHIR R4 resource as plain JSON, whatever its type.
 *
 * The engine handles all types alike, so it reads elements by name; hosts that know their type use the interfaces of
 * `@medplum/fhirtypes`, which are assignable to this one. See https://hl7.org/fhir/R4/json.html.
 */
export interface AnyResource {
  readonly resourceType: string;
  readonly id?: string | undefined;
  readonly meta?: ResourceMeta | undefined;
}

/** The part of `Resource.meta` that the engine itself reads. See https://hl7.org/fhir/R4/resource.html#Meta. */
export interface ResourceMeta {
  readonly versionId?: string | undefined;
  /** Instant of the last change, ISO 8601 with zone. */
  readonly lastUpdated?: string | undefined;
}

/**
 * Deepest nesting of objects and arrays in a resource, the resource itself included. Real resources stay below 30;
 * recursive code must not overflow the stack on hostile ones.
 */
export const MAX_RESOURCE_DEPTH = 100;

/** Largest resource, in bytes of its JSON text as UTF-8, where nothing else is said: 16 MiB. */
export const DEFAULT_RESOURCE_BYTES = 16 * 1024 * 1024;

/**
 * Most values of a resource where nothing else is said: objects, lists, texts, numbers, booleans and nulls. A long text
 * counts as several: see `textValues`. Each step of the work on so many values takes less than 50 ms.
 */
export const DEFAULT_RESOURCE_VALUES = 20_000;

/** Any JSON object: a resource, an element, a backbone element. */
export type JsonObject = { readonly [key: string]: unknown };

/** True for a JSON object: neither null, nor an array, nor a primitive. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The elements of a resource by name; resources are JSON objects whatever their declared interface. */
export function elementsOf(resource: AnyResource): JsonObject {
  return resource as unknown as JsonObject;
}

/** What a resource id may look like. See https://hl7.org/fhir/R4/datatypes.html#id. */
export function isResourceId(value: unknown): value is string {
  return typeof value === 'string' && /^[A-Za-z0-9\-.]{1,64}$/.test(value);
}

/** An element's value as an object; null for anything else, since stored data may be malformed. */
export function asObject(value: unknown): JsonObject | null {
  return isJsonObject(value) ? value : null;
}

/** True for an object that JSON can carry, of any realm, and no instance of a class. */
export function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || isForeignRoot(prototype as object);
}

/** Objects of another realm (a worker's, a test runner's) are plain too: their prototype has no prototype. */
function isForeignRoot(prototype: object): boolean {
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'hasOwnProperty');
}

/**
 * A resource read from the store: with an id and the `meta` of its version. Access policies may hide `meta` and other
 * required elements at run time.
 */
export type Stored<Kept extends Resource> = Kept & {
  id: string;
  meta: Meta & { versionId: string; lastUpdated: string };
};

/** The weak entity tag of a version: `W/"3"`. See https://hl7.org/fhir/R4/http.html#versioning. */
export function entityTag(versionId: string): string {
  return `W/"${versionId}"`;
}

/**
 * Reads the version id from an entity tag: `3`, `"3"` and `W/"3"` all name version 3.
 *
 * @returns undefined for text that is not an entity tag
 */
export function versionOfEntityTag(text: string): string | undefined {
  const version = /^(?:W\/)?"([^"]*)"$/.exec(text)?.[1] ?? text;
  return isResourceId(version) ? version : undefined;
}
