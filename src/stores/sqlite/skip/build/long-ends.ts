import type { IndexTable } from '../../../sql/lookup.js';
import { type Sql, sql, type SqlValue } from '../../../sql/sql.js';
import { TABLE_NAMES } from '../../../sql/index-tables.js';
import { isLong } from '../../../sql/pages/walk-bounds.js';
import { byEnd } from '../../scans/walk-bounds.js';

// Periods without an end are long, and some types have little else: every such period that began before a range reaches into
// it. So a skip index also has the resources with long intervals in the order of their ends, if they are many.

/** The table with the long intervals of a type of value, and its index by their ends; undefined for other values. */
export function longIntervalsOf(
  table: IndexTable | undefined,
): { readonly from: Sql; readonly name: Sql; readonly isLong: Sql } | undefined {
  if (table !== 'date' && table !== 'quantity') return undefined;
  return { from: byEnd(table), name: TABLE_NAMES[table], isLong: isLong(table) };
}

/** The resources with long intervals in the order of the end of their last one, and these ends. */
export function longEnds(
  table: IndexTable | undefined,
  parameter: number,
  column: (query: Sql) => readonly SqlValue[],
): readonly [readonly number[], readonly SqlValue[]] {
  const intervals = longIntervalsOf(table);
  if (intervals === undefined) return [[], []];
  const rows = sql`FROM ${intervals.from}
    WHERE x.parameter = ${parameter} AND x.grp = 0 AND ${intervals.isLong} ORDER BY x.high, x.low, x.resource`;
  const keys = column(sql`SELECT x.resource ${rows}`) as readonly number[];
  const ends = column(sql`SELECT x.high ${rows}`);
  const last = new Map(keys.map((key, place) => [key, place]));
  const isLast = (_: unknown, place: number): boolean => last.get(keys[place]!) === place;
  return [keys.filter(isLast), ends.filter(isLast)];
}

/** The end of the last long interval of the resource `r0`; null if it has none. */
export function lastEndOf(table: IndexTable | undefined, parameter: number): Sql {
  const { name, isLong } = longIntervalsOf(table)!;
  return sql`(SELECT max(x.high) FROM ${name} x
    WHERE x.resource = r0.key AND x.parameter = ${parameter} AND x.grp = 0 AND ${isLong})`;
}
