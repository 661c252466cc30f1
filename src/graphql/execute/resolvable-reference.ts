import type { Container, ResolvedReference } from '../../fhir/container.js';
import { asObject, type JsonObject } from '../../fhir/resource.js';

/**
 * The reference that a `resource` field follows.
 *
 * | element | kind |
 * |---|---|
 * | `Reference.reference` | inside, local, urn, foreign, nowhere: see `Container` |
 * | `Reference.identifier` without `reference` | identifier |
 * | a canonical element | canonical, or inside for `#id` |
 */
export type ResolvableReference =
  | ResolvedReference
  | {
      readonly kind: 'identifier';
      readonly type: string | undefined;
      readonly system: string | undefined;
      readonly value: string;
    }
  | { readonly kind: 'canonical'; readonly url: string; readonly version: string | undefined };

/** The key of a canonical's text in the object with its id and extensions. */
export const CANONICAL_TEXT = '#canonical';

/**
 * Classifies a Reference.
 *
 * @param likely types that it probably leads to
 * @returns null for a reference with nothing to follow, such as only a display; undefined for a malformed one
 */
export function resolvableReference(
  reference: JsonObject,
  container: Container,
  likely: readonly string[] | undefined,
): ResolvableReference | null | undefined {
  const text = reference['reference'];
  if (typeof text === 'string') return container.resolve(text, likely);
  const identifier = asObject(reference['identifier']);
  const value = identifier?.['value'];
  if (typeof value !== 'string') return null;
  const { type } = reference;
  const system = identifier?.['system'];
  return {
    kind: 'identifier',
    type: typeof type === 'string' ? type : undefined,
    system: typeof system === 'string' ? system : undefined,
    value,
  };
}

/** Classifies a canonical. See https://hl7.org/fhir/R4/references.html#canonical. */
export function resolvableCanonical(element: JsonObject, container: Container): ResolvableReference | null {
  const text = element[CANONICAL_TEXT];
  if (typeof text !== 'string' || text === '') return null;
  if (text.startsWith('#')) return container.resolve(text)!;
  const bar = text.lastIndexOf('|');
  if (bar < 0) return { kind: 'canonical', url: text, version: undefined };
  return { kind: 'canonical', url: text.slice(0, bar), version: text.slice(bar + 1) };
}

/** The identity of a canonical: `url` or `url|version`. */
export function canonicalKey({ url, version }: ResolvableReference & { kind: 'canonical' }): string {
  return version === undefined ? url : `${url}|${version}`;
}

/** The identity of a logical reference. */
export function identifierKey({ type, system, value }: ResolvableReference & { kind: 'identifier' }): string {
  return JSON.stringify([type, system, value]);
}
