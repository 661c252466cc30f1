import { type Condition, looksAtRow } from '../../sql/pages/condition.js';
import { inTime, isCurrent, type RowScope } from '../../sql/rows.js';
import { allOf, FALSE, type Sql, sql } from '../../sql/sql.js';
import { countStatement, type Repeats } from './count.js';
import type { Probes } from '../pages/probe.js';
import { countOfCollection } from '../rows/shapes.js';

/**
 * The statement that counts the resources that meet all conditions: a single condition in its own index, several by
 * testing the rows of the shortest scan. See count-sets.ts for counts of many rows.
 */
export function countOfConditions(
  conditions: readonly Condition[],
  scope: RowScope,
  probes: Probes,
  repeats: Repeats,
): Sql {
  const [first, second] = conditions;
  if (first === undefined) return countOfCollection(scope.collection as number);
  const inIndex = second === undefined && first.criteria && countStatement(first.criteria, scope, repeats);
  if (inIndex) return inIndex;
  const start = shortestOf(conditions, probes);
  const tests = conditions.filter((one) => one !== start).map(({ test }) => test);
  return countFrom(start, tests, scope);
}

/**
 * Reads all scans, further and further until one of them ends. A few rows are tested in less time than an indirect scan
 * may take to find its first one.
 */
function shortestOf(conditions: readonly Condition[], probes: Probes): Condition | undefined {
  const direct = conditions.filter((one) => one.direct === true && one.scan !== undefined);
  const few = direct.length === conditions.length ? undefined : probes.shortestUnder(LOOKS[0]!, direct);
  if (few !== undefined) return few.condition;
  const scans = conditions.filter(({ scan }) => scan !== undefined);
  if (scans.length < 2) return scans[0];
  for (const look of LOOKS) {
    const worth = scans.filter((one) => one.direct === true || (one.reads ?? 0) <= look);
    const shortest = probes.shortestUnder(look, worth);
    if (shortest !== undefined) return shortest.condition;
  }
  return scans[0];
}

/** How far scans are read to find the shortest one, in rows. */
const LOOKS: readonly number[] = [10_000, 40_000, 160_000, 640_000, Number.MAX_SAFE_INTEGER];

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
