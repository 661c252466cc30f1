import type { Sql, SqlValue } from '../../sql/sql.js';

/**
 * The text of a statement with its values in it, for messages of several statements, which take no values.
 *
 * See https://www.postgresql.org/docs/current/sql-syntax-lexical.html#SQL-SYNTAX-STRINGS-ESCAPE.
 */
export function withLiterals({ text, values }: Sql): string {
  let number = 0;
  return text.replaceAll('?', () => literal(values[number++]!));
}

function literal(value: SqlValue): string {
  if (value === null) return 'NULL';
  if (typeof value === 'number') return `(${value})`;
  const quoted = value.replaceAll('\0', '\u0001').replaceAll("'", "''");
  // Only backslashes depend on `standard_conforming_strings`.
  return quoted.includes('\\') ? ` E'${quoted.replaceAll('\\', '\\\\')}'` : `'${quoted}'`;
}
