import { isDeepStrictEqual } from 'node:util';
import { FhirError } from '../fhir/error.js';
import { elementsOf, isJsonObject, type AnyResource, type JsonObject } from '../fhir/resource.js';
import { INLINE_HEADS } from './mask-resource.js';
import { hasField, headOf, withFieldsOf } from './policy/hidden-fields.js';

/** What a writer must leave as it is. */
export interface FixedFields {
  /**
   * Element paths that the writer cannot see. Naming one is refused whatever its value, so that guessing tells nothing.
   */
  readonly unseen: readonly string[];
  /** Element paths that the writer sees and may repeat, but not change. */
  readonly readonly: readonly string[];
  /** What is stored, as the writer sees it; null where nothing is stored yet. */
  readonly seen: AnyResource | null;
}

/**
 * The resource to store when someone writes who does not see all of it: what is fixed stays as it was before.
 *
 * An element of which a part is hidden can be left as it is seen, but not changed: its items could not be matched up.
 *
 * @returns a `forbidden` error that names the field, where the writer touches what it may not
 */
export function keepFields(
  before: AnyResource | null,
  asked: AnyResource,
  fixed: FixedFields,
): AnyResource | FhirError {
  const named = fixed.unseen.find((path) => hasField(asked, path));
  if (named !== undefined) return refusal(asked, named);
  if (before === null || fixed.seen === null) {
    const set = fixed.readonly.find((path) => hasField(asked, path));
    return set === undefined ? asked : refusal(asked, set);
  }
  const restored = new Set<string>();
  for (const head of [...INLINE_HEADS, ...fixed.unseen.map(headOf)]) {
    const whole = fieldOf(before, head);
    const seen = fieldOf(fixed.seen, head);
    if (isDeepStrictEqual(whole, seen)) continue;
    if (!isDeepStrictEqual(fieldOf(asked, head), seen)) return refusal(asked, head);
    restored.add(head);
  }
  for (const path of fixed.readonly) {
    const head = headOf(path);
    if (!hasField(asked, path) && !hasField(fixed.seen, path)) continue;
    if (Object.keys(fieldOf(asked, head)).length === 0) restored.add(head);
    else if (!isDeepStrictEqual(at(asked, path), at(fixed.seen, path))) return refusal(asked, path);
  }
  return restored.size === 0 ? asked : withFieldsOf(before, asked, [...restored]);
}

function at(resource: AnyResource, path: string): JsonObject {
  return onlyPath(elementsOf(resource), path.split('.'));
}

/** An element of a resource: its value and its `_` sibling. */
function fieldOf(resource: AnyResource, name: string): JsonObject {
  return onlyPath(elementsOf(resource), [name]);
}

/** What stands at a path, with the lists around it and nothing beside it: `{ name: [{ given: ['A'] }, {}] }`. */
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
