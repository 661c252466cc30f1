import type { Sql, SqlValue } from '../../sql/sql.js';
import type { PostgresScriptStatement } from './driver.js';

/** Only tests change it. */
export const COPY = {
  /**
   * Rows from which COPY, despite its additional round trips, takes less time than arrays. A group of 32 small commits
   * of Observations has 600.
   */
  fromRows: 1_000,
  /**
   * UTF-16 units of the rows' texts from which COPY is used for fewer rows: the driver encodes all arrays of a statement in one
   * turn of the event loop, and the rows of COPY piece by piece.
   */
  fromCharacters: 1_000_000,
};

/**
 * The statement that writes rows by COPY.
 *
 * @param columns the columns of the table; no name comes from callers
 * @param first the value of the first column in every row
 */
export function copyInto(
  table: Sql,
  columns: Sql,
  first: string,
  rows: Iterable<readonly SqlValue[]>,
): PostgresScriptStatement {
  return { text: `COPY ${table.text} (${columns.text}) FROM STDIN`, rows: copyText(first, rows) };
}

/**
 * Rows in the text format of COPY, in pieces of whole lines.
 *
 * Texts of PostgreSQL cannot hold U+0000; it becomes U+0001, as in statements.ts.
 * See https://www.postgresql.org/docs/current/sql-copy.html#id-1.9.3.55.9.2.
 *
 * @param first the value of the first column of every row
 */
export function* copyText(first: string, rows: Iterable<readonly SqlValue[]>): Generator<string, void> {
  const start = fieldText(first);
  let text = '';
  for (const row of rows) {
    text += start;
    for (const value of row) text += `\t${fieldText(value)}`;
    text += '\n';
    if (text.length < PIECE) continue;
    yield text;
    text = '';
  }
  if (text !== '') yield text;
}

/** Minimum length of a piece, in UTF-16 units. */
const PIECE = 1 << 16;

function fieldText(value: SqlValue): string {
  if (value === null) return '\\N';
  if (typeof value === 'number') return String(value);
  return SPECIAL.test(value) ? value.replaceAll(EACH_SPECIAL, (one) => ESCAPES[one]!) : value;
}

/** Characters that would end a field, a row or all rows, or begin an escape. */
const SPECIAL = /[\0\t\n\r\\]/;
const EACH_SPECIAL = new RegExp(SPECIAL, 'g');

const ESCAPES: { readonly [special: string]: string } = {
  '\0': '\u0001',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  '\\': '\\\\',
};
