import { beyond, orderBy, orderTerms } from '../../sql/order.js';
import { inTime, isCurrent } from '../../sql/rows.js';
import { allOf, list, Sql, sql } from '../../sql/sql.js';
import type { Condition } from '../../sql/pages/condition.js';
import type { PageOrder, PagePosition } from '../../sql/pages/page-order.js';

/**
 * Takes what one condition finds, tests the others, sorts: from one key of the order on.
 *
 * @param start its scan is where rows come from; undefined: all of the type
 */
export function collection(
  order: PageOrder,
  level: number,
  conditions: readonly Condition[],
  start: Condition | undefined,
  need: number,
  place: PagePosition | undefined,
): Sql {
  const terms = orderTerms(order.keys.slice(level), order.scope);
  const from = start === undefined ? isCurrent(order.scope) : sql`r0.key IN (${start.scan!})`;
  const tests = conditions.filter((one) => one !== start).map(({ test }) => test);
  const matching = sql`FROM resource r0 WHERE ${allOf([from, inTime(sql`r0.key`, order.scope), ...tests])}`;
  const named = terms.map((term, index) => ({ ...term, value: new Sql(`k${index}`, []) }));
  const values = list(terms.map(({ value }, index) => sql`${value} AS ${named[index]!.value}`));
  const rows = sql`SELECT r0.content AS content, r0.id AS id, ${values} ${matching}`;
  const sorted = sql`ORDER BY ${orderBy(named, ID, order.backwards)} LIMIT ${need === Infinity ? -1 : need}`;
  if (place === undefined) return sql`${rows} ${sorted}`;
  // PERF: an inner LIMIT keeps the database from recomputing the order values at each comparison.
  const where = beyond(named, ID, { position: place, before: order.backwards });
  return sql`SELECT content, id, ${list(named.map(({ value }) => value))} FROM (${rows} LIMIT -1) s WHERE ${where} ${sorted}`;
}

const ID = sql`id`;
