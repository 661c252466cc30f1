import type { SortKey } from '../../../search/criteria/criteria.js';
import { tablesOf } from '../../sql/index-tables.js';
import { orderTerms } from '../../sql/order.js';
import type { Condition } from '../../sql/pages/condition.js';
import { presenceOf } from '../../sql/pages/presence.js';
import { narrower, rangeOf } from '../../sql/pages/value-range.js';
import { ofParameter, parameterKey, type RowScope } from '../../sql/rows.js';
import { type Sql, sql, type SqlValue, unionAll } from '../../sql/sql.js';
import type { Run } from '../run.js';
import type { OrderIndex } from './order-index.js';
import { shapeScan } from './shapes.js';
import { TUNING } from './tuning.js';

/** The part of an order in which matches are, and the few that are outside of it. */
export interface Bounds {
  readonly low?: SqlValue | undefined;
  readonly high?: SqlValue | undefined;
  /** Matches that come before the range in the order of the key: one condition with a scan. */
  readonly before?: Condition | undefined;
  /** Matches that come after it. */
  readonly after?: Condition | undefined;
  /** Every match has a value. */
  readonly valued: boolean;
  /** No match has one. */
  readonly empty?: boolean;
}

/**
 * The bounds that conditions on a sort key's parameter set on its order: a walk for values since 2020 begins there.
 *
 * A resource with several values is ordered by its smallest (or largest), and may match by another one; a long interval
 * may match by its end. Both are outside the range of the condition. If they are few, they are collected; otherwise
 * that bound is dropped.
 */
export async function boundsOf(
  key: SortKey,
  index: OrderIndex,
  conditions: readonly Condition[],
  scope: RowScope,
  run: Run,
): Promise<Bounds> {
  const presence = conditions.flatMap(({ criteria }) => presenceOf(criteria, key.parameter) ?? []);
  if (presence.includes(false)) return { valued: false, empty: true };
  const ranges = conditions.flatMap(({ criteria }) => (criteria && rangeOf(criteria, key.parameter)) ?? []);
  if (ranges.length === 0) return { valued: presence.includes(true) };
  const { low, high, intervalsAfter } = ranges.reduce(narrower);
  // Instants of change are single.
  if (index.missing === undefined) return { low, high, valued: true };
  const parameter = parameterKey(scope, key.parameter)!;
  const repeated = shapeScan(scope.project, scope.collection!, parameter, 'several');
  const intervals =
    intervalsAfter === undefined || low === undefined ? undefined : intervalScan(low, intervalsAfter, key, scope);
  const [ofRepeated, ofIntervals] = await countEach([repeated, intervals], run);
  const { value } = orderTerms([key], scope)[0]!;
  if (key.descending) {
    const above = high === undefined ? NONE : few([ofRepeated], sql`${value} > ${high}`);
    const below = low === undefined ? NONE : few([ofIntervals], sql`${value} < ${low}`);
    return {
      high: above === undefined ? undefined : high,
      low: below === undefined ? undefined : low,
      before: above?.condition,
      after: below?.condition,
      valued: true,
    };
  }
  const below = low === undefined ? NONE : few([ofRepeated, ofIntervals], sql`${value} < ${low}`);
  return { low: below === undefined ? undefined : low, high, before: below?.condition, valued: true };
}

/** Rows to be collected, and how many they are, up to one more than may be. */
interface CountedScan {
  readonly scan: Sql;
  readonly count: number;
}

const NONE: { readonly condition?: Condition } = {};

/** Undefined: there are too many. */
function few(scans: readonly (CountedScan | undefined)[], test: Sql): { readonly condition?: Condition } | undefined {
  const filled = scans.filter((one) => one !== undefined && one.count > 0) as readonly CountedScan[];
  if (filled.some(({ count }) => count > TUNING.maxOutside)) return undefined;
  if (filled.length === 0) return NONE;
  return { condition: { scan: unionAll(filled.map(({ scan }) => scan)), test, direct: true } };
}

async function countEach(scans: readonly (Sql | undefined)[], run: Run): Promise<readonly (CountedScan | undefined)[]> {
  const present = scans.filter((scan) => scan !== undefined);
  const counts = present.map(
    (scan) => sql`(SELECT count(*) FROM (SELECT 1 FROM (${scan}) u LIMIT ${TUNING.maxOutside + 1}) v)`,
  );
  const [row] = await run(sql`SELECT ${counts.reduce((all, one) => sql`${all}, ${one}`)}`);
  return scans.map((scan) => scan && { scan, count: Number(row![present.indexOf(scan)]) });
}

const X = sql`x`;

/** Long intervals that begin before the range or with it, and end in it. */
export function intervalScan(low: SqlValue, after: number, key: SortKey, scope: RowScope): Sql | undefined {
  const [table] = tablesOf(scope.dialect.model, scope.type, key.parameter);
  if (table !== 'date' && table !== 'quantity') return undefined;
  const isLong = table === 'date' ? sql`x.high - x.low > 86400000` : sql`x.high > x.low`;
  const from = table === 'date' ? sql`date x` : sql`quantity x`;
  return sql`SELECT x.resource FROM ${from} WHERE ${ofParameter(X, parameterKey(scope, key.parameter)!, scope)}
    AND x.grp = 0 AND ${isLong} AND x.high >= ${after} AND x.low <= ${low}`;
}
