import type { SqlValue } from '../../sql/sql.js';
import { allOf, sql, type Sql, TRUE } from '../../sql/sql.js';
import { type Condition, looksAtRow } from '../../sql/pages/condition.js';
import type { OrderIndex } from './order-index.js';
import { type Asked, isBeyond, oneResource, pageOf } from './page-statement.js';

/** A range of an index that is left to walk. */
export interface Stretch {
  /** Conditions on the value. */
  readonly start: Sql;
  readonly end: Sql;
  /** True if read from large to small. */
  readonly falling: boolean;
  /** The value of the position; some of its resources come before it. */
  readonly at?: SqlValue | undefined;
}

/** Tests whether the row's key is among those of a scan. PERF: not a join condition, so the list is hashed once. */
export function isListed({ scan }: Condition, length: number): Sql {
  return sql`(r0.key IN (SELECT u.* FROM (${scan!}) u LIMIT ${length})) IS TRUE`;
}

/**
 * Walks some rows of an index. Its rows are the value at which the walk ended, the first value of the stretch, and the
 * text, in order; a single row without a text if it found nothing. Without values the page is complete: it is full, or
 * the stretch has ended. With values, it omits the resources with the value at which the walk ended.
 *
 * PERF: a full page ends the walk at any row: the order is written like that of the index, so the database does not
 * sort.
 *
 * @param size the number of rows
 */
export function walked(asked: Asked, index: OrderIndex, stretch: Stretch, tests: readonly Sql[], size: number): Sql {
  const { order } = asked;
  const { from, where, key, value, isCut } = index;
  const { start, end, falling, at } = stretch;
  const direction = falling ? sql`DESC` : sql`ASC`;
  const here = sql`FROM ${from} WHERE ${allOf([where, start, end])} ORDER BY ${value} ${direction}`;
  const isAfter = at === undefined ? TRUE : sql`(r0.v <> ${at} OR ${isBeyond(asked, sql`r0.key`)})`;
  const test = allOf([...tests, isAfter]);
  const rows = sql`SELECT x.key, x.v, row_number() OVER (ORDER BY x.v ${direction}) AS n FROM (SELECT ${key} AS key, ${value} AS v ${here} LIMIT ${size}) x`;
  const columns = looksAtRow(allOf(tests))
    ? sql`(SELECT w0.v, w0.n, y0.* FROM (${rows}) w0 ${oneResource(sql`y0`, sql`w0.key`, order)}) r0`
    : sql`(${rows}) r0`;
  return sql`WITH t0 AS MATERIALIZED (
      SELECT r0.key, r0.v, r0.n FROM ${columns} WHERE r0.n = ${size} OR ${test}
        ORDER BY r0.v ${direction} FETCH FIRST ${asked.need} ROWS WITH TIES),
    e AS MATERIALIZED (SELECT (SELECT v FROM t0 WHERE n = ${size}) AS v),
    t AS MATERIALIZED (SELECT t0.key, t0.v FROM t0 WHERE t0.v IS DISTINCT FROM (SELECT v FROM e))
    SELECT e.v::text, CASE WHEN e.v IS NOT NULL THEN (SELECT ${value} ${here} LIMIT 1)::text END, p.content
    FROM e LEFT JOIN ${pageOf(asked, sql`t`, isCut)} ON TRUE WHERE ${asked.holds} ORDER BY p.n`;
}
