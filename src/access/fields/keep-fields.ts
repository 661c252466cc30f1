import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { FhirError } from '../../fhir/error.js';
import { sameJson } from '../../fhir/json/same-json.js';
import { elementsOf, isJsonObject, type AnyResource, type JsonObject } from '../../fhir/resource.js';
import { formsOf, guardedElements, resourcesInside } from './guarded-elements.js';
import { withDecimalsOf } from './keep-decimals.js';
import { INLINE_HEADS } from '../../fhir/resources-inside.js';
import { hasField, headOf, withElementsOf } from './hidden-fields.js';
import type { AccessRules } from '../rule.js';

/**
 * Rejects changes to guarded elements: on creation they must be absent, otherwise as shown to the writer. Stored values
 * do not affect the decision.
 *
 * @param shown the stored resource as shown to the writer; null on creation
 * @returns the top-level elements to keep from the stored resource; none on creation
 * @throws FhirError `forbidden` - names the element
 */
export function assertGuarded(asked: AnyResource, shown: AnyResource | null, rules: AccessRules): ReadonlySet<string> {
  const guarded = guardedElements(asked.resourceType, rules);
  const kept = new Set<string>();
  for (const name of guarded) {
    const expected = shown === null ? {} : elementOf(shown, name);
    if (!sameJson(elementOf(asked, name), expected)) throw refusal(asked, name);
    if (shown !== null) kept.add(name);
  }
  for (const head of INLINE_HEADS) {
    if (guarded.has(head)) continue;
    if (shown !== null && holdsGuarded(shown, head, rules)) {
      if (!sameJson(elementOf(asked, head), elementOf(shown, head))) throw refusal(asked, head);
      kept.add(head);
    } else if (setsGuarded(asked, head, rules)) throw refusal(asked, head);
  }
  return kept;
}

/** True if a resource inside another has a type with guarded elements. */
function holdsGuarded(resource: AnyResource, head: string, rules: AccessRules): boolean {
  return resourcesInside(elementsOf(resource), head).some(
    (inner) => guardedElements(inner['resourceType'] as string, rules).size > 0,
  );
}

/** True if a resource inside another has an element that is guarded. */
function setsGuarded(resource: AnyResource, head: string, rules: AccessRules): boolean {
  return resourcesInside(elementsOf(resource), head).some((inner) =>
    [...guardedElements(inner['resourceType'] as string, rules)].some((name) =>
      hasField(inner as unknown as AnyResource, name),
    ),
  );
}

/** The fields that a writer cannot change. */
export interface FixedFields {
  /** Top-level elements kept from the stored resource. */
  readonly kept: ReadonlySet<string>;
  /** Element paths that the writer sees and may repeat, but not change. */
  readonly readonly: readonly string[];
  /** The stored resource as shown to the writer; null on creation. */
  readonly shown: AnyResource | null;
  /** Set if the writer may not read it, so that repeating a value would be guessing. */
  readonly unread: boolean;
}

/** The resource to be stored. */
export interface KeptFields {
  readonly after: AnyResource;
  /** Its top-level elements that come from the stored resource. */
  readonly kept: ReadonlySet<string>;
}

/**
 * The resource to store, with the fields that the writer cannot change.
 *
 * @returns a `forbidden` error that names the field, if the writer changes such a field
 */
export function keepFields(
  model: FhirModel,
  before: AnyResource | null,
  asked: AnyResource,
  { kept, readonly, shown, unread }: FixedFields,
): KeptFields | FhirError {
  if (before === null || shown === null) {
    const set = readonly.find((path) => hasField(asked, path));
    return set === undefined ? { after: asked, kept } : refusal(asked, set);
  }
  const restored = new Set(kept);
  const repeated: string[] = [];
  for (const path of readonly) {
    const head = headOf(path);
    if (kept.has(head)) continue;
    const isAbsent = !has(asked, head);
    if (unread) {
      if (!isAbsent || hasOtherForm(model, asked, head)) return refusal(asked, path);
      restored.add(head);
    } else if (hasField(asked, path) || hasField(shown, path)) {
      // Another form of the choice would change it or be present together with it.
      if (isAbsent && hasOtherForm(model, asked, head)) return refusal(asked, path);
      if (isAbsent) restored.add(head);
      else if (!sameJson(at(asked, path), at(shown, path))) return refusal(asked, path);
      else repeated.push(path);
    }
  }
  const after = withDecimalsOf(shown, asked, repeated);
  return { after: restored.size === 0 ? after : withElementsOf(before, after, restored), kept: restored };
}

function has(resource: AnyResource, name: string): boolean {
  return Object.keys(elementOf(resource, name)).length > 0;
}

/** True if a choice is absent in the named form but has a value in another one. */
function hasOtherForm(model: FhirModel, resource: AnyResource, name: string): boolean {
  return formsOf(model, resource.resourceType, name).some((form) => has(resource, form));
}

function at(resource: AnyResource, path: string): JsonObject {
  return onlyPath(elementsOf(resource), path.split('.'));
}

/** An element of a resource: its value and its `_` sibling; of `meta` what a server does not set itself. */
function elementOf(resource: AnyResource, name: string): JsonObject {
  if (name !== 'meta') return onlyPath(elementsOf(resource), [name]);
  if (!isJsonObject(resource.meta)) return onlyPath(elementsOf(resource), [name]);
  const { versionId: _v, lastUpdated: _l, project: _p, author: _a, ...rest } = resource.meta;
  return Object.keys(rest).length === 0 ? {} : { meta: rest };
}

/** The value at a path with the lists that enclose it, without siblings: `{ name: [{ given: ['A'] }, {}] }`. */
function onlyPath(source: JsonObject, [head, ...rest]: readonly string[]): JsonObject {
  const only = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(only) : isJsonObject(value) ? onlyPath(value, rest) : undefined;
  const names = [head!, `_${head!}`].filter((name) => Object.hasOwn(source, name));
  return Object.fromEntries(names.map((name) => [name, rest.length === 0 ? source[name] : only(source[name])]));
}

function refusal(resource: AnyResource, path: string): FhirError {
  const { resourceType } = resource;
  const expression = [`${resourceType}.${path}`];
  return new FhirError('forbidden', `Not allowed to write the field ${path} of ${resourceType}`, {
    issues: [{ code: 'forbidden', diagnostics: 'This field cannot be written', expression }],
  });
}
