import { FhirError } from './error.js';
import { quote } from './messages.js';
import { isJsonObject, isResourceId } from './resource.js';

/**
 * The parsed text of a `Reference.reference`. See https://hl7.org/fhir/R4/references.html#literal.
 *
 * | text | kind |
 * |---|---|
 * | `Patient/1`, `Patient/1/_history/2` | local |
 * | `https://own.base/Patient/1` where `https://own.base` is the base given | local |
 * | `#med` | contained |
 * | `#` | container |
 * | `urn:uuid:…`, `urn:oid:…` | urn |
 * | any other absolute URL | foreign: never read as local, even when its tail looks like a local id |
 */
export type ParsedReference =
  | { readonly kind: 'local'; readonly type: string; readonly id: string; readonly version?: string }
  | { readonly kind: 'contained'; readonly id: string }
  | { readonly kind: 'container' }
  | { readonly kind: 'urn'; readonly urn: string }
  | { readonly kind: 'foreign'; readonly url: string };

const RELATIVE = /^([A-Z][A-Za-z]*)\/([A-Za-z0-9\-.]{1,64})(?:\/_history\/([A-Za-z0-9\-.]{1,64}))?$/;

/**
 * Classifies a reference text.
 *
 * @param baseUrl the service's own base, without a slash at its end; if omitted, every absolute URL is foreign
 * @param likely types that local references probably have
 * @returns undefined for text that is not a reference, such as an empty string or `Patient/`.
 */
export function parseReference(
  text: string,
  baseUrl?: string,
  likely?: readonly string[],
): ParsedReference | undefined {
  const expected = likely === undefined ? undefined : parseExpected(text, likely);
  if (expected !== undefined) return expected;
  if (text.startsWith('#')) {
    if (text === '#') return { kind: 'container' };
    return { kind: 'contained', id: text.slice(1) };
  }
  if (text.startsWith('urn:')) return { kind: 'urn', urn: text };
  // Nearly all references are relative, and no relative one has a scheme.
  const local = parseRelative(text);
  if (local !== undefined) return local;
  if (!/^[a-z][a-z0-9+.-]*:/i.test(text)) return undefined;
  const isOwn = baseUrl !== undefined && text.startsWith(`${baseUrl}/`);
  return (isOwn ? parseRelative(text.slice(baseUrl.length + 1)) : undefined) ?? { kind: 'foreign', url: text };
}

/** Takes half the time of the pattern, and the name of the type is the same string each time. */
function parseExpected(text: string, types: readonly string[]): ParsedReference | undefined {
  for (const type of types) {
    if (text.charCodeAt(type.length) !== SLASH || !text.startsWith(type)) continue;
    const id = text.slice(type.length + 1);
    return isResourceId(id) ? { kind: 'local', type, id } : undefined;
  }
  return undefined;
}

const SLASH = 0x2f;

function parseRelative(text: string): ParsedReference | undefined {
  const match = RELATIVE.exec(text);
  if (match === null) return undefined;
  const [, type, id, version] = match as unknown as [string, string, string, string | undefined];
  return version === undefined ? { kind: 'local', type, id } : { kind: 'local', type, id, version };
}

/**
 * The base URL of a service as references have it: normalized as by https://url.spec.whatwg.org, without a slash at its end.
 *
 * @throws FhirError `invalid` - no URL could be below it
 */
