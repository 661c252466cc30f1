import { type Sql, sql } from './sql.js';

// Conditions on texts. SQLite compares them byte by byte in UTF-8, which is the order of code points.

/** The column begins with the prefix, as one range. Everything begins with the empty prefix. */
export function startsWith(column: Sql, prefix: string): Sql {
  const end = prefixEnd(prefix);
  return end === undefined ? sql`${column} >= ${prefix}` : sql`${column} >= ${prefix} AND ${column} < ${end}`;
}

export function endsWith(column: Sql, suffix: string): Sql {
  const length = [...suffix].length;
  return length === 0 ? sql`${column} >= ''` : sql`substr(${column}, ${-length}) = ${suffix}`;
}

export function contains(column: Sql, part: string): Sql {
  return sql`instr(${column}, ${part}) > 0`;
}

/** The smallest text above all that begin with the prefix; undefined where there is none. */
function prefixEnd(prefix: string): string | undefined {
  const points = [...prefix].map((character) => character.codePointAt(0)!);
  while (points.length > 0) {
    const last = points.pop()!;
    if (last === 0x10ffff) continue;
    // The surrogates in between are no characters.
    const next = last + 1 >= 0xd800 && last + 1 <= 0xdfff ? 0xe000 : last + 1;
    return String.fromCodePoint(...points, next);
  }
  return undefined;
}
