import { countValues } from '../fhir/count-values.js';
import { isPlainObject } from '../fhir/json/plain-object.js';

/** The number of values inside the elements of one evaluation; each element is counted once. */
export class ElementWeights {
  readonly #known = new Map<object, number>();

  /** The values inside all elements of a list; primitive items have none. */
  of(items: readonly unknown[]): number {
    return items.reduce<number>((sum, item) => sum + this.#weightOf(dataOf(item)), 0);
  }

  #weightOf(value: unknown): number {
    if (!isElement(value)) return 0;
    let weight = this.#known.get(value);
    if (weight === undefined) {
      // A quantity, date or time that fhirpath.js made references all of the library.
      weight = Array.isArray(value) || isPlainObject(value) ? countValues(value) : 1;
      this.#known.set(value, weight);
    }
    return weight;
  }
}

/** Whether an item of fhirpath.js, or the value of one, has values inside. */
export function isElement(item: unknown): item is object {
  const value = dataOf(item);
  return typeof value === 'object' && value !== null;
}

/** The value of an item: fhirpath.js wraps those that come from a resource. */
export function dataOf(item: unknown): unknown {
  return typeof item === 'object' && item !== null && 'data' in item ? item.data : item;
}
