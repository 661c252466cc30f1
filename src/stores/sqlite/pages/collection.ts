import { beyond, orderBy, orderTerms } from '../../sql/order.js';
import { inTime, isCurrent } from '../../sql/rows.js';
import { allOf, list, Sql, sql } from '../../sql/sql.js';
import type { PageOrder, PagePosition } from '../../sql/pages/page-order.js';
import type { Condition } from '../../sql/pages/condition.js';
import { TUNING } from '../scans/tuning.js';

/** The rows to find. */
export interface Asked {
  readonly conditions: readonly Condition[];
  readonly need: number;
  /** The position where they begin. */
  readonly place: PagePosition | undefined;
}

/**
 * Tests and sorts the rows of a scan. A page longer than `TUNING.maxChunk` is neither sorted nor cut.
 *
 * @param scan undefined: all resources of the type
 */
export function collection(
  order: PageOrder,
  { need, place }: Pick<Asked, 'need' | 'place'>,
  scan: Sql | undefined,
  tests: readonly Sql[],
): Sql {
  const terms = orderTerms(order.keys, order.scope);
  const from = scan === undefined ? isCurrent(order.scope) : sql`r0.key IN (${scan})`;
  const matching = sql`FROM resource r0 WHERE ${allOf([from, inTime(sql`r0.key`, order.scope), ...tests])}`;
  const named = terms.map((term, index) => ({ ...term, value: new Sql(`k${index}`, []) }));
  const values = list(terms.map(({ value }, index) => sql`${value} AS ${named[index]!.value}`));
  const rows = sql`SELECT r0.content AS content, r0.id AS id, ${values} ${matching}`;
  const sorted =
    need > TUNING.maxChunk ? sql`LIMIT -1` : sql`ORDER BY ${orderBy(named, ID, order.backwards)} LIMIT ${need}`;
  if (place === undefined) return sql`${rows} ${sorted}`;
  // An inner LIMIT keeps the database from recomputing the order values at each comparison.
  const where = beyond(named, ID, { position: place, before: order.backwards });
  return sql`SELECT content, id, ${list(named.map(({ value }) => value))} FROM (${rows} LIMIT -1) s WHERE ${where} ${sorted}`;
}

const ID = sql`id`;
