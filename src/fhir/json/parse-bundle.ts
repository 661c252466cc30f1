import type { Pace } from '../../platform/pace.js';
import { assertFewValues, closingQuote, isClosing, skipSpace } from './json-values.js';
import { parseWithDecimals } from './note-decimals.js';

/**
 * {@link parseWithDecimals} for a Bundle: its entries, and the items of any other list in it, are parsed one by one, and
 * other work runs between them. Numbers among the items lose their digits; no list of a Bundle has any.
 *
 * @param maxValues maximum number of values of an entry, and of what is around the entries
 * @throws SyntaxError
 * @throws FhirError `too-costly` - too many values
 */
export async function parseBundle(text: string, maxValues: number, pace: Pace): Promise<unknown> {
  const lists: unknown[][] = [];
  /** The text with the number of each list in place of its items: `{"resourceType":"Bundle","entry":[0]}`. */
  let around = '';
  let copied = 0;
  let depth = 0;
  /** Where the current item begins; -1 outside of the lists. */
  let start = -1;
  const isObject = text[skipSpace(text, 0)] === '{';
  const take = (end: number): void => {
    const items = lists.at(-1)!;
    const item = text.slice(start, end);
    assertFewValues(item, maxValues, `Bundle.entry[${items.length}]`);
    items.push(parseWithDecimals(item));
    start = end + 1;
  };
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (char === '"') at = closingQuote(text, at);
    else if (char === '{' || char === '[') {
      depth += 1;
      if (depth !== 2 || char === '{' || !isObject) continue;
      around += `${text.slice(copied, at + 1)}${lists.length}`;
      lists.push([]);
      start = at + 1;
    } else if (char === ',' && depth === 2 && start >= 0) {
      take(at);
      if (pace.isSpent) await pace.next();
    } else if (isClosing(char)) {
      if (depth === 2 && start >= 0) {
        if (lists.at(-1)!.length > 0 || skipSpace(text, start) !== at) take(at);
        copied = at;
        start = -1;
      }
      depth -= 1;
    }
  }
  if (start < 0) around += text.slice(copied);
  assertFewValues(around, maxValues, 'The Bundle, without its entries,');
  const bundle = parseWithDecimals(around) as { [name: string]: unknown };
  if (lists.length === 0) return bundle;
  for (const name of Object.keys(bundle)) {
    const member = bundle[name];
    if (Array.isArray(member)) bundle[name] = lists[member[0] as number];
  }
  return bundle;
}
