import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { inlineNames } from '../../fhir/resources-inside.js';
import { secretFields } from './administrative-types.js';
import { headOf } from './hidden-fields.js';
import type { AccessRules } from '../rule.js';
import { getOrCreate } from '../../platform/maps.js';

/**
 * The top-level elements of a type that some rule of a caller hides, whole or in part, and the secrets of the type. A
 * caller cannot change them, no matter which rule allows the write.
 *
 * They depend on the rules only, so that a rejection reveals nothing about stored data. If one typed form of a choice
 * is guarded, all are.
 */
export function guardedElements(type: string, rules: AccessRules): ReadonlySet<string> {
  const byType = getOrCreate(GUARDED, rules, () => new Map<string, ReadonlySet<string>>());
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
const GUARDED = new WeakMap<AccessRules, Map<string, ReadonlySet<string>>>();

/** The element itself, or every typed form of its choice. */
export function formsOf(model: FhirModel, type: string, name: string): readonly string[] {
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
