import type { SortKey } from '../../../search/criteria/criteria.js';
import type { Condition } from '../../sql/pages/condition.js';
import { type Bounds, longIntervals, planBounds } from '../../sql/pages/walk-bounds.js';
import { parameterKey, type RowScope } from '../../sql/rows.js';
import { list, type Sql, sql, type SqlValue } from '../../sql/sql.js';
import type { Run } from '../database/run.js';
import type { OrderIndex } from './order-index.js';
import { shapeScan } from './shapes.js';
import { TUNING } from './tuning.js';

/** The bounds of a walk: see planBounds. */
export async function boundsOf(
  key: SortKey,
  index: OrderIndex,
  conditions: readonly Condition[],
  scope: RowScope,
  run: Run,
): Promise<Bounds> {
  const { repeated, intervals, bounds } = planBounds(key, index.missing === undefined, conditions, scope, {
    repeated: () => shapeScan(scope.project, scope.collection!, parameterKey(scope, key.parameter)!, 'several'),
    intervals: (low, after) => intervalScan(low, after, key.parameter, scope),
  });
  if (repeated === undefined) return bounds({}, TUNING.maxOutside);
  const scans = intervals === undefined ? [repeated] : [repeated, intervals];
  const [row] = await run(sql`SELECT ${list(scans.map(countUpTo))}`);
  const [first, second = 0] = row!.map(Number) as [number, number?];
  return bounds({ repeated: first, intervals: second }, TUNING.maxOutside);
}

/** See {@link longIntervals}. */
export function intervalScan(low: SqlValue, after: number, parameter: string, scope: RowScope): Sql | undefined {
  return longIntervals(low, after, parameter, scope, (table) => (table === 'date' ? sql`date x` : sql`quantity x`));
}

function countUpTo(scan: Sql): Sql {
  return sql`(SELECT count(*) FROM (SELECT 1 FROM (${scan}) u LIMIT ${TUNING.maxOutside + 1}) v)`;
}
