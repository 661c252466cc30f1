import { type Condition, looksAtRow } from '../../sql/pages/condition.js';
import { inTime, isCurrent, type RowScope } from '../../sql/rows.js';
import { allOf, FALSE, type Sql, sql } from '../../sql/sql.js';
import type { PreparedSearch } from '../pages/prepared-search.js';

/** The statement that counts the resources that meet all conditions, by testing the rows of the shortest scan. */
export function countStatement(search: PreparedSearch): Sql {
  const { conditions, scope } = search;
  const scans = conditions.filter(({ scan }) => scan !== undefined);
  const start = scans.length < 2 ? scans[0] : (search.shortestScan(Infinity)?.condition ?? scans[0]);
  const tests = conditions.filter((one) => one !== start).map(({ test }) => test);
  return countFrom(start, tests, scope);
}

/** @param start undefined: all resources of the type */
function countFrom(start: Condition | undefined, tests: readonly Sql[], scope: RowScope): Sql {
  const where = allOf([inTime(sql`r0.key`, scope), ...tests]);
  // SQLite drops the tests of a scan together with a FALSE condition, and then cannot use its partial index.
  if (where === FALSE) return sql`SELECT 0`;
  if (start === undefined) return sql`SELECT count(*) FROM resource r0 WHERE ${allOf([isCurrent(scope), where])}`;
  const row = looksAtRow(where) ? sql`s CROSS JOIN resource r0 ON r0.key = s.key` : sql`s AS r0`;
  // SQLite leaves the DISTINCT to the index if the rows of a resource are adjacent in it.
  return sql`WITH s (key) AS (${start.scan!}) SELECT count(*) FROM (SELECT DISTINCT r0.key FROM ${row} WHERE ${where})`;
}
