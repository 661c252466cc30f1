import type { SortKey } from '../../../search/criteria/criteria.js';
import type { Condition } from '../../sql/pages/condition.js';
import { type Bounds, longIntervals, planBounds } from '../../sql/pages/walk-bounds.js';
import { parameterKey, type RowScope } from '../../sql/rows.js';
import { Sql, sql, type SqlValue } from '../../sql/sql.js';
import { TABLE_NAMES } from '../../sql/index-tables.js';
import { countOfShapes, shapeScan } from '../rows/shapes.js';
import type { Statements } from '../database/statements.js';
import type { OrderIndex } from './order-index.js';
import { TUNING } from './tuning.js';

/** The bounds of a walk: see planBounds. */
export function boundsOf(
  key: SortKey,
  index: OrderIndex,
  conditions: readonly Condition[],
  scope: RowScope,
  statements: Statements,
): Bounds {
  const collection = scope.collection as number;
  const parameter = (): number => parameterKey(scope, key.parameter) as number;
  const { repeated, intervals, bounds } = planBounds(key, index.missing === undefined, conditions, scope, {
    repeated: () => shapeScan(collection, parameter(), 'several'),
    intervals: (low, after) => intervalScan(low, after, key.parameter, scope),
  });
  const count = (query: Sql): number => statements.get(query)![0] as number;
  const upTo = TUNING.maxOutside + 1;
  const counts = {
    ...(repeated && { repeated: count(countOfShapes(collection, parameter(), 'several')) }),
    ...(intervals && { intervals: count(sql`SELECT count(*) FROM (SELECT 1 FROM (${intervals}) LIMIT ${upTo})`) }),
  };
  return bounds(counts, TUNING.maxOutside);
}

/** See {@link longIntervals}. */
export function intervalScan(low: SqlValue, after: number, parameter: string, scope: RowScope): Sql | undefined {
  return longIntervals(low, after, parameter, scope, byEnd);
}

/** The long intervals `x` of a table, by the index of their ends. */
export function byEnd(table: 'date' | 'quantity'): Sql {
  return sql`${TABLE_NAMES[table]} x INDEXED BY ${new Sql(`${table}_by_end`, [])}`;
}
