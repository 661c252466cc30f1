import { FhirError } from '../../fhir/error.js';
import { quote } from '../../fhir/messages.js';

/** Separators of search values; a preceding `\` escapes them, and itself. */
type Separator = ',' | '|' | '$';

/**
 * Splits text at each unescaped separator. The parts keep their escapes, for further splits.
 *
 * `splitEscaped('a\\,b,c', ',')` is `['a\\,b', 'c']`. See https://hl7.org/fhir/R4/search.html#escaping.
 */
export function splitEscaped(text: string, separator: Separator): string[] {
  // Most values contain no backslash.
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

/** The number of parts {@link splitEscaped} would return, without creating them. */
export function countEscaped(text: string, separator: Separator): number {
  let parts = 1;
  for (let position = 0; position < text.length; position++) {
    if (text[position] === '\\') position++;
    else if (text[position] === separator) parts++;
  }
  return parts;
}

/**
 * Removes the escapes from a fully split part.
 *
 * @throws FhirError `invalid` - a backslash precedes anything but `,`, `|`, `$` or a backslash.
 */
export function unescape(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(/\\([\s\S]?)/g, (_, escaped: string) => {
    if (escaped !== '' && ',|$\\'.includes(escaped)) return escaped;
    throw new FhirError(
      'invalid',
      `A backslash is only allowed before "," "|" "$" or "\\", which ${quote(text)} breaks`,
    );
  });
}

/** Escapes text as a literal of the search syntax: `escapeValue('a,b')` is `'a\\,b'`. */
export function escapeValue(text: string): string {
  return text.replace(/[\\,|$]/g, '\\$&');
}
