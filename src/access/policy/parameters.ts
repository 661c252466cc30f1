import { referenceTo } from '../../fhir/reference.js';
import { isResourceId } from '../../fhir/resource.js';

/**
 * The parameters of one membership's policy: name → values. A repeated name means any of its values. References are
 * stored as `Type/id`, strings unchanged.
 */
export type PolicyParameters = ReadonlyMap<string, readonly PolicyValue[]>;

export type PolicyValue =
  | { readonly kind: 'reference'; readonly type: string; readonly id: string }
  | { readonly kind: 'string'; readonly text: string };

/**
 * `%name`, `%name.id` or `Type/%name.id` as a whole value.
 *
 * @returns undefined for text that is not a placeholder; an empty list for one without a value
 */
export function placeholderValues(text: string, parameters: PolicyParameters): readonly string[] | undefined {
  const match = PLACEHOLDER.exec(text);
  if (match === null) return undefined;
  const [, type, name, id] = match as unknown as [string, string | undefined, string, string | undefined];
  const values = parameters.get(name) ?? [];
  if (id === undefined && type === undefined) {
    return values.map((value) => (value.kind === 'string' ? value.text : referenceTo(value.type, value.id)));
  }
  const ids = values.map((value) => (value.kind === 'reference' ? value.id : value.text));
  // Only an id is allowed in place of an id; anything else could name a resource that the policy does not mean. All or
  // none: under `:not`, leaving out one of several values would grant what it excludes.
  if (!ids.every(isResourceId)) return [];
  return type === undefined ? ids : ids.map((found) => referenceTo(type, found));
}

/** The name of the parameter that a text is a placeholder for. */
export function placeholderName(text: string): string | undefined {
  return PLACEHOLDER.exec(text)?.[2];
}

const PLACEHOLDER = /^(?:([A-Z][A-Za-z]*)\/)?%([A-Za-z_][A-Za-z0-9_-]*)(\.id)?$/;

/** True if text contains a placeholder of these parameters, as a whole value or inside other text. */
export function mentionsParameter(text: string, parameters: PolicyParameters): boolean {
  return [...text.matchAll(/%([A-Za-z_][A-Za-z0-9_-]*)/g)].some(([, name]) => parameters.has(name!));
}
