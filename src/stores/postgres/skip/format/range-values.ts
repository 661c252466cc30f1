import { rowCondition } from '../../../sql/conditions.js';
import { LARGEST, SMALLEST } from '../../../sql/extremes.js';
import { TABLE_NAMES } from '../../../sql/index-tables.js';
import { lookupsByTable } from '../../../sql/match-sql.js';
import { rangeOf } from '../../../sql/pages/value-range.js';
import { isLong } from '../../../sql/pages/walk-bounds.js';
import { isCurrent, ofParameter, parameterKey, type RowScope } from '../../../sql/rows.js';
import { anyOf, Sql, sql } from '../../../sql/sql.js';
import { intervalScan } from '../../scans/walk-bounds.js';
import { endOfShort, type RangeCriteria } from '../../../sql/skip/range-tests.js';

/** How the values of a range are read, each from a row `x`. */
export interface RangeValues {
  /** The values of an order, with a condition. @param largest the largest value of each resource, else the smallest */
  from(largest: boolean): Sql;
  /** The key of the resource. */
  readonly key: Sql;
  readonly value: Sql;
  /** The condition that the value is in the range. */
  readonly test: Sql;
  /** The resources with long intervals that begin before the range and match. */
  readonly reaching?: LongScan | undefined;
  /** The resources with long intervals that begin in the range and do not match because of their end. */
  readonly leaving?: LongScan | undefined;
}

/** How the resources with long intervals are found. */
export interface LongScan {
  /** None of them ends before it. They include all long intervals that end after it and begin before the range ends. */
  readonly bound: number;
  readonly scan: Sql;
  /** Selects the intervals that end before the next value, regardless of where they begin. */
  before(next: number | undefined): Sql;
}

const X = sql`x`;

export function rangeValues(criteria: RangeCriteria, scope: RowScope): RangeValues {
  if (criteria.kind === 'last-updated') {
    const row = { ...scope, row: X };
    return {
      from: () => sql`resource x WHERE ${isCurrent(row)}`,
      key: sql`x.key`,
      value: sql`x.updated`,
      test: rowCondition(criteria, row),
    };
  }
  const { parameter } = criteria;
  const [[table, lookups]] = lookupsByTable([criteria], scope) as [ReturnType<typeof lookupsByTable>[number]];
  const values = sql`${TABLE_NAMES[table]} x WHERE ${ofParameter(X, parameterKey(scope, parameter)!, scope)} AND x.grp = 0`;
  const mark = (largest: boolean): Sql => new Sql(String(largest ? LARGEST : SMALLEST), []);
  const test = anyOf(lookups.map(({ condition }) => condition));
  const { low, intervalsAfter } = rangeOf(criteria, parameter)!;
  const reaching =
    low === undefined || intervalsAfter === undefined ? undefined : intervalScan(low, intervalsAfter, parameter, scope);
  const end = endOfShort(criteria.test);
  const failing = sql`(${test}) IS NOT TRUE`;
  const begins = low === undefined ? sql`` : sql`AND x.low >= ${low}`;
  const longFrom = (bound: number, next?: number): Sql =>
    sql`SELECT x.resource FROM ${values} AND ${isLong(table as 'date' | 'quantity')} AND x.high >= ${bound} ${next === undefined ? sql`` : sql`AND x.high < ${next}`}`;
  return {
    from: (largest) => sql`${values} AND x.extreme & ${mark(largest)} <> 0`,
    key: sql`x.resource`,
    value: sql`x.low`,
    test,
    reaching: reaching && {
      bound: intervalsAfter!,
      scan: sql`${reaching} AND (${test})`,
      before: (next) => sql`${longFrom(intervalsAfter!, next)} AND (${test})`,
    },
    leaving:
      end === undefined
        ? undefined
        : {
            bound: end,
            scan: sql`${longFrom(end)} AND x.low <= ${end} ${begins} AND ${failing}`,
            before: (next) => sql`${longFrom(end, next)} AND ${failing}`,
          },
  };
}
