import { FhirError } from '../error.js';

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
  return !NO_BASE64.test(text);
}

const NO_BASE64 = /[^A-Za-z0-9+/=]/;

/** Counts the values in a value, up to a bound. Texts count by their length, base64 too. */
export function boundedSize(value: unknown, bound: number): number {
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

/**
 * Refuses a JSON text with too many values before it is parsed. Texts of any length count as one here.
 *
 * @param what what the text is, for the message: `The body`
 * @throws FhirError `too-costly`
 */
export function assertFewValues(text: string, max: number, what: string): void {
  // Each character ends or begins at most one value.
  if (text.length < max || countValues(text, max) <= max) return;
  throw new FhirError('too-costly', `${what} has more than ${max} values; send less at once`, { details: { max } });
}

/** The number of values in a JSON text, up to a bound: each comma ends one, and so does each filled object or list. */
function countValues(text: string, bound: number): number {
  let values = 1;
  for (let at = 0; at < text.length && values <= bound; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = closingQuote(text, at);
        break;
      case COMMA:
        values += 1;
        break;
      case BRACE:
      case BRACKET:
        if (!isClosing(text[skipSpace(text, at + 1)])) values += 1;
    }
  }
  return values;
}

/** The end of the string that begins here; the end of the text for an open one. */
export function closingQuote(text: string, start: number): number {
  const end = text.indexOf('"', start + 1);
  if (text.charCodeAt(end - 1) !== BACKSLASH) return end < 0 ? text.length : end;
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at++;
  }
  return text.length;
}

/** The offset of the next character after white space. */
export function skipSpace(text: string, start: number): number {
  for (let at = start; ; at++) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
  }
}

export function isClosing(char: string | undefined): boolean {
  return char === ']' || char === '}';
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const BRACE = 0x7b;
