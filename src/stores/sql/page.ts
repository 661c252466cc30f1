import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { SortKey } from '../../search/criteria/criteria.js';
import { type PageEdge, pageEdgeOf, pageOf } from '../../store/guards.js';
import type { SearchQuery } from '../../store/search-query.js';
import type { StatementPlan } from '../../store/store.js';
import { beyond, orderBy, orderTerms } from './order.js';
import type { RowScope } from './rows.js';
import { list, Sql, sql } from './sql.js';

/** The part of a search's matches that a query asks for. */
export interface RequestedPage {
  readonly sort: readonly SortKey[];
  readonly offset: number;
  /** Undefined: no limit. */
  readonly limit: number | undefined;
  /** The position that bounds the page. */
  readonly edge: PageEdge | undefined;
}

/** A statement of a search, and the way to the page that it is part of. */
export interface ExplainedStatement {
  readonly way?: StatementPlan['way'];
  readonly statement: Sql;
}

/** The page of a query. @throws FhirError `invalid` - the limit, offset or position is malformed */
export function requestedPage(query: SearchQuery, model: FhirModel): RequestedPage {
  return { ...pageOf(query), sort: query.sort ?? [], edge: pageEdgeOf(model, query) };
}

/**
 * The column `content` of one page's rows, in order; in reverse order if the page ends at a position.
 *
 * @param matching FROM and WHERE of all matches, with `r0` for the resource
 */
export function pageOfMatches(query: SearchQuery, matching: Sql, scope: RowScope): Sql {
  return pageStatement(requestedPage(query, scope.dialect.model), matching, scope);
}

/** {@link pageOfMatches} for a page that is already read from its query. */
export function pageStatement({ sort, offset, limit, edge }: RequestedPage, matching: Sql, scope: RowScope): Sql {
  const { noLimit } = scope.dialect;
  const terms = orderTerms(sort, scope);
  const page = sql`LIMIT ${limit ?? noLimit} OFFSET ${offset}`;
  const id = sql`r0.id`;
  if (edge === undefined) return sql`SELECT r0.content AS content ${matching} ORDER BY ${orderBy(terms, id)} ${page}`;
  const { before } = edge;
  if (terms.length === 0) {
    return sql`SELECT r0.content AS content ${matching} AND ${beyond(terms, id, edge)}
      ORDER BY ${orderBy(terms, id, before)} ${page}`;
  }
  // An inner LIMIT keeps the database from recomputing the order values at each comparison.
  const named = terms.map((term, index) => ({ ...term, value: new Sql(`s.k${index}`, []) }));
  const values = list(terms.map(({ value }, index) => sql`${value} AS ${new Sql(`k${index}`, [])}`));
  return sql`SELECT s.content AS content
    FROM (SELECT r0.content AS content, r0.id AS id, ${values} ${matching} LIMIT ${noLimit}) s
    WHERE ${beyond(named, sql`s.id`, edge)} ORDER BY ${orderBy(named, sql`s.id`, before)} ${page}`;
}
