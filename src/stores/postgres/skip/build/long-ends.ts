import { TABLE_NAMES, tablesOf } from '../../../sql/index-tables.js';
import { isLong } from '../../../sql/pages/walk-bounds.js';
import { ofParameter, parameterKey, type RowScope } from '../../../sql/rows.js';
import { sql, TRUE } from '../../../sql/sql.js';
import type { OrderIndex } from '../../scans/order-index.js';
import type { Run } from '../../database/run.js';
import { SKIP_TUNING } from '../../rows/skip-row.js';

/** The part of an order that granules are made from. */
export type MadeOrder = Pick<OrderIndex, 'from' | 'where' | 'key' | 'value' | 'isNumber' | 'skip'>;

/** The resources with long intervals, by the end of the last one. Undefined if they are few. */
export async function longEnds(parameter: string, scope: RowScope, run: Run): Promise<MadeOrder | undefined> {
  const [table] = tablesOf(scope.dialect.model, scope.type, parameter);
  if (table !== 'date' && table !== 'quantity') return undefined;
  const skip = parameterKey(scope, parameter) as number;
  const long = sql`FROM ${TABLE_NAMES[table]} x WHERE ${ofParameter(sql`x`, skip, scope)} AND x.grp = 0 AND ${isLong(table)}`;
  const last = await run(sql`SELECT 1 ${long} OFFSET ${SKIP_TUNING.minHolders - 1} LIMIT 1`);
  if (last.length === 0) return undefined;
  const from = sql`(SELECT x.resource, max(x.high) AS high ${long} GROUP BY x.resource) w`;
  return { from, where: TRUE, key: sql`w.resource`, value: sql`w.high`, isNumber: true, skip };
}
