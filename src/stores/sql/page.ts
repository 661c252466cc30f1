import { pageEdgeOf, pageOf } from '../../store/guards.js';
import type { SearchQuery } from '../../store/store.js';
import { beyond, orderBy, orderTerms } from './order.js';
import type { RowScope } from './rows.js';
import { list, Sql, sql } from './sql.js';

/**
 * The column `content` of one page's rows, in order; from the page's end backwards where it ends at a position.
 *
 * @param matching FROM and WHERE of all matches, with `r0` for the resource
 */
export function pageOfMatches(query: SearchQuery, matching: Sql, scope: RowScope): Sql {
  const { noLimit } = scope.dialect;
  const { offset, limit = noLimit } = pageOf(query);
  const edge = pageEdgeOf(scope.dialect.model, query);
  const terms = orderTerms(query.sort, scope);
  const page = sql`LIMIT ${limit} OFFSET ${offset}`;
  const id = sql`r0.id`;
  if (edge === undefined) return sql`SELECT r0.content AS content ${matching} ORDER BY ${orderBy(terms, id)} ${page}`;
  const { before } = edge;
  if (terms.length === 0) {
    return sql`SELECT r0.content AS content ${matching} AND ${beyond(terms, id, edge)}
      ORDER BY ${orderBy(terms, id, before)} ${page}`;
  }
  // PERF: an inner LIMIT keeps the database from recomputing the order values at each comparison.
  const named = terms.map((term, index) => ({ ...term, value: new Sql(`s.k${index}`, []) }));
  const values = list(terms.map(({ value }, index) => sql`${value} AS ${new Sql(`k${index}`, [])}`));
  return sql`SELECT s.content AS content
    FROM (SELECT r0.content AS content, r0.id AS id, ${values} ${matching} LIMIT ${noLimit}) s
    WHERE ${beyond(named, sql`s.id`, edge)} ORDER BY ${orderBy(named, sql`s.id`, before)} ${page}`;
}
