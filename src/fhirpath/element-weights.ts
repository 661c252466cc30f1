import { isPlainObject } from '../fhir/resource.js';

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

/**
 * The number of values inside an object or a list, each level included.
 *
 * @param most where to stop counting; the result is larger then. Default: counts all.
 */
export function countValues(root: object, most = Infinity): number {
  let count = 0;
  const pending: object[] = [root];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    // `for … in` makes texts of the positions of lists, and takes eight times as long.
    const values: readonly unknown[] = Array.isArray(next) ? next : Object.values(next);
    count += values.length;
    if (count > most) return count;
    for (const value of values) if (isJson(value)) pending.push(value);
  }
  return count;
}

/** Objects of libraries, such as those of fhirpath.js, can lead anywhere. */
function isJson(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}
