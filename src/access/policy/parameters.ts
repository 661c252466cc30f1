import { referenceTo } from '../../fhir/reference.js';
import { isResourceId } from '../../fhir/resource.js';

/**
 * The parameters of one membership's policy: name → values. A name given several times stands for any of its values.
 * A reference is kept as `Type/id`, a string as it is.
 */
export type PolicyParameters = ReadonlyMap<string, readonly PolicyValue[]>;

export type PolicyValue =
  | { readonly kind: 'reference'; readonly type: string; readonly id: string }
  | { readonly kind: 'string'; readonly text: string };

/**
 * `%name`, `%name.id` or `Type/%name.id` standing as a whole value.
 *
 * @returns undefined for a text that is no placeholder; an empty list for one without a value
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
  // Only an id can stand where an id is meant; anything else could name another resource than the policy says. All or
  // none: under `:not`, leaving out one of several values would grant what it excludes.
  if (!ids.every(isResourceId)) return [];
  return type === undefined ? ids : ids.map((found) => referenceTo(type, found));
}

/** The name of the parameter that a text is a placeholder for. */
export function placeholderName(text: string): string | undefined {
  return PLACEHOLDER.exec(text)?.[2];
}

const PLACEHOLDER = /^(?:([A-Z][A-Za-z]*)\/)?%([A-Za-z_][A-Za-z0-9_-]*)(\.id)?$/;

/** True where a text holds what looks like a placeholder of these parameters, whole or inside other text. */
export function mentionsParameter(text: string, parameters: PolicyParameters): boolean {
  return [...text.matchAll(/%([A-Za-z_][A-Za-z0-9_-]*)/g)].some(([, name]) => parameters.has(name!));
}
