/** Numbers of values. Only tests change them. */
export const PARTS = {
  /** In a value that takes about 5 ms to write or to copy. */
  long: 32_768,
  /** In a part of it: about 0.3 ms. */
  size: 2_048,
};

/** Whether work on a value, with all in it, should be done in parts, so that other work runs between them. */
export function isLong(value: unknown): boolean {
  return sizeOf(value, PARTS.long, CHARACTERS_PER_VALUE) >= PARTS.long;
}

/** Characters of a string that take about as long to write as a short value. */
export const CHARACTERS_PER_VALUE = 64;

/** Whether a value is short enough to be a part. */
export function isPart(value: unknown): boolean {
  return typeof value !== 'object' || value === null || sizeOf(value, PARTS.size) < PARTS.size;
}

/** {@link isPart} of work that takes longer for a longer text. */
export function isPartToWrite(value: unknown): boolean {
  return sizeOf(value, PARTS.size, CHARACTERS_PER_VALUE) < PARTS.size;
}

/**
 * Counts the values in a value, up to a bound.
 *
 * @param perText the number of characters of a string that count as one more value. Default: a string is one value of
 * any length
 */
export function sizeOf(value: unknown, bound: number, perText = Infinity): number {
  const open: unknown[] = [value];
  let size = 0;
  while (open.length > 0 && size < bound) {
    const next = open.pop();
    size += 1;
    if (typeof next === 'string') size += next.length / perText;
    if (typeof next !== 'object' || next === null) continue;
    if (Array.isArray(next)) {
      if (next.length >= bound) return bound;
      for (const item of next) open.push(item);
    } else {
      for (const name in next) open.push((next as { readonly [name: string]: unknown })[name]);
    }
  }
  return size;
}
