import { FhirError } from '../../fhir/error.js';
import { quote } from '../../fhir/messages/quote.js';

/** Separators of search values; `\` before one of them, or before itself, takes its meaning away. */
type Separator = ',' | '|' | '$';

/**
 * Cuts a text at each separator that is not escaped. The parts keep their escapes, for further cuts.
 *
 * `splitEscaped('a\\,b,c', ',')` is `['a\\,b', 'c']`. See https://hl7.org/fhir/R4/search.html#escaping.
 */
export function splitEscaped(text: string, separator: Separator): string[] {
  // PERF: nearly all values hold no backslash.
  if (!text.includes('\\')) return text.split(separator);
  const parts: string[] = [];
  let start = 0;
  for (let position = 0; position < text.length; position++) {
    if (text[position] === '\\') position++;
    else if (text[position] === separator) {
      parts.push(text.slice(start, position));
      start = position + 1;
    }
  }
  parts.push(text.slice(start));
  return parts;
}

/** How many parts {@link splitEscaped} would give, without making them. */
export function countEscaped(text: string, separator: Separator): number {
  let parts = 1;
  for (let position = 0; position < text.length; position++) {
    if (text[position] === '\\') position++;
    else if (text[position] === separator) parts++;
  }
  return parts;
}

/**
 * Takes the escapes out of a part that needs no further cut.
 *
 * @throws FhirError `invalid` - a backslash stands before anything but `,`, `|`, `$` or a backslash.
 */
export function unescape(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(/\\([\s\S]?)/g, (_, escaped: string) => {
    if (escaped !== '' && ',|$\\'.includes(escaped)) return escaped;
    throw new FhirError('invalid', `A backslash must stand before "," "|" "$" or "\\", which ${quote(text)} breaks`);
  });
}

/** The text in a form that search syntax takes as a literal: `escapeValue('a,b')` is `'a\\,b'`. */
export function escapeValue(text: string): string {
  return text.replace(/[\\,|$]/g, '\\$&');
}
