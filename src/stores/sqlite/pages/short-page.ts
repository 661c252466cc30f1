import { pageStatement } from '../../sql/page.js';
import { inTime, isCurrent } from '../../sql/rows.js';
import { allOf, type Sql, sql } from '../../sql/sql.js';
import { compareTexts } from '../../../platform/texts.js';
import type { Statements } from '../database/statements.js';
import type { PreparedSearch } from './prepared-search.js';

/**
 * The versions of a page of the type in order of the ids, or of a page for which one condition finds few rows.
 * Undefined for other pages.
 *
 * Most searches are like this. One statement returns the whole page, so it needs no transaction and no preparation of
 * the other ways.
 */
export function shortPage(search: PreparedSearch, statements: Statements): readonly number[] | undefined {
  const { conditions, page } = search;
  const [first, second] = conditions;
  const isOfOne = first?.direct === true && second === undefined;
  if (isOfOne && first.scan !== undefined && page.sort.length === 0 && page.edge === undefined) {
    const found = fewById(search, first.scan, statements);
    if (found !== undefined) return found;
  }
  const statement = shortStatement(search);
  const keys = statement && (statements.column(statement) as readonly number[]);
  return search.isBackwards ? keys?.toReversed() : keys;
}

/** The statement of a short page; undefined for other pages. */
export function shortStatement({ conditions, narrow, page, scope }: PreparedSearch): Sql | undefined {
  if (conditions.length === 0) {
    if (page.sort.length > 0) return undefined;
    const isFar = page.offset + (page.limit ?? Infinity) > MANY;
    const among = allOf([isCurrent(scope), ...(isFar ? [inTime(sql`r0.key`, scope)] : [])]);
    return pageStatement(page, sql`FROM resource r0 WHERE ${among}`, scope);
  }
  if (narrow === undefined) return undefined;
  const tests = conditions.filter((one) => one !== narrow.condition).map(({ test }) => test);
  return pageStatement(
    page,
    sql`FROM resource r0 WHERE ${allOf([sql`r0.key IN (${narrow.condition.scan!})`, ...tests])}`,
    scope,
  );
}

/** The rows of a scan in the order of ids; undefined if there are more than a few. */
function fewById({ page }: PreparedSearch, scan: Sql, statements: Statements): readonly number[] | undefined {
  const rows = statements.all(sql`WITH s (key) AS (${scan}) SELECT r0.content, r0.id
    FROM (SELECT key FROM s LIMIT ${FEW}) s CROSS JOIN resource r0 ON r0.key = s.key`) as readonly [number, string][];
  if (rows.length === FEW) return undefined;
  const { offset, limit } = page;
  if (rows.length === 1 && offset === 0) return [rows[0]![0]];
  // A scan may find a resource by several of its values.
  const byContent = new Map(rows);
  const sorted = [...byContent].sort(([, a], [, b]) => compareTexts(a, b)).map(([content]) => content);
  return sorted.slice(offset, limit === undefined ? undefined : offset + limit);
}

/** The number of rows from which the database sorts. */
const FEW = 16;

/** The number of rows from which a statement checks the deadline. */
const MANY = 256;
