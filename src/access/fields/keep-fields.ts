import { FhirError } from '../../fhir/error.js';
import { copyElement, copyObject } from '../../fhir/json/decimal-texts.js';
import { sameJson } from '../../fhir/json/copy-json.js';
import { hasDecimalText } from '../../fhir/json/stringify-json.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import {
  type AnyResource,
  elementsOf,
  INLINE_HEADS,
  inlineNames,
  isJsonObject,
  type JsonObject,
  secretFields,
} from '../../fhir/resource.js';
import { oncePer } from '../../platform/collections.js';
import type { AccessRules } from '../rule.js';
import { hasField, headOf, withElementsOf } from './hidden-fields.js';

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

/**
 * The top-level elements of a type that some rule of a caller hides, whole or in part, and the secrets of the type. A
 * caller cannot change them, no matter which rule allows the write.
 *
 * They depend on the rules only, so that a rejection reveals nothing about stored data. If one typed form of a choice
 * is guarded, all are.
 */
export function guardedElements(type: string, rules: AccessRules): ReadonlySet<string> {
  const byType = guardedBy(rules);
  let guarded = byType.get(type);
  if (guarded === undefined) {
    const hidden = [...rules.rulesFor(type).flatMap((rule) => rule.hidden), ...secretFields(type)];
    guarded = new Set(hidden.flatMap((path) => formsOf(rules.model, type, headOf(path))));
    // Unknown names have no rules and are not cached, so the map is bounded.
    if (rules.model.typeDefinition(type) !== undefined) byType.set(type, guarded);
  }
  return guarded;
}

/** Rules live as long as their caller. */
const guardedBy = oncePer((_rules: AccessRules) => new Map<string, ReadonlySet<string>>());

/** The element itself, or every typed form of its choice. */
function formsOf(model: FhirModel, type: string, name: string): readonly string[] {
  if (name === 'resourceType' || name === 'id') return [];
  const elements = model.typeDefinition(type)?.elements;
  const choice = elements?.get(name)?.choiceOf;
  if (choice === undefined) return [name];
  return [...elements!.values()].filter(({ choiceOf }) => choiceOf === choice).map((form) => form.name);
}

/** The resources inside a resource: contained ones, those of a Bundle's entries, those of Parameters. */
export function resourcesInside(resource: JsonObject, head: string): readonly JsonObject[] {
  const found: JsonObject[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const item of value) visit(item);
    if (!isJsonObject(value)) return;
    if (typeof value['resourceType'] === 'string') found.push(value);
    for (const name of inlineNames(value)) if (Object.hasOwn(value, name)) visit(value[name]);
  };
  if (Object.hasOwn(resource, head)) visit(resource[head]);
  return found;
}

/**
 * Copies the digits of decimals at some paths from another resource: a caller who may not change a value may not change
 * its precision either. Clients that parse JSON into numbers send `1` back for `1.00`, so a different precision is no
 * reason to refuse.
 *
 * @param shown equals the resource at these paths, apart from how decimals are written
 */
export function withDecimalsOf(shown: AnyResource, asked: AnyResource, paths: readonly string[]): AnyResource {
  if (paths.length === 0 || !(hasDecimalText(shown) || hasDecimalText(asked))) return asked;
  const after = paths.reduce((one, path) => rewritten(elementsOf(shown), one, path.split('.')), elementsOf(asked));
  return after as unknown as AnyResource;
}

function rewritten(shown: JsonObject, asked: JsonObject, [head, ...rest]: readonly string[]): JsonObject {
  const copy: { [name: string]: unknown } = copyObject(asked);
  for (const name of [head!, `_${head!}`]) {
    if (!Object.hasOwn(shown, name) || !Object.hasOwn(asked, name)) continue;
    if (rest.length === 0) copyElement(copy, name, shown);
    else copy[name] = inside(shown[name], asked[name], rest);
  }
  return copy;
}

function inside(shown: unknown, asked: unknown, path: readonly string[]): unknown {
  if (Array.isArray(shown) && Array.isArray(asked)) return asked.map((item, at) => inside(shown[at], item, path));
  return isJsonObject(shown) && isJsonObject(asked) ? rewritten(shown, asked, path) : asked;
}
