import type { SortKey } from '../../../search/criteria/criteria.js';
import { tablesOf } from '../../sql/index-tables.js';
import { orderTerms } from '../../sql/order.js';
import { parameterKey, type RowScope } from '../../sql/rows.js';
import { type Sql, sql, type SqlValue, unionAll } from '../../sql/sql.js';
import { countOfShapes, shapeScan } from '../shapes.js';
import type { Statements } from '../statements.js';
import type { Condition } from '../../sql/pages/condition.js';
import type { OrderIndex } from './order-index.js';
import { TUNING } from './tuning.js';
import { presenceOf } from '../../sql/pages/presence.js';
import { isBefore, narrower, rangeOf } from '../../sql/pages/value-range.js';

/** The range of an order that holds the matches, and the few matches outside of it. */
export interface Bounds {
  readonly low: SqlValue | undefined;
  readonly high: SqlValue | undefined;
  /** Matches that come before the range in the order of the key: one condition with a scan. */
  readonly before?: Condition | undefined;
  /** Matches that come after it. */
  readonly after?: Condition | undefined;
  /** Every match has a value. */
  readonly valued: boolean;
  /** No match has one. */
  readonly empty?: boolean;
}

const UNBOUNDED: Bounds = { low: undefined, high: undefined, valued: false };

/**
 * The bounds that conditions on a sort key's parameter set on its order: a walk for values since 2020 begins there.
 *
 * A resource with several values is ordered by its smallest (or largest), and may match by another one; a long interval
 * may match by its end. Both are outside the range of the condition. If they are few, they are collected; otherwise
 * that bound is dropped.
 */
export function boundsOf(
  key: SortKey,
  index: OrderIndex,
  conditions: readonly Condition[],
  scope: RowScope,
  statements: Statements,
): Bounds {
  const presence = conditions.flatMap(({ criteria }) => presenceOf(criteria, key.parameter) ?? []);
  if (presence.includes(false)) return { ...UNBOUNDED, empty: true };
  const ranges = conditions.flatMap(({ criteria }) => (criteria && rangeOf(criteria, key.parameter)) ?? []);
  if (ranges.length === 0) return { ...UNBOUNDED, valued: presence.includes(true) };
  const { low, high, intervalsAfter } = ranges.reduce(narrower);
  // Instants of change are single.
  if (index.missing === undefined) return { low, high, valued: true };
  const { value } = orderTerms([key], scope)[0]!;
  const outside = { scope, statements, key };
  const repeated = repeatedScan(outside);
  const intervals =
    intervalsAfter === undefined || low === undefined ? undefined : countedIntervals(low, intervalsAfter, outside);
  if (key.descending) {
    const above = high === undefined ? KEPT : few([repeated], sql`${value} > ${high}`);
    const below = low === undefined ? KEPT : few([intervals], sql`${value} < ${low}`);
    return {
      high: above === undefined ? undefined : high,
      low: below === undefined ? undefined : low,
      before: above?.condition,
      after: below?.condition,
      valued: true,
    };
  }
  const below = low === undefined ? KEPT : few([repeated, intervals], sql`${value} < ${low}`);
  return { low: below === undefined ? undefined : low, high, before: below?.condition, valued: true };
}

/** Whether a value is in the range. */
export function isWithin(value: string | number, { low, high }: Bounds): boolean {
  return !(low !== undefined && isBefore(value, low)) && !(high !== undefined && isBefore(high, value));
}

interface Outside {
  readonly scope: RowScope;
  readonly statements: Statements;
  readonly key: SortKey;
}

/** Rows to collect, and their number, counted up to one more than the limit. */
interface CountedScan {
  readonly scan: Sql;
  readonly count: number;
}

const KEPT: { readonly condition?: Condition } = {};

/** Undefined if there are too many. */
function few(scans: readonly (CountedScan | undefined)[], test: Sql): { readonly condition?: Condition } | undefined {
  const filled = scans.filter((one) => one !== undefined && one.count > 0) as readonly CountedScan[];
  if (filled.some(({ count }) => count > TUNING.maxOutside)) return undefined;
  if (filled.length === 0) return KEPT;
  return { condition: { scan: unionAll(filled.map(({ scan }) => scan)), test, direct: true } };
}

function repeatedScan({ scope, statements, key }: Outside): CountedScan {
  const parameter = parameterKey(scope, key.parameter) as number;
  const collection = scope.collection as number;
  const [count] = statements.get(countOfShapes(collection, parameter, 'several')) as [number];
  return { scan: shapeScan(collection, parameter, 'several'), count };
}

function countedIntervals(low: SqlValue, after: number, { scope, statements, key }: Outside): CountedScan | undefined {
  const scan = intervalScan(low, after, key.parameter, scope);
  if (scan === undefined) return undefined;
  const limit = TUNING.maxOutside + 1;
  const [count] = statements.get(sql`SELECT count(*) FROM (SELECT 1 FROM (${scan}) LIMIT ${limit})`) as [number];
  return { scan, count };
}

/** Resources with a long interval that begins before a value and ends after another one. */
export function intervalScan(low: SqlValue, after: number, parameter: string, scope: RowScope): Sql | undefined {
  const key = parameterKey(scope, parameter)!;
  const [table] = tablesOf(scope.dialect.model, scope.type, parameter);
  if (table !== 'date' && table !== 'quantity') return undefined;
  return table === 'date'
    ? sql`SELECT x.resource FROM date x INDEXED BY date_by_end
        WHERE x.parameter = ${key} AND x.grp = 0 AND x.high - x.low > 86400000 AND x.high >= ${after} AND x.low < ${low}`
    : sql`SELECT x.resource FROM quantity x INDEXED BY quantity_by_end
        WHERE x.parameter = ${key} AND x.grp = 0 AND x.high > x.low AND x.high >= ${after} AND x.low < ${low}`;
}
