import { beyond, orderBy, type OrderTerm, orderTerms } from '../../sql/order.js';
import type { PageOrder, PagePosition } from '../../sql/pages/page-order.js';
import { allOf, list, Sql, sql, TRUE } from '../../sql/sql.js';
import type { RowScope } from '../../sql/rows.js';
import type { CallTexts } from '../../../store/text-budget.js';
import { boundedText } from '../rows/bounded-texts.js';
import { projectKey } from '../rows/keys.js';

/** The parameters of a statement that finds a page, from some key of the order on. */
export interface Asked {
  readonly order: PageOrder;
  readonly need: number;
  /** How many of these are shown: the last ones. The others have empty texts. */
  readonly shown: number;
  /** The position where the page begins. */
  readonly place: PagePosition | undefined;
  /** Counts the texts of the page. */
  readonly texts?: CallTexts | undefined;
  /** Ends the statement if the index has changed; see {@link epochHolds}. */
  readonly holds: Sql;
}

const ID = sql`m.id`;

/**
 * The page among resources whose first value is known: its texts, as `p` with `content` and the place `n`.
 *
 * Texts are read only for the page, and later values only for resources that can be on it.
 *
 * @param found a table with `key` and the first value `v`
 */
export function pageOf(asked: Asked, found: Sql): Sql {
  const { order } = asked;
  const isById = order.keys[0]!.parameter === '_id';
  const sorted = sql`SELECT q.key, row_number() OVER () AS n FROM (${isById ? sortedById(asked, found) : sortedByKeys(asked, found)}) q`;
  const ofRow = [sql`y.project = ${projectKey(order.scope.project)}`, sql`y.key = s.key`];
  const content = (where: readonly Sql[]): Sql => sql`SELECT y.content FROM resource y WHERE ${allOf(where)} OFFSET 0`;
  const passed = asked.need - asked.shown;
  const text = boundedText(sql`c.content`, asked.texts, asked.need);
  if (passed === 0) {
    return sql`(SELECT ${text} AS content, s.n FROM (${sorted}) s CROSS JOIN LATERAL (${content(ofRow)}) c) p`;
  }
  const shown = content([...ofRow, sql`s.n > ${passed}`]);
  return sql`(SELECT coalesce(${text}, '') AS content, s.n FROM (${sorted}) s LEFT JOIN LATERAL (${shown}) c ON TRUE) p`;
}

/** PERF (scale): the first value is the id, and no key comes after it, so the resources are not read for it. */
function sortedById({ order, need }: Asked, found: Sql): Sql {
  const direction = order.keys[0]!.descending === order.backwards ? sql`ASC` : sql`DESC`;
  return sql`SELECT t.key FROM ${found} t ORDER BY t.v ${direction} ${limited(need)}`;
}

function sortedByKeys({ order, need }: Asked, found: Sql): Sql {
  const { scope, keys, backwards } = order;
  const row = { ...scope, row: sql`m` };
  const first: OrderTerm = { value: sql`q.v`, descending: keys[0]!.descending };
  const later = orderTerms(keys, row).slice(1);
  const by = orderBy([first, ...named(later)], sql`q.id`, backwards);
  const values = later.map(({ value }, index) => sql`${value} AS ${new Sql(`k${index}`, [])}`);
  const rows = sql`SELECT ${list([sql`m.key`, ID, sql`t.v`, ...values])} FROM ${found} t ${oneResource(sql`m`, sql`t.key`, order)}`;
  return sql`SELECT q.key FROM (${rows}) q ORDER BY ${by} ${limited(need)}`;
}

/** Joins the resource with a key. OFFSET keeps the planner from reading others. */
export function oneResource(row: Sql, key: Sql, { scope }: PageOrder): Sql {
  return oneResourceOf(scope, row, key);
}

export function oneResourceOf(scope: RowScope, row: Sql, key: Sql): Sql {
  return sql`CROSS JOIN LATERAL (SELECT * FROM resource y WHERE y.project = ${projectKey(scope.project)} AND y.key = ${key} OFFSET 0) ${row}`;
}

/** The condition that the resource with a key comes after the position, or before it. */
export function isBeyond({ order, place }: Asked, key: Sql): Sql {
  if (place === undefined) return TRUE;
  const row = { ...order.scope, row: sql`m` };
  const terms = orderTerms(order.keys, row);
  const is = beyond(terms, ID, { position: place, before: order.backwards });
  return sql`EXISTS (SELECT 1 FROM resource m WHERE ${allOf([sql`m.project = ${projectKey(order.scope.project)}`, sql`m.key = ${key}`, is])} OFFSET 0)`;
}

/** Limits rows to the needed first values, and all rows that are equal to the last of them. */
export function firstWithTies({ order, need }: Asked, value: Sql): Sql {
  if (need === Infinity) return sql``;
  const { descending } = order.keys[0]!;
  const direction = descending === order.backwards ? sql`ASC` : sql`DESC`;
  const nulls = order.backwards ? sql`FIRST` : sql`LAST`;
  return sql`ORDER BY ${value} ${direction} NULLS ${nulls} FETCH FIRST ${need} ROWS WITH TIES`;
}

function limited(need: number): Sql {
  return need === Infinity ? sql`` : sql`LIMIT ${need}`;
}

function named(terms: readonly OrderTerm[]): readonly OrderTerm[] {
  return terms.map((term, index) => ({ ...term, value: new Sql(`q.k${index}`, []) }));
}
