import { searchParameter, typeDefinition } from '../../fhir/definitions.js';
import type { PathExpression, SearchParameterDefinition } from '../../fhir/definition-types.js';
import { elementsOf, isJsonObject, type AnyResource, type JsonObject } from '../../fhir/resource.js';

/**
 * A copy of a resource without the hidden fields, the extensions beside them included. What is not hidden is shared with
 * the original, which stays as it is. `resourceType` and `id` cannot be hidden: they are how the resource is known.
 */
export function withoutFields(resource: AnyResource, hidden: readonly string[]): AnyResource {
  let copy = elementsOf(resource);
  for (const path of hidden) copy = withoutPath(copy, path.split('.'), true);
  return copy as unknown as AnyResource;
}

/**
 * A copy of `after` in which the named fields are as they were in `before`: what a writer cannot see or change stays.
 */
export function withFieldsOf(before: AnyResource, after: AnyResource, paths: readonly string[]): AnyResource {
  const copy: { [name: string]: unknown } = { ...elementsOf(after) };
  for (const path of paths) {
    // Below the first level a list's items cannot be matched up safely, so the whole element stays.
    const [head] = path.split('.') as [string];
    for (const name of jsonNames(head, elementsOf(before))) copy[name] = elementsOf(before)[name];
  }
  return copy as unknown as AnyResource;
}

/** True where the named field, or what is inside it, has a value. */
export function hasField(resource: AnyResource, path: string): boolean {
  return withoutPath(elementsOf(resource), path.split('.'), true) !== elementsOf(resource);
}

/**
 * Whether a search parameter reads a hidden field: its values must then not exist for the search.
 *
 * @param code also `code:identifier` and `code$0`, as index entries name them
 */
export function readsHidden(type: string, code: string, hidden: readonly string[]): boolean {
  if (hidden.length === 0) return false;
  const parameter = searchParameter(type, code.replace(/[:$].*/, ''));
  if (parameter === undefined) return false;
  const paths = [parameter, ...(parameter.components ?? [])].flatMap(pathsOf);
  return hidden.some((field) => {
    const wanted = field.split('.').map((name, index) => (index === 0 ? baseName(type, name) : name));
    return paths.some((path) => path === undefined || overlaps(path, wanted));
  });
}

function withoutPath(source: JsonObject, path: readonly string[], top = false): JsonObject {
  const [head, ...rest] = path as [string, ...string[]];
  if (top && (head === 'resourceType' || head === 'id')) return source;
  const names = jsonNames(head, source);
  if (names.length === 0) return source;
  const copy: { [name: string]: unknown } = { ...source };
  let changed = false;
  for (const name of names) {
    if (rest.length === 0) {
      Reflect.deleteProperty(copy, name);
      changed = true;
      continue;
    }
    const value = source[name];
    const inner = Array.isArray(value)
      ? value.map((item: unknown) => (isJsonObject(item) ? withoutPath(item, rest) : item))
      : isJsonObject(value)
        ? withoutPath(value, rest)
        : value;
    const same = Array.isArray(inner) ? inner.every((item, at) => item === (value as unknown[])[at]) : inner === value;
    if (same) continue;
    copy[name] = inner;
    changed = true;
  }
  return changed ? copy : source;
}

/** The JSON names that a field covers: itself, its `_` sibling, and every typed form of a choice (`value`). */
function jsonNames(field: string, source: JsonObject): string[] {
  const names = Object.keys(source).filter((name) => name === field || name === `_${field}`);
  if (names.length > 0) return names;
  const type = source['resourceType'];
  const elements = typeof type === 'string' ? typeDefinition(type)?.elements : undefined;
  return Object.keys(source).filter((name) => {
    const base = name.startsWith('_') ? name.slice(1) : name;
    const choice = elements?.get(base)?.choiceOf;
    // Elements inside elements are matched by their look: `valueQuantity` for `value`.
    return elements === undefined
      ? base.startsWith(field) && /^[A-Z]/.test(base.slice(field.length))
      : choice === field;
  });
}

function baseName(type: string, name: string): string {
  return typeDefinition(type)?.elements.get(name)?.choiceOf ?? name;
}

/** Element paths of a parameter; undefined for one that could read anything. */
function pathsOf(parameter: Pick<SearchParameterDefinition, 'path' | 'expression'>): (readonly string[] | undefined)[] {
  const path: PathExpression | undefined = parameter.path;
  if (path !== undefined) return path.map((steps) => steps.filter((step) => typeof step === 'string'));
  // `Patient.deceased.exists() and Patient.deceased != false`: every path in it counts.
  const words = parameter.expression.match(/[A-Za-z][A-Za-z.]*/g) ?? [];
  return words.filter((word) => word.includes('.')).map((word) => word.split('.').slice(1));
}

/** True where one path leads into the other. */
function overlaps(path: readonly string[], hidden: readonly string[]): boolean {
  return hidden.every((name, index) => index >= path.length || path[index] === name);
}
