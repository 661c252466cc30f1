import { compareTexts } from '../../platform/texts.js';
import type { SqlValue } from './sql.js';

/** The smallest text greater than every text with the prefix, by code point; undefined if no such text exists. */
export function prefixEnd(prefix: string): string | undefined {
  const points = [...prefix].map((character) => character.codePointAt(0)!);
  while (points.length > 0) {
    const last = points.pop()!;
    if (last === 0x10ffff) continue;
    // Skip the surrogates, which are not characters.
    const next = last + 1 >= 0xd800 && last + 1 <= 0xdfff ? 0xe000 : last + 1;
    return String.fromCodePoint(...points, next);
  }
  return undefined;
}

/** Orders values of one kind as databases do. */
export function compareValues(a: SqlValue, b: SqlValue): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : compareTexts(String(a), String(b));
}
