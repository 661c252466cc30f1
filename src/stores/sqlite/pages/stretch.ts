import { orderTerms } from '../../sql/order.js';
import { inTime, type RowScope } from '../../sql/rows.js';
import { allOf, list, Sql, sql, type SqlValue, TRUE, unionAll } from '../../sql/sql.js';
import { type Condition, looksAtRow } from '../../sql/pages/condition.js';
import type { OrderIndex } from '../scans/order-index.js';
import type { PageOrder, PagePosition } from '../../sql/pages/page-order.js';

/** The part of an index that is left to read. */
export interface Stretch {
  readonly start: Sql;
  /** True if read from large to small. */
  readonly falling: boolean;
}

/** The part from a position on. The resources with the value of the position are in it, too. */
export function stretchFrom(order: PageOrder, index: OrderIndex, place: PagePosition | undefined): Stretch {
  const falling = order.keys[0]!.descending !== order.backwards;
  const at = place?.values[0] ?? undefined;
  return { start: at === undefined ? TRUE : fromValue(index, at, falling), falling };
}

/** The matches in a stretch, in no order. @param last the last row to read; undefined: all rows of the stretch */
export function inStretch(
  order: PageOrder,
  index: OrderIndex,
  stretch: Stretch,
  conditions: readonly Condition[],
  last: readonly SqlValue[] | undefined,
): Sql {
  const rows = rowsOf(index, stretch, last);
  const tests = allOf([inTime(sql`r0.key`, order.scope), ...conditions.map(({ test }) => test)]);
  if (looksAtRow(tests)) {
    const columns = list([sql`r0.content`, sql`r0.id`, sql`w.value`, ...furtherValues(order, order.scope)]);
    return sql`SELECT ${columns} FROM (${rows}) w CROSS JOIN resource r0 ON r0.key = w.key
      WHERE ${allOf([sql`r0.content IS NOT NULL`, tests])}`;
  }
  // Tests that need only the key run before the look-up of the resource. SQLite turns the tests into joins, which
  // without the LIMIT would come after the resource.
  const scope = { ...order.scope, row: sql`m` };
  const columns = list([sql`m.content`, sql`m.id`, sql`r0.value`, ...furtherValues(order, scope)]);
  const limit = conditions.length === 0 ? NOTHING : sql`LIMIT -1`;
  const passing = sql`SELECT r0.key, r0.value FROM (${rows}) r0 WHERE ${tests} ${limit}`;
  return sql`SELECT ${columns} FROM (${passing}) r0 CROSS JOIN resource m ON m.key = r0.key WHERE m.content IS NOT NULL`;
}

const NOTHING = new Sql('', []);

/** The index rows of a stretch as `key` and `value`. */
function rowsOf(index: OrderIndex, { start, falling }: Stretch, last: readonly SqlValue[] | undefined): Sql {
  const ends = last === undefined ? [TRUE] : upToRow(index, last, falling);
  const rows = ends.map(
    (upTo) => sql`SELECT ${index.key} AS key, ${index.value} AS value FROM ${index.from}
      WHERE ${allOf([index.where, start, upTo])}`,
  );
  return unionAll(rows);
}

/** Selects rows up to a row, inclusive: one condition, or two that exclude each other. */
function upToRow(index: OrderIndex, row: readonly SqlValue[], falling: boolean): readonly Sql[] {
  if (index.isExpression !== true) return [beyondRow(index, row, !falling, true)];
  // A range of rows with one value is a range of the index only if the value is fixed.
  const [value, ...rest] = row;
  const within = sql`(${list(index.rest)}) ${falling ? sql`>=` : sql`<=`} (${valuesOf(rest)})`;
  return [beyondValue(index, value!, !falling), sql`${index.value} = ${value!} AND ${within}`];
}

/** The values of the keys after the first. */
function furtherValues(order: PageOrder, scope: RowScope): readonly Sql[] {
  return orderTerms(order.keys.slice(1), scope).map(({ value }) => value);
}

/** The row of an index at which a stretch of this length ends. */
export function endOfStretch(index: OrderIndex, { start, falling }: Stretch, size: number): Sql {
  return sql`SELECT ${columnsOf(index)} FROM ${index.from} WHERE ${allOf([index.where, start])}
    ORDER BY ${inOrder(index, falling)} LIMIT 1 OFFSET ${size - 1}`;
}

function inOrder(index: OrderIndex, falling: boolean): Sql {
  return list([index.value, ...index.rest].map((column) => sql`${column} ${falling ? sql`DESC` : sql`ASC`}`));
}

export function beyondValue({ value }: Pick<OrderIndex, 'value'>, than: SqlValue, falling: boolean): Sql {
  return sql`${value} ${falling ? sql`<` : sql`>`} ${than}`;
}

/** The condition of rows with a value, and of those after it in the order of the index. */
export function fromValue({ value }: Pick<OrderIndex, 'value'>, than: SqlValue, falling: boolean): Sql {
  return sql`${value} ${falling ? sql`<=` : sql`>=`} ${than}`;
}

/** The condition of rows after a row in the order of the index; before it if `falling`. @param including the row too */
export function beyondRow(index: OrderIndex, row: readonly SqlValue[], falling: boolean, including: boolean): Sql {
  const sign = falling ? (including ? sql`<=` : sql`<`) : including ? sql`>=` : sql`>`;
  if (index.isExpression !== true) return sql`(${columnsOf(index)}) ${sign} (${valuesOf(row)})`;
  const [value, ...rest] = row;
  const further = sql`(${list(index.rest)}) ${sign} (${valuesOf(rest)})`;
  return sql`${index.value} ${falling ? sql`<=` : sql`>=`} ${value!}
    AND (${beyondValue(index, value!, falling)} OR ${further})`;
}

function columnsOf(index: OrderIndex): Sql {
  return list([index.value, ...index.rest]);
}

function valuesOf(row: readonly SqlValue[]): Sql {
  return list(row.map((value) => sql`${value}`));
}
