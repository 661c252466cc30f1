import type { SortKey } from '../../../search/criteria/criteria.js';
import { tablesOf } from '../index-tables.js';
import { orderTerms } from '../order.js';
import { inTime, ofParameter, parameterKey, type RowScope } from '../rows.js';
import { allOf, type Sql, sql, type SqlValue, unionAll } from '../sql.js';
import type { Condition } from './condition.js';
import { presenceOf } from './presence.js';
import { isBefore, narrower, rangeOf } from './value-range.js';

/** The range of an order that holds the matches, and the few matches outside it. */
export interface Bounds {
  readonly low?: SqlValue | undefined;
  readonly high?: SqlValue | undefined;
  /** Matches that come before the range in the order of the key: one condition with a scan. */
  readonly before?: Condition | undefined;
  /** Matches that come after the range. */
  readonly after?: Condition | undefined;
  /** True if every match has a value. */
  readonly valued: boolean;
  /** True if no match has a value. */
  readonly empty?: boolean;
}

/** Whether a value is in the range. */
export function isWithin(value: string | number, { low, high }: Bounds): boolean {
  return !(low !== undefined && isBefore(value, low)) && !(high !== undefined && isBefore(high, value));
}

/** How a store finds matches that may be outside the range of an order. */
export interface OutsideScans {
  /** Selects the resources with several values of the parameter. */
  repeated(): Sql;
  /** Selects long intervals that begin up to `low` and end from `after` on; undefined for other values. */
  intervals(low: SqlValue, after: number): Sql | undefined;
}

/** Bounds that depend on how many matches are outside them. */
export interface BoundsPlan {
  /** The scans to count; undefined if there is nothing to count. */
  readonly repeated?: Sql | undefined;
  readonly intervals?: Sql | undefined;
  /** @param counts numbers of rows of the scans; a scan with more than `most` rows is not collected */
  bounds(counts: { readonly repeated?: number; readonly intervals?: number }, most: number): Bounds;
}

/**
 * The bounds that conditions on a sort key's parameter set on its order: a walk for values since 2020 begins there.
 *
 * A resource with several values is ordered by its smallest (or largest), and may match by another value; a long
 * interval may match by its end. Both are outside the range of the condition. If they are few, they are collected;
 * otherwise the bound is dropped.
 *
 * @param isSingle true if every resource has a single value
 */
export function planBounds(
  key: SortKey,
  isSingle: boolean,
  conditions: readonly Condition[],
  scope: RowScope,
  outside: OutsideScans,
): BoundsPlan {
  const presence = conditions.flatMap(({ criteria }) => presenceOf(criteria, key.parameter) ?? []);
  if (presence.includes(false)) return known({ valued: false, empty: true });
  const ranges = conditions.flatMap(({ criteria }) => (criteria && rangeOf(criteria, key.parameter)) ?? []);
  if (ranges.length === 0) return known({ valued: presence.includes(true) && hasOrder(key.parameter, scope) });
  const { low, high, intervalsAfter } = ranges.reduce(narrower);
  if (isSingle) return known({ low, high, valued: true });
  const repeated = outside.repeated();
  const intervals =
    intervalsAfter === undefined || low === undefined ? undefined : outside.intervals(low, intervalsAfter);
  const { value } = orderTerms([key], scope)[0]!;
  return {
    repeated,
    intervals,
    bounds: (counts, most) => {
      const ofRepeated = { scan: repeated, count: counts.repeated ?? 0 };
      const ofIntervals = intervals && { scan: intervals, count: counts.intervals ?? 0 };
      const belowLow = key.descending ? [ofIntervals] : [ofRepeated, ofIntervals];
      const below = low === undefined ? KEPT : few(belowLow, most, sql`${value} < ${low}`);
      const from = below === undefined ? undefined : low;
      if (!key.descending) return { low: from, high, before: below?.condition, valued: true };
      const above = high === undefined ? KEPT : few([ofRepeated], most, sql`${value} > ${high}`);
      const to = above === undefined ? undefined : high;
      return { low: from, high: to, before: above?.condition, after: below?.condition, valued: true };
    },
  };
}

/** True if every resource with the parameter has a place in its order. Tokens without a code (a text or a system alone) have none. */
function hasOrder(parameter: string, { dialect, type }: RowScope): boolean {
  return !tablesOf(dialect.model, type, parameter).includes('token');
}

/** Long intervals that begin at or before `low` and end at or after `after`. @param from the table, with an index if one is named */
export function longIntervals(
  low: SqlValue,
  after: number,
  parameter: string,
  scope: RowScope,
  from: (table: 'date' | 'quantity') => Sql,
): Sql | undefined {
  const [table] = tablesOf(scope.dialect.model, scope.type, parameter);
  if (table !== 'date' && table !== 'quantity') return undefined;
  const ofKey = ofParameter(sql`x`, parameterKey(scope, parameter)!, scope);
  return sql`SELECT x.resource FROM ${from(table)}
    WHERE ${allOf([ofKey, sql`x.grp = 0`, isLong(table), sql`x.high >= ${after}`, sql`x.low <= ${low}`, inTime(sql`x.resource`, scope)])}`;
}

/** The condition that the row `x` has a long interval, written as in the index by end. */
export function isLong(table: 'date' | 'quantity'): Sql {
  return table === 'date' ? sql`x.high - x.low > 86400000` : sql`x.high > x.low`;
}

function known(bounds: Bounds): BoundsPlan {
  return { bounds: () => bounds };
}

const KEPT: { readonly condition?: Condition } = {};

/** The condition that finds the rows of the scans; undefined if there are too many. */
function few(
  scans: readonly ({ readonly scan: Sql; readonly count: number } | undefined)[],
  most: number,
  test: Sql,
): { readonly condition?: Condition } | undefined {
  const filled = scans.filter((one) => one !== undefined && one.count > 0) as { scan: Sql; count: number }[];
  if (filled.some(({ count }) => count > most)) return undefined;
  if (filled.length === 0) return KEPT;
  return { condition: { scan: unionAll(filled.map(({ scan }) => scan)), test, direct: true } };
}
