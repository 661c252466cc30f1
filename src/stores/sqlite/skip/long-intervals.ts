import { lookupsByTable } from '../../sql/match-sql.js';
import { rangeOf } from '../../sql/pages/value-range.js';
import { inTime, ofParameter, parameterKey, type RowScope } from '../../sql/rows.js';
import { endOfShort } from '../../sql/skip/range-tests.js';
import { allOf, anyOf, sql, TRUE } from '../../sql/sql.js';
import { intervalScan } from '../pages/walk-bounds.js';
import type { RangeCriteria } from './range-granules.js';
import type { ScannedSets } from './scanned-sets.js';

/** Resources with long intervals; undefined where they are many. */
export interface Intervals {
  /** They begin before the range, and match. */
  readonly reaching: readonly number[] | undefined;
  /** They begin in the range, and do not match because of their end. */
  readonly leaving: readonly number[] | undefined;
}

/** @param limit the most that are read of either kind */
export function longIntervals(
  criteria: RangeCriteria,
  scope: RowScope,
  scanned: ScannedSets,
  limit: number,
): Intervals {
  if (criteria.kind === 'last-updated') return NONE;
  const { parameter, test } = criteria;
  const [lookups] = lookupsByTable([criteria], scope);
  if (lookups === undefined) return NONE;
  const [table, conditions] = lookups;
  const passes = anyOf(conditions.map(({ condition }) => condition));
  const { low, intervalsAfter } = rangeOf(criteria, parameter)!;
  const reaching =
    low === undefined || intervalsAfter === undefined ? undefined : intervalScan(low, intervalsAfter, parameter, scope);
  const end = endOfShort(test);
  // As in the index of long intervals.
  const [from, isLong] =
    table === 'date'
      ? [sql`date x INDEXED BY date_by_end`, sql`x.high - x.low > 86400000`]
      : [sql`quantity x INDEXED BY quantity_by_end`, sql`x.high > x.low`];
  const begins = low === undefined ? TRUE : sql`x.low >= ${low}`;
  const leaving = [
    ofParameter(sql`x`, parameterKey(scope, parameter)!, scope),
    sql`x.grp = 0 AND ${isLong} AND x.high >= ${end ?? 0} AND x.low <= ${end ?? 0}`,
    begins,
    sql`NOT (${passes})`,
    inTime(sql`x.resource`, scope),
  ];
  return {
    reaching: reaching === undefined ? [] : scanned.keys(sql`${reaching} AND (${passes})`, limit),
    leaving: end === undefined ? [] : scanned.keys(sql`SELECT x.resource FROM ${from} WHERE ${allOf(leaving)}`, limit),
  };
}

const NONE: Intervals = { reaching: [], leaving: [] };
