import type { Condition } from '../../sql/pages/condition.js';
import { inTime, type RowScope } from '../../sql/rows.js';
import { allOf, sql, type SqlValue, TRUE, unionAll } from '../../sql/sql.js';
import { orderIndexOf } from '../pages/order-index.js';
import type { Statements } from '../statements.js';
import { countGranules, hasGranule } from './granules.js';
import { type Candidates, candidatesOf, spansIn } from './skip-search.js';

/**
 * A scan of the granules of any order that can have matches of all conditions: few where conditions exclude each other.
 * Undefined where no order can say.
 */
export function skipScan(
  conditions: readonly Condition[],
  scope: RowScope,
  statements: Statements,
): Condition | undefined {
  const orders = statements.read(LIST_ORDERS).all(scope.collection as number) as readonly [number][];
  let fewest: Candidates | undefined;
  for (const [number] of orders) {
    const candidates = candidatesOf(number, conditions, scope, statements, () => undefined);
    if (candidates !== undefined && (fewest === undefined || sizeOf(candidates) < sizeOf(fewest))) fewest = candidates;
  }
  return fewest && scanOf(fewest, scope);
}

function sizeOf({ granules }: Candidates): number {
  return countGranules(granules);
}

function scanOf({ order, granules, pending }: Candidates, scope: RowScope): Condition | undefined {
  const { parameter, starts } = order;
  const index = orderIndexOf({ parameter, descending: false }, scope);
  const spans = spansIn(granules, starts);
  if (index === undefined || spans.length > MAX_SPANS) return undefined;
  const atLeast = (low: SqlValue | undefined) => (low === undefined ? TRUE : sql`${index.value} >= ${low}`);
  const below = (high: SqlValue | undefined) => (high === undefined ? TRUE : sql`${index.value} < ${high}`);
  // The index of the ids has deleted resources and mere targets of references, too.
  const isCurrent = index.missing === undefined ? sql`w.content IS NOT NULL` : TRUE;
  const arms = spans.map(
    ({ low, high }) => sql`SELECT ${index.key} FROM ${index.from}
      WHERE ${allOf([index.where, isCurrent, atLeast(low), below(high), inTime(index.key, scope)])}`,
  );
  const { missing } = index;
  const others = missing !== undefined && hasGranule(granules, starts.length) ? [missing.scan] : [];
  const written = pending.length === 0 ? [] : [sql`SELECT j.value FROM json_each(${JSON.stringify(pending)}) j`];
  const selects = [...arms, ...others, ...written];
  return { scan: selects.length === 0 ? NOTHING : unionAll(selects), test: TRUE, direct: true };
}

const NOTHING = sql`SELECT NULL WHERE FALSE`;

/** Parts of an order in one statement. */
const MAX_SPANS = 64;

const LIST_ORDERS = 'SELECT sort FROM skip WHERE collection = ? AND subject = 0 AND value = 0';
