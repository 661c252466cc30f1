import { lookupsByTable } from '../../../sql/match-sql.js';
import { partWith, rangeOf } from '../../../sql/pages/value-range.js';
import { inTime, ofParameter, parameterKey, type RowScope } from '../../../sql/rows.js';
import type { KeySet } from '../../../sql/skip/key-set.js';
import { asksForUnit, endOfShort, type RangeCriteria } from '../../../sql/skip/range-tests.js';
import { allOf, anyOf, type Sql, sql, TRUE } from '../../../sql/sql.js';
import { intervalScan } from '../../scans/walk-bounds.js';
import { longIntervalsOf } from '../build/long-ends.js';
import type { ScannedSets } from './scanned-sets.js';
import type { SkipIndex, SkipOrderKeys } from '../read/skip-index.js';

/** Resources with long intervals; undefined if they are many. */
export interface Intervals {
  /** Matches by the end of an interval that begins before the range. */
  readonly reaching: KeySet | undefined;
  /** Resources that begin in the range and end too late to match. Others that end too late may be among them. */
  readonly leaving: KeySet | undefined;
}

/**
 * Finds the long intervals that match or fail a range because of their end.
 *
 * @param several resources that may match by another value than the one in the order
 * @param limit maximum resources of either kind to read
 */
export function longIntervals(
  criteria: RangeCriteria,
  index: SkipIndex,
  order: SkipOrderKeys,
  several: KeySet,
  scope: RowScope,
  scanned: ScannedSets,
  limit: number,
): Intervals {
  const none = (): KeySet => index.emptySet();
  if (criteria.kind === 'last-updated') return { reaching: none(), leaving: none() };
  const { parameter, test } = criteria;
  const [lookups] = lookupsByTable([criteria], scope);
  const intervals = lookups && longIntervalsOf(lookups[0]);
  if (lookups === undefined || intervals === undefined) return { reaching: none(), leaving: none() };
  const passes = anyOf(lookups[1].map(({ condition }) => condition));
  const { low, high, intervalsAfter } = rangeOf(criteria, parameter)!;
  const end = endOfShort(test);
  const own = [ofParameter(X, parameterKey(scope, parameter)!, scope), sql`x.grp = 0 AND ${intervals.isLong}`];
  const where = (tests: readonly Sql[]): Sql =>
    sql`SELECT x.resource FROM ${intervals.from} WHERE ${allOf([...own, ...tests, inTime(sql`x.resource`, scope)])}`;
  const read = (scan: Sql): KeySet | undefined => {
    const keys = scanned.keys(scan, limit);
    return keys && scanned.setOf(keys);
  };
  const ends = asksForUnit(test) ? undefined : index.ends(parameterKey(scope, parameter) as number);
  if (ends !== undefined) {
    const after = (bound: number, boundary: Sql): KeySet | undefined =>
      endingAfter(bound, ends, none(), (first, next) =>
        read(where([sql`x.high >= ${first}`, next === undefined ? TRUE : sql`x.high < ${next}`, boundary])),
      );
    const reaching = low === undefined || intervalsAfter === undefined ? none() : after(intervalsAfter, passes);
    // An interval that begins after the range also ends after it.
    if (high !== undefined) reaching?.subtract(startingFrom(high as number, order, none())).subtract(several);
    return { reaching, leaving: end === undefined ? none() : after(end, sql`NOT (${passes})`) };
  }
  const reaching =
    low === undefined || intervalsAfter === undefined ? undefined : intervalScan(low, intervalsAfter, parameter, scope);
  const begins = low === undefined ? TRUE : sql`x.low >= ${low}`;
  const leaving = [sql`x.high >= ${end ?? 0} AND x.low <= ${end ?? 0}`, begins, sql`NOT (${passes})`];
  return {
    reaching: reaching === undefined ? none() : read(sql`${reaching} AND (${passes})`),
    leaving: end === undefined ? none() : read(where(leaving)),
  };
}

/** @param read the resources that end at or after `first` and before `next`, and meet the condition */
function endingAfter(
  bound: number,
  { starts, addTo }: SkipOrderKeys,
  into: KeySet,
  read: (first: number, next: number | undefined) => KeySet | undefined,
): KeySet | undefined {
  const first = partWith(starts, bound);
  for (let granule = first; granule < starts.length; granule++) {
    if ((starts[granule] as number) > bound) addTo(into, granule);
    else {
      const found = read(bound, starts[granule + 1] as number | undefined);
      if (found === undefined) return undefined;
      into.unite(found);
    }
  }
  return into;
}

function startingFrom(value: number, { starts, addTo }: SkipOrderKeys, into: KeySet): KeySet {
  for (let granule = partWith(starts, value); granule < starts.length; granule++) addTo(into, granule);
  return into;
}

const X = sql`x`;
