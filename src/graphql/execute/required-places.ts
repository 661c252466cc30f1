/** A response object, or a list of the response. */
type Around = object;

/**
 * The places of a response that may not be null, as `!` in the types of the host's fields says. A null there makes the
 * object or list around it null, up to the first place that may be null. See
 * https://spec.graphql.org/October2021/#sec-Handling-Field-Errors.
 */
export class RequiredPlaces {
  // PERF: most requests have none.
  #keys: Map<Around, Set<string>> | undefined;
  #lists: Set<Around> | undefined;

  add(around: Around, key: string): void {
    this.#keys ??= new Map();
    const keys = this.#keys.get(around);
    if (keys === undefined) this.#keys.set(around, new Set([key]));
    else keys.add(key);
  }

  addItems(list: readonly unknown[]): void {
    (this.#lists ??= new Set()).add(list);
  }

  has(around: Around, key: string): boolean {
    return this.#keys?.get(around)?.has(key) === true;
  }

  /** True if no place of the response is required. */
  get isEmpty(): boolean {
    return this.#keys === undefined && this.#lists === undefined;
  }

  /** The value with nulls moved up to where they are allowed. It changes the value in place. */
  propagate(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    const keys = this.#keys?.get(value);
    let isLost = false;
    if (Array.isArray(value)) {
      value.forEach((item, index) => {
        value[index] = this.propagate(item);
        isLost ||= value[index] === null && (keys?.has(String(index)) === true || this.#lists?.has(value) === true);
      });
      return isLost ? null : value;
    }
    const object = value as { [key: string]: unknown };
    for (const key of Object.keys(object)) {
      const inner = object[key];
      if (typeof inner !== 'object' && keys === undefined) continue;
      const kept = this.propagate(inner);
      if (kept !== inner) object[key] = kept;
      isLost ||= kept === null && keys?.has(key) === true;
    }
    return isLost ? null : object;
  }
}
