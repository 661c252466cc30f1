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

/** The secrets of the data type IdentityProvider. */
const PROVIDER_SECRETS = ['identityProvider.clientSecret', 'identityProvider.userInfoApiKey'] as const;

/**
 * Element paths never readable through this library, by type. A test walks the definitions and fails if an element with
 * a secret-like name is neither listed here nor reviewed.
 */
const SECRETS: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ['ClientApplication', ['secret', 'retiringSecret', ...PROVIDER_SECRETS]],
  ['DomainConfiguration', PROVIDER_SECRETS],
  ['JsonWebKey', ['d', 'p', 'q', 'dp', 'dq', 'qi']],
  [
    'Login',
    [
      'code',
      'codeChallenge',
      'cookie',
      'emailMfa.codeHash',
      'nonce',
      'preAuthorizedCodeHash',
      'previousRefreshSecret',
      'refreshSecret',
    ],
  ],
  ['Project', ['secret', 'systemSecret', 'site.googleClientSecret', 'site.recaptchaSecretKey']],
  ['SmartHealthLink', ['passcodeHash']],
  ['User', ['passwordHash', 'mfaSecret']],
  ['UserSecurityRequest', ['secret']],
]);

/** The element paths of a type that are secrets. */
export function secretFields(type: string): readonly string[] {
  return SECRETS.get(type) ?? [];
}

/**
 * Elements that hold whole resources, at the first level of a resource and below it: contained resources, entries of a
 * Bundle, parts of Parameters, the output of an AsyncJob.
 */
export const INLINE_HEADS = ['contained', 'entry', 'parameter', 'output'] as const;
export const INLINE_INSIDE = ['resource', 'part', 'response', 'outcome'] as const;
/** Those of them that hold the resource itself, in addition to `contained`. */
export const INLINE_RESOURCES: ReadonlySet<string> = new Set(['resource', 'outcome', 'output']);

/** The names of the elements in which an object can hold resources. */
export function inlineNames(value: JsonObject): readonly string[] {
  return typeof value['resourceType'] === 'string' ? INLINE_HEADS : INLINE_INSIDE;
}

/**
 * Reduces resources inside a value that can have secrets to their type and id.
 *
 * @returns a copy; the value itself if it holds no such resource
 */
export function withoutSecretHolders(value: JsonObject): JsonObject {
  let copy: { [name: string]: unknown } | undefined;
  for (const name of inlineNames(value)) {
    const held = Object.hasOwn(value, name) ? value[name] : undefined;
    if (held === undefined) continue;
    const items: readonly unknown[] = Array.isArray(held) ? held : [held];
    const kept = items.map((item) => (isJsonObject(item) ? withoutSecret(item) : item));
    if (kept.every((item, index) => item === items[index])) continue;
    copy ??= { ...value };
    copy[name] = Array.isArray(held) ? kept : kept[0];
  }
  return copy ?? value;
}

function withoutSecret(item: JsonObject): JsonObject {
  const { resourceType, id } = item;
  if (typeof resourceType !== 'string' || secretFields(resourceType).length === 0) return withoutSecretHolders(item);
  return id === undefined ? { resourceType } : { resourceType, id };
}