export function parseBaseUrl(baseUrl: unknown): string {
  const url =
    typeof baseUrl === 'string' && /^https?:\/\/[^\s\p{Cc}?#\\@]+$/iu.test(baseUrl) ? URL.parse(baseUrl) : null;
  if (url !== null && !url.pathname.includes('//')) return url.href.replace(/\/$/, '');
  throw new FhirError(
    'invalid',
    `baseUrl must be an absolute URL such as https://clinic.example/fhir/R4, not ${quote(String(baseUrl))}`,
  );
}

/** The URL of a path below a base URL; relative without one. */
export function urlBelow(baseUrl: string | undefined, path: string): string {
  return baseUrl === undefined ? path : `${baseUrl}/${path}`;
}

/** Removes the version from an absolute reference: it names the same resource. */
export function withoutVersion(url: string): string {
  return VERSIONED.exec(url)?.[1] ?? url;
}

const VERSIONED = /^(.*\/[A-Z][A-Za-z]*\/[A-Za-z0-9\-.]{1,64})\/_history\/[A-Za-z0-9\-.]{1,64}$/;

/** The `Type/id` text of a local resource; `Type/id/_history/version` for one of its versions. */
export function referenceTo(type: string, id: string, version?: string): string {
  return version === undefined ? `${type}/${id}` : `${type}/${id}/_history/${version}`;
}

/** The `Type/id` text of a stored resource. */
export function referenceOf({
  resourceType,
  id,
}: {
  readonly resourceType: string;
  readonly id?: string | undefined;
}): string {
  return referenceTo(resourceType, id!);
}

/** The `Type/id` text of a key, for use in sets and maps. */
export function keyText({ type, id }: { readonly type: string; readonly id: string }): string {
  return referenceTo(type, id);
}

/** The type and id in a local reference text such as `Patient/1`; empty strings for all others. */
export function splitReference(text: string): { readonly type: string; readonly id: string } {
  const parsed = parseReference(text);
  return parsed?.kind === 'local' ? { type: parsed.type, id: parsed.id } : { type: '', id: '' };
}

/** The text of a Reference in untrusted data; undefined if absent. */
export function referenceText(value: unknown): string | undefined {
  return isJsonObject(value) && typeof value['reference'] === 'string' ? value['reference'] : undefined;
}

/**
 * Reads an id given by a host as an id, a `Type/id` text or a Reference.
 *
 * @param baseUrl the service's own base
 * @returns undefined if the value has another form or names another type.
 */
export function idOf(
  value: string | { readonly reference?: string | undefined },
  type: string,
  baseUrl?: string,
): string | undefined {
  const text = typeof value === 'string' ? value : value.reference;
  if (text === undefined) return undefined;
  if (isResourceId(text)) return text;
  const parsed = parseReference(text, baseUrl);
  return parsed?.kind === 'local' && parsed.type === type ? parsed.id : undefined;
}

/** Reads an id from a host, which may pass on client input. */
export function nameToId(name: unknown, type: string, baseUrl?: string): string | undefined {
  if (typeof name !== 'string' && (typeof name !== 'object' || name === null)) return undefined;
  const { reference } = typeof name === 'string' ? { reference: name } : (name as { readonly reference?: unknown });
  return typeof reference === 'string' ? idOf(reference, type, baseUrl) : undefined;
}

/** The type and id of a reference's target that the Reference states. */
interface ReferenceStub {
  readonly resourceType: string;
  readonly id?: string;
}

const RESTFUL_URL = /\/([A-Z][A-Za-z]*)\/([A-Za-z0-9\-.]{1,64})(?:\/_history\/[A-Za-z0-9\-.]{1,64})?$/;

/**
 * Resolves a Reference without reading its target: FHIRPath's `resolve()` in search parameters.
 *
 * The text `Patient/1` gives type and id; otherwise the type comes from `Reference.type` or the form of a foreign URL.
 * See https://hl7.org/fhir/R4/references.html#literal.
 *
 * @param baseUrl the service's own base
 * @returns undefined when the type cannot be known.
 */
export function referenceStub(reference: unknown, baseUrl?: string): ReferenceStub | undefined {
  if (!isJsonObject(reference)) return undefined;
  const text = reference.reference;
  const parsed = typeof text === 'string' ? parseReference(text, baseUrl) : undefined;
  if (parsed?.kind === 'local') return { resourceType: parsed.type, id: parsed.id };
  if (typeof reference.type === 'string') return { resourceType: reference.type };
  const match = parsed?.kind === 'foreign' ? RESTFUL_URL.exec(parsed.url) : null;
  return match === null ? undefined : { resourceType: match[1]! };
}

/** A resource, or one version of it. */
interface NamedResource {
  readonly type: string;
  readonly id: string;
  readonly version?: string | undefined;
}

/**
 * Creates the error for a resource that does not exist or that the caller may not see; the two are indistinguishable.
 */
export function notFound(key: NamedResource, hint = ''): FhirError {
  return new FhirError('not-found', `${nameOf(key)} was not found${hint}`);
}

/** Creates the error for a deleted resource that the caller may know of. */
export function gone(key: NamedResource): FhirError {
  return new FhirError('gone', `${nameOf(key)} was deleted`);
}

function nameOf({ type, id, version }: NamedResource): string {
  return version === undefined ? referenceTo(type, id) : `${referenceTo(type, id)}, version ${version},`;
}
