import { FhirError } from '../../fhir/error.js';
import { copyElement, deleteElement } from '../../fhir/json/decimal-texts.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { type AnyResource, elementsOf, isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { elementsNamed, type ElementsRead, isAnyResource } from '../../fhirpath/reach/places.js';
import { elementsRead } from '../../search/index/elements-read.js';

/**
 * A copy of a resource without the hidden fields, and their extensions. Other values are shared with the original.
 * `resourceType` and `id` cannot be hidden: they identify the resource.
 *
 * Objects that become empty are removed, also from lists: empty objects would reveal their number.
 *
 * @param hidden paths in JSON names, as `fieldPaths` gives them
 */
export function withoutFields(resource: AnyResource, hidden: readonly string[]): AnyResource {
  let copy = elementsOf(resource);
  for (const path of hidden) copy = withoutPath(copy, path.split('.'), true);
  return copy as unknown as AnyResource;
}

/** A copy of `after` in which the named elements are as they were in `before`: what a writer cannot see or change stays. */
export function withElementsOf(before: AnyResource, after: AnyResource, names: Iterable<string>): AnyResource {
  const copy: { [name: string]: unknown } = { ...elementsOf(after) };
  for (const element of names) {
    for (const name of jsonNames(element, copy)) deleteElement(copy, name);
    for (const name of jsonNames(element, elementsOf(before))) copyElement(copy, name, elementsOf(before));
  }
  return copy as unknown as AnyResource;
}

/** True if the named field, or a field inside it, has a value. */
export function hasField(resource: AnyResource, path: string): boolean {
  return reaches(elementsOf(resource), path.split('.'));
}

function reaches(value: unknown, [head, ...rest]: readonly string[]): boolean {
  if (head === undefined) return true;
  if (Array.isArray(value)) return value.some((item) => reaches(item, [head, ...rest]));
  return isJsonObject(value) && jsonNames(head, value).some((name) => reaches(value[name], rest));
}

/** The element of the first level that a path leads into. */
export function headOf(path: string): string {
  return path.split('.', 1)[0]!;
}

/** True if hiding `field` hides `other` too: it is the same field, or one inside it. */
export function covers(field: string, other: string): boolean {
  return other === field || other.startsWith(`${field}.`);
}

/** The fields hidden in resources inside others, by their type. */
export interface HiddenInside {
  /** Of resources of the type. */
  of(type: string): readonly string[];
  /** Of resources of any type. */
  readonly ofAny: readonly string[];
}

/**
 * Whether a search parameter reads a hidden field, or an element around or inside it. The search must then ignore all
 * of its values, because the index does not record which of them come from the hidden part.
 *
 * @param code also `code:identifier` and `code$0`, as index entries name them
 * @param inside the fields hidden in the resources inside, which a parameter may read as well
 */
export function readsHidden(
  model: FhirModel,
  type: string,
  code: string,
  hidden: readonly string[],
  inside?: HiddenInside,
): boolean {
  return meetsHidden(elementsRead(model, type, code), hidden, inside);
}

/** Whether some of the elements are hidden fields, or around or inside them. */
export function meetsHidden(read: ElementsRead, hidden: readonly string[], inside?: HiddenInside): boolean {
  if (meets(read.paths, hidden)) return true;
  if (inside === undefined) return false;
  for (const [held, paths] of read.inside) {
    if (meets(paths, isAnyResource(held) ? inside.ofAny : inside.of(held))) return true;
  }
  return false;
}

/** The empty path is the whole resource. */
function meets(paths: readonly string[], hidden: readonly string[]): boolean {
  return hidden.some((field) => paths.some((path) => path === '' || covers(field, path) || covers(path, field)));
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
      deleteElement(copy, name);
      changed = true;
      continue;
    }
    const value = source[name];
    const inner = withoutInside(value, rest, name.startsWith('_'));
    if (inner === value) continue;
    if (inner === undefined) deleteElement(copy, name);
    else copy[name] = inner;
    changed = true;
  }
  return changed ? copy : source;
}

/**
 * The value of an element without the elements that a path inside it names; undefined if nothing is left.
 *
 * @param sibling of primitives: its items are parallel to those of the element, so an empty one becomes null
 */
function withoutInside(value: unknown, path: readonly string[], sibling: boolean): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => (isJsonObject(item) ? withoutPath(item, path) : item));
    const kept = sibling ? items.map((item) => (isEmpty(item) ? null : item)) : items.filter((item) => !isEmpty(item));
    if (kept.length === value.length && kept.every((item, at) => item === value[at])) return value;
    return kept.every((item) => item === null) ? undefined : kept;
  }
  if (!isJsonObject(value)) return value;
  const inner = withoutPath(value, path);
  return isEmpty(inner) ? undefined : inner;
}

function isEmpty(value: unknown): boolean {
  return isJsonObject(value) && Object.keys(value).length === 0;
}

/** The JSON names of a field: itself and its `_` sibling. */
function jsonNames(field: string, source: JsonObject): string[] {
  return [field, `_${field}`].filter((name) => Object.hasOwn(source, name));
}

/**
 * The elements named by a policy's field: its path in JSON names, once per typed form of a choice.
 *
 * ```text
 * Patient      name.given       ['name.given']
 * Observation  component.value  ['component.valueQuantity', 'component.valueString', …]
 * Observation  value[x]         the same as `value`: FHIR's own name of the choice
 * ```
 *
 * @returns an empty list for a field that the type does not have
 * @throws FhirError `invalid` - choices inside choices give more than 1,000 paths
 */
export function fieldPaths(model: FhirModel, type: string, field: string): readonly string[] {
  const steps = field.split('.');
  const paths = new Set<string>();
  // Types in which the remaining steps do not resolve, cached because choices multiply the paths.
  const dead = new Set<string>();
  const walk = (from: string, depth: number, prefix: string): boolean => {
    const step = steps[depth];
    if (step === undefined) {
      if (paths.add(prefix).size > MAX_PATHS) {
        throw new FhirError('invalid', `names more than ${MAX_PATHS} elements; name one form of each choice in it`);
      }
      return true;
    }
    const state = `${depth} ${from}`;
    if (dead.has(state)) return false;
    let leads = false;
    for (const [name, next] of elementsNamed(model, from, step)) {
      if (walk(next, depth + 1, prefix === '' ? name : `${prefix}.${name}`)) leads = true;
    }
    if (!leads) dead.add(state);
    return leads;
  };
  if (steps.length <= MAX_STEPS) walk(type, 0, '');
  return [...paths];
}

/** Per field of a policy. */
const MAX_PATHS = 1_000;
/** Per field of a policy. */
const MAX_STEPS = 50;

/** Whether a policy's field is an element of the type. Inside a resource of any type (`contained.birthDate`), some type must have it. */
export function hasFieldNamed(model: FhirModel, type: string, field: string): boolean {
  const steps = field.split('.');
  return steps.length <= MAX_STEPS && resolves(model, type, steps, 0, new Set());
}

/** @param dead failed combinations */
function resolves(model: FhirModel, type: string, steps: readonly string[], depth: number, dead: Set<string>): boolean {
  const step = steps[depth];
  if (step === undefined) return true;
  const state = `${depth} ${type}`;
  if (dead.has(state)) return false;
  const leads = elementsNamed(model, type, step).some(([, next]) => resolves(model, next, steps, depth + 1, dead));
  if (!leads) dead.add(state);
  return leads;
}
