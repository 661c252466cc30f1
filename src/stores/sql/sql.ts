/** A value of a column or parameter. */
export type SqlValue = string | number | null;

/**
 * A piece of SQL with its bound values.
 *
 * The {@link sql} tag creates it from literal source text; every other value becomes a `?`. Calls of the constructor
 * pass only texts that this library generates.
 */
export class Sql {
  constructor(
    /** Statement text with `?` placeholders. */
    readonly text: string,
    /** One value per placeholder. */
    readonly values: readonly SqlValue[],
  ) {}
}

/**
 * SQL from a template: pieces of SQL are spliced in, values are bound.
 *
 * @example
 * sql`SELECT key FROM resource WHERE ${condition} AND id = ${id}`   // … AND id = ?
 */
export function sql(strings: TemplateStringsArray, ...parts: readonly (Sql | SqlValue)[]): Sql {
  let text = strings[0]!;
  const values: SqlValue[] = [];
  parts.forEach((part, index) => {
    if (part instanceof Sql) {
      text += part.text;
      for (const value of part.values) values.push(value);
    } else {
      text += '?';
      values.push(part);
    }
    text += strings[index + 1]!;
  });
  return new Sql(text, values);
}

export const TRUE = sql`TRUE`;
export const FALSE = sql`FALSE`;

/** Conjunction in parentheses; true if empty. */
export function allOf(conditions: readonly Sql[]): Sql {
  if (conditions.some((one) => one === FALSE)) return FALSE;
  const kept = conditions.filter((one) => one !== TRUE);
  return kept.length === 0 ? TRUE : balanced(kept, ' AND ');
}

/** Disjunction in parentheses; false if empty. */
export function anyOf(conditions: readonly Sql[]): Sql {
  if (conditions.some((one) => one === TRUE)) return TRUE;
  const kept = conditions.filter((one) => one !== FALSE);
  return kept.length === 0 ? FALSE : balanced(kept, ' OR ');
}

export function negation(condition: Sql): Sql {
  return condition === TRUE ? FALSE : condition === FALSE ? TRUE : sql`NOT ${condition}`;
}

/** The condition that some row exists. @param from the tables and joins after FROM */
export function exists(from: Sql, where: Sql): Sql {
  return where === FALSE ? FALSE : sql`EXISTS (SELECT 1 FROM ${from} WHERE ${where})`;
}

/** The pieces, separated by commas. */
export function list(pieces: readonly Sql[]): Sql {
  return join(pieces, ', ');
}

/** All rows of the selects, duplicates included. Accepts any number of selects; SQLite's own limit is 500 at once. */
export function unionAll(selects: readonly Sql[]): Sql {
  if (selects.length <= TERMS_PER_UNION) return join(selects, ' UNION ALL ');
  const groups: Sql[] = [];
  for (let start = 0; start < selects.length; start += TERMS_PER_UNION) {
    const group = join(selects.slice(start, start + TERMS_PER_UNION), ' UNION ALL ');
    groups.push(sql`SELECT * FROM (${group}) AS u`);
  }
  return unionAll(groups);
}

const TERMS_PER_UNION = 100;

/** A balanced tree: SQLite rejects expressions deeper than 1,000, and a chain of ORs is as deep as it is long. */
function balanced(conditions: readonly Sql[], operator: ' AND ' | ' OR '): Sql {
  if (conditions.length === 1) return conditions[0]!;
  if (conditions.length <= 8) return sql`(${join(conditions, operator)})`;
  const half = conditions.length >> 1;
  const halves = [balanced(conditions.slice(0, half), operator), balanced(conditions.slice(half), operator)];
  return sql`(${join(halves, operator)})`;
}

function join(pieces: readonly Sql[], separator: string): Sql {
  return new Sql(
    pieces.map((piece) => piece.text).join(separator),
    pieces.flatMap((piece) => piece.values),
  );
}
