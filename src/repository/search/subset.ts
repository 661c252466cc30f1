import { keepDecimalTexts } from '../../fhir/json/decimal-texts.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { type AnyResource, elementsOf, isJsonObject, type JsonObject } from '../../fhir/resource.js';

/** The part of a resource that a client requests. */
export type Subset =
  /** `_elements` and `_fields`: these elements, by name or base name of a choice. */
  | { readonly kind: 'elements'; readonly names: ReadonlySet<string> }
  /** See https://hl7.org/fhir/R4/search.html#summary. */
  | { readonly kind: 'summary' }
  | { readonly kind: 'text' }
  | { readonly kind: 'data' };

/**
 * Reduces a resource, and marks it as reduced. Required elements and modifiers stay.
 */
export function subsetOf(model: FhirModel, resource: AnyResource, subset: Subset): AnyResource {
  const { resourceType } = resource;
  const elements = elementsOf(resource);
  const kept =
    subset.kind === 'summary'
      ? summaryOf(model, resourceType, elements)
      : keep(elements, (name) => isKept(model, resourceType, baseName(model, resourceType, name), subset));
  return { ...kept, resourceType, meta: marked(elements['meta']) };
}

function isKept(
  model: FhirModel,
  type: string,
  base: string,
  subset: Exclude<Subset, { readonly kind: 'summary' }>,
): boolean {
  if (subset.kind === 'data') return base !== 'text';
  if (ALWAYS.has(base) || isRequired(model, type, base)) return true;
  return subset.kind === 'text' ? base === 'text' : subset.names.has(base);
}

/** Elements without which a resource would mean something else. */
const ALWAYS: ReadonlySet<string> = new Set(['resourceType', 'id', 'meta', 'implicitRules', 'modifierExtension']);

/** The summary elements of an element, and of the backbone elements in it. */
function summaryOf(model: FhirModel, type: string, elements: JsonObject): JsonObject {
  const names = model.summaryElements(type) ?? [];
  const kept = keep(elements, (name) => {
    const base = baseName(model, type, name);
    return ALWAYS.has(base) || names.includes(base) || isRequired(model, type, base);
  });
  const reduced = Object.fromEntries(
    Object.entries(kept).map(([name, value]) => {
      const element = model.typeDefinition(type)?.elements.get(name);
      if (element === undefined || model.typeDefinition(element.type)?.path === undefined) return [name, value];
      const inside = (one: unknown): unknown => (isJsonObject(one) ? summaryOf(model, element.type, one) : one);
      return [name, Array.isArray(value) ? value.map(inside) : inside(value)];
    }),
  );
  return keepDecimalTexts(kept, reduced);
}

function keep(elements: JsonObject, isWanted: (name: string) => boolean): JsonObject {
  return keepDecimalTexts(elements, Object.fromEntries(Object.entries(elements).filter(([name]) => isWanted(name))));
}

/** `value` for `valueQuantity` and `_valueString`. */
function baseName(model: FhirModel, type: string, name: string): string {
  const bare = name.replace(/^_/, '');
  return model.typeDefinition(type)?.elements.get(bare)?.choiceOf ?? bare;
}

function isRequired(model: FhirModel, type: string, base: string): boolean {
  const elements = model.typeDefinition(type)?.elements;
  if (elements === undefined) return false;
  const own = elements.get(base);
  if (own !== undefined) return own.required;
  return [...elements.values()].some(({ choiceOf, required }) => choiceOf === base && required);
}

/** See https://hl7.org/fhir/R4/search.html#summary: clients must know that they do not have the whole resource. */
function marked(meta: unknown): object {
  const own = isJsonObject(meta) ? meta : {};
  const tags = Array.isArray(own['tag']) ? (own['tag'] as unknown[]) : [];
  return { ...own, tag: [...tags, SUBSETTED] };
}

const SUBSETTED = { system: 'http://terminology.hl7.org/CodeSystem/v3-ObservationValue', code: 'SUBSETTED' };
