import { rowCondition } from '../../sql/conditions.js';
import { LARGEST, SMALLEST } from '../../sql/extremes.js';
import { TABLE_NAMES } from '../../sql/index-tables.js';
import { lookupsByTable } from '../../sql/match-sql.js';
import { rangeOf } from '../../sql/pages/value-range.js';
import { isCurrent, ofParameter, parameterKey, type RowScope } from '../../sql/rows.js';
import { anyOf, Sql, sql } from '../../sql/sql.js';
import { intervalScan } from '../pages/walk-bounds.js';
import { endOfShort, type RangeCriteria } from '../../sql/skip/range-tests.js';

/** How the values of a range are read: on the row `x` of each. */
export interface RangeValues {
  /** The values of an order, with a condition. @param largest of each resource, or else its smallest one */
  from(largest: boolean): Sql;
  /** Of the resource. */
  readonly key: Sql;
  readonly value: Sql;
  /** It is in the range. */
  readonly test: Sql;
  /** Selects the resources with long intervals that begin before the range and match. */
  readonly reaching?: Sql | undefined;
  /** Selects those with long intervals that begin in the range and do not match because of their end. */
  readonly leaving?: Sql | undefined;
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
  // As in the index of long intervals.
  const isLong = table === 'date' ? sql`x.high - x.low > 86400000` : sql`x.high > x.low`;
  const begins = low === undefined ? sql`` : sql`AND x.low >= ${low}`;
  return {
    from: (largest) => sql`${values} AND x.extreme & ${mark(largest)} <> 0`,
    key: sql`x.resource`,
    value: sql`x.low`,
    test,
    reaching: reaching && sql`${reaching} AND (${test})`,
    leaving:
      end === undefined
        ? undefined
        : sql`SELECT x.resource FROM ${values} AND ${isLong} AND x.high >= ${end} AND x.low <= ${end} ${begins} AND (${test}) IS NOT TRUE`,
  };
}
