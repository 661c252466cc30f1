/** The number of values inside the elements of one evaluation; each element is counted once. */
export class ElementWeights {
  readonly #known = new Map<object, number>();

  /** The values inside all elements of a list; primitive items have none. */
  of(items: readonly unknown[]): number {
    return items.reduce<number>((sum, item) => sum + this.#weightOf(dataOf(item)), 0);
  }

  #weightOf(value: unknown): number {
    if (!isJson(value)) return 0;
    let weight = this.#known.get(value);
    if (weight === undefined) {
      weight = countValues(value);
      this.#known.set(value, weight);
    }
    return weight;
  }
}

function countValues(element: object): number {
  let count = 0;
  const pending: object[] = [element];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (const value of Object.values(next) as unknown[]) {
      count += 1;
      if (isJson(value)) pending.push(value);
    }
  }
  return count;
}

/** Objects of fhirpath.js itself lead to its whole context. */
function isJson(value: unknown): value is object {
  return Array.isArray(value) || (isElement(value) && Object.getPrototypeOf(value) === Object.prototype);
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
