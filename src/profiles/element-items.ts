import type { FhirModel } from '../fhir/model/fhir-model.js';
import type { Step } from '../fhir/validation/findings.js';
import { isJsonObject, type JsonObject } from '../fhir/resource.js';

/** One value of an element. */
export interface ElementItem {
  /** undefined for a primitive that has extensions only. */
  readonly value: unknown;
  /** The id and the extensions of a primitive. */
  readonly sibling: JsonObject | undefined;
  /** The FHIR type of the value; empty if it is unknown. */
  readonly type: string;
  readonly isChoice: boolean;
  /** From the parent to the item. */
  readonly steps: readonly Step[];
}

/** The values of an element of a parent: `name`, `value[x]` for all forms of a choice, `valueQuantity` for one. */
export function itemsOf(model: FhirModel, parent: ElementItem, name: string): readonly ElementItem[] {
  const object = isJsonObject(parent.value) ? parent.value : parent.sibling;
  if (object === undefined) return [];
  const elements = model.typeDefinition(parent.type)?.elements;
  if (name.endsWith('[x]')) {
    const base = name.slice(0, -3);
    return [...(elements?.values() ?? [])].flatMap((element) =>
      element.choiceOf === base
        ? itemsNamed(object, element.name, element.type, `${base}.ofType(${element.type})`)
        : [],
    );
  }
  const element = elements?.get(name);
  const type = element?.type ?? (name === 'extension' ? 'Extension' : '');
  const step = element?.choiceOf === undefined ? name : `${element.choiceOf}.ofType(${element.type})`;
  return itemsNamed(object, name, type, step, element?.choiceOf !== undefined);
}

function itemsNamed(
  object: JsonObject,
  name: string,
  type: string,
  step: string,
  isChoice = step !== name,
): readonly ElementItem[] {
  const value = Object.hasOwn(object, name) ? object[name] : undefined;
  const sibling = Object.hasOwn(object, `_${name}`) ? object[`_${name}`] : undefined;
  const resourceType = (one: unknown): string =>
    isJsonObject(one) && typeof one['resourceType'] === 'string' ? one['resourceType'] : type;
  if (!Array.isArray(value) && !Array.isArray(sibling)) {
    if ((value ?? undefined) === undefined && !isJsonObject(sibling)) return [];
    return [{ ...itemOf(value, sibling), type: resourceType(value), isChoice, steps: [step] }];
  }
  const values: readonly unknown[] = Array.isArray(value) ? value : [];
  const siblings: readonly unknown[] = Array.isArray(sibling) ? sibling : [];
  return Array.from({ length: Math.max(values.length, siblings.length) }, (_, index) => index).flatMap((index) => {
    const one = values[index];
    if ((one ?? undefined) === undefined && !isJsonObject(siblings[index])) return [];
    return [{ ...itemOf(one, siblings[index]), type: resourceType(one), isChoice, steps: [step, index] }];
  });
}

function itemOf(value: unknown, sibling: unknown): Pick<ElementItem, 'value' | 'sibling'> {
  return { value: value ?? undefined, sibling: isJsonObject(sibling) ? sibling : undefined };
}
