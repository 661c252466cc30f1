import { collationKey } from './fold.js';
import type { StringValue } from './index-entry.js';

/** Whether a string takes more than about a tenth of a millisecond to fold. */
export function isLongString(text: string): boolean {
  return text.length >= LONG_STRING;
}

/** Minimum length of a long string, in UTF-16 code units. */
const LONG_STRING = 1_024;

/**
 * The {@link collationKey} of a string value.
 *
 * PERF: the keys of long strings are kept with the value. Folding, the marks of the smallest and largest value, rows
 * and sorts need the key, and for 64 Ki characters it takes up to 7 ms.
 */
export function orderKey(value: StringValue): string {
  if (!isLongString(value.text)) return collationKey(value.text);
  let key = KEYS.get(value);
  if (key === undefined) KEYS.set(value, (key = collationKey(value.text)));
  return key;
}

const KEYS = new WeakMap<StringValue, string>();
