/** Characters of a text that take about as long to index, copy or write as a short value. */
export const CHARACTERS_PER_VALUE = 64;

/** Characters of a text that count. Searches and sorts see no more of it. */
const MAX_COUNTED = 65_536;

/**
 * For how many values a text counts: one, and one more for each {@link CHARACTERS_PER_VALUE} characters of its first
 * 65,536. Base64 without line breaks is one value of any length, since nothing looks at its characters.
 */
export function textValues(text: string): number {
  if (text.length < CHARACTERS_PER_VALUE || isBase64(text)) return 1;
  return 1 + Math.floor(Math.min(text.length, MAX_COUNTED) / CHARACTERS_PER_VALUE);
}

function isBase64(text: string): boolean {
  return /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

/** Counts the values in a value, up to a bound. Texts count by their length, base64 too. */
export function sizeOf(value: unknown, bound: number): number {
  const open: unknown[] = [value];
  let size = 0;
  while (open.length > 0 && size < bound) {
    const next = open.pop();
    size += 1;
    if (typeof next === 'string') size += next.length / CHARACTERS_PER_VALUE;
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
