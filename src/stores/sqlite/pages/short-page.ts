import { pageStatement } from '../../sql/page.js';
import { inTime, isCurrent } from '../../sql/rows.js';
import { allOf, type Sql, sql } from '../../sql/sql.js';
import { compareTexts } from '../../../platform/compare-texts.js';
import type { Statements } from '../database/statements.js';
import type { PreparedSearch } from './prepared-search.js';
import { TUNING } from '../scans/tuning.js';

/**
 * The versions of a page of the type in order of the ids, or of a page for which one condition finds few rows; in
 * reverse order if the page ends at a position. Undefined for other pages.
 *
 * PERF: most searches are like this. One statement returns the whole page, so it needs no transaction and no preparation of
 * the other ways.
 */
export function shortPage(search: PreparedSearch, statements: Statements): readonly number[] | undefined {
  const { page, scope, query } = search;
  const isById = page.sort.length === 0;
  if (query.criteria.kind === 'all') {
    if (!isById) return undefined;
    const isFar = page.offset + (page.limit ?? Infinity) > MANY;
    const among = allOf([isCurrent(scope), ...(isFar ? [inTime(sql`r0.key`, scope)] : [])]);
    return contentsOf(pageStatement(page, sql`FROM resource r0 WHERE ${among}`, scope), statements);
  }
  const { conditions, probes } = search;
  const [look] = TUNING.looks as readonly [number];
  const direct = conditions.filter((one) => one.direct === true && one.scan !== undefined);
  if (direct.length === 0 || look === Infinity) return undefined;
  if (conditions.length === 1 && isById && page.edge === undefined) {
    const found = fewById(search, direct[0]!.scan!, statements);
    if (found !== undefined) return found;
  }
  const start = probes.shortestUnder(look, direct);
  if (start === undefined) return undefined;
  if (start.rows === 0) return [];
  const { condition } = start;
  const tests = conditions.filter((one) => one !== condition).map(({ test }) => test);
  const matching = sql`FROM resource r0 WHERE ${allOf([sql`r0.key IN (${condition.scan!})`, ...tests])}`;
  return contentsOf(pageStatement(page, matching, scope), statements);
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

function contentsOf(page: Sql, statements: Statements): readonly number[] {
  return statements.column(page) as readonly number[];
}
