import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { referenceTo } from '../../fhir/reference.js';
import { assertFewResources, pageEdgeOf, pageOf } from '../../store/guards.js';
import type { CallOptions } from '../../store/call-options.js';
import type { ReferenceTarget } from '../../store/resource-key.js';
import type { SearchPage, SearchQuery } from '../../store/search-query.js';
import { rowCondition } from '../sql/conditions.js';
import { pageOfMatches } from '../sql/page.js';
import { parseStoredParts } from '../sql/parse-stored.js';
import { planRows } from '../sql/plan.js';
import { allOf, exists, FALSE, type Sql, sql, TRUE } from '../sql/sql.js';
import { inPlan, isFound, ofParameter, parameterKey, rowScope, type RowScope, valuesOf } from '../sql/rows.js';
import { arrayText, rowsOf } from './array.js';
import { type Condition, conditionsOf } from '../sql/pages/condition.js';
import { ConjunctionCount } from './count-conjunction.js';
import { postgresDialect } from './dialect.js';
import { rollbackUnless } from './errors.js';
import { resourceKey, uuidText } from './keys.js';
import type { Row } from './lent-connection.js';
import { withOwnScan } from './pages/own-scans.js';
import { areFar } from './pages/far.js';
import { PageFinder } from './pages/page-finder.js';
import { TUNING } from './pages/tuning.js';
import type { SkipCache } from './skip/skip-cache.js';
import type { NoteStale, SkipSource } from './skip/skip-state.js';

const X = sql`x`;

import type { Reader, Run } from './run.js';
import { SERIALLY } from './serially.js';
import { prepared } from './statements.js';

/** The state of the index seen by a search. */
export interface SearchIndex extends Reader {
  /** In what epoch its statements may run; see {@link epochHolds}. */
  readonly epoch: string;
  /** Called with each type that lacks a skip index. */
  readonly noteStale?: NoteStale | undefined;
  /** Undefined: without skip indexes. */
  readonly skips?: SkipCache | undefined;
}

/** One page of the matches. The count does not wait for the page. */
export async function search(model: FhirModel, query: SearchQuery, index: SearchIndex): Promise<SearchPage> {
  const { offset, limit } = pageOf(query);
  const edge = pageEdgeOf(model, query);
  // PERF: the length of an uncut page is the total.
  const isWhole = edge === undefined && limit === undefined && offset === 0;
  const [texts, counted] = await Promise.all([
    limit === 0 ? [] : pageTexts(model, query, [], index),
    query.total === true && !isWhole ? countOf(model, query, [], index) : undefined,
  ]);
  const matches = await parseStoredParts(texts, query.elements);
  if (edge?.before === true) matches.reverse();
  if (query.total !== true) return { matches };
  return { matches, total: counted ?? matches.length };
}

/** The texts of a page of matches: by one statement where few match or their order is that of an index by id. */
async function pageTexts(
  model: FhirModel,
  query: SearchQuery,
  among: readonly Condition[],
  index: SearchIndex,
): Promise<readonly string[]> {
  const { epoch, run, snapshot } = index;
  const scope = scopeOf(model, query);
  const { offset } = pageOf(query);
  const conditions = [...among, ...conditionsIn(query, scope)];
  if (isPlain(query, conditions)) {
    return (await run(plainPage(query, scope, epoch))).map(([content]) => content as string);
  }
  const finder = finderOf(query, model, scope, epoch, skipsOf(index));
  const found =
    (await finder.few(conditions, run)) ?? (await snapshot((inSnapshot) => finder.find(conditions, inSnapshot)));
  return found.slice(offset).map(({ content }) => content);
}

function conditionsIn({ criteria }: SearchQuery, scope: RowScope): readonly Condition[] {
  return conditionsOf(criteria, scope).map((one) => withOwnScan(one, scope));
}

function finderOf(
  query: SearchQuery,
  model: FhirModel,
  scope: RowScope,
  epoch: string,
  skips: SkipSource | undefined,
): PageFinder {
  const { sort = [], before } = query;
  const { offset, limit } = pageOf(query);
  const position = pageEdgeOf(model, query)?.position;
  const holds = epochHolds(epoch, SERIALLY);
  const need = offset + limit!;
  return new PageFinder({ scope, sort, backwards: before !== undefined, position, need, offset, holds, skips });
}

/** One statement reads all matches, or walks the index by id. */
function isPlain(query: SearchQuery, conditions: readonly Condition[]): boolean {
  const { offset, limit } = pageOf(query);
  return limit === undefined || (conditions.length === 0 && (query.sort ?? []).length === 0 && offset <= TUNING.deep);
}

function plainPage(query: SearchQuery, scope: RowScope, epoch: string): Sql {
  return pageOfMatches(query, sql`FROM resource r0 WHERE ${whereOf(query, scope)} AND ${epochHolds(epoch)}`, scope);
}

/** One page per target. */
export async function searchByReference(
  model: FhirModel,
  query: SearchQuery,
  parameter: string,
  targets: readonly ReferenceTarget[],
  index: SearchIndex,
  options?: CallOptions,
): Promise<readonly SearchPage[]> {
  const { epoch } = index;
  const keys = targets.map(({ type, id }) => referenceTo(type, id));
  const byName = new Map(targets.map((target, index) => [keys[index]!, target]));
  const wanted = [...byName.keys()];
  const statement = byReferenceStatement(model, query, parameter, [...byName.values()], epoch);
  const select = (run: Run): Promise<readonly Row[]> => run(prepared(cutRows(statement!, wanted, options)));
  // PERF: conditions on other resources look costly to the server. Outside of a snapshot it would compile the statement, which
  // takes a hundred times as long as the statement itself.
  const isFar = areFar(conditionsIn(query, scopeOf(model, query)));
  const isEmpty = wanted.length === 0 || statement === undefined;
  const rows = isEmpty ? [] : await (isFar ? index.snapshot(select) : select(index.run));
  assertFewResources(
    rows.reduce((sum, [, content]) => (content === null ? sum : sum + 1), 0),
    options,
  );
  const texts = new Map<string, TargetPage>();
  for (const [position, content, total, isBroad] of rows) {
    const target = wanted[Number(position) - 1]!;
    if (isBroad === true) {
      texts.set(target, await ofBroadTarget(model, query, parameter, byName.get(target)!, index));
      continue;
    }
    const page = texts.get(target) ?? { contents: [], total: 0 };
    texts.set(target, page);
    if (content !== null) page.contents.push(content as string);
    page.total = total === null ? page.contents.length : Number(total);
  }
  const backwards = pageEdgeOf(model, query)?.before === true;
  const pages = keys.map((key) => texts.get(key) ?? { contents: [], total: 0 });
  const resources = await parseStoredParts(
    pages.flatMap(({ contents }) => contents),
    query.elements,
  );
  let start = 0;
  return pages.map(({ contents, total }) => {
    const matches = resources.slice(start, (start += contents.length));
    if (backwards) matches.reverse();
    return query.total === true ? { matches, total } : { matches };
  });
}

interface TargetPage {
  readonly contents: string[];
  total: number;
}

/** A target that so many refer to that its page is worth a search of its own. */
async function ofBroadTarget(
  model: FhirModel,
  query: SearchQuery,
  parameter: string,
  target: ReferenceTarget,
  index: SearchIndex,
): Promise<TargetPage> {
  const scope = scopeOf(model, query);
  const key = parameterKey(scope, parameter)! as number;
  const targetKey = resourceKey(query.project, target.type, target.id);
  const isTarget = sql`x.target = ${targetKey}`;
  const ofRow = valuesOf('reference', X, sql`r0.key`, key, scope);
  const refers: Condition = {
    test: exists(ofRow.from, allOf([ofRow.where, isTarget, sql`x.grp = 0`])),
    scan: sql`SELECT x.resource FROM reference x WHERE ${ofParameter(X, key, scope)} AND ${isTarget} AND x.grp = 0`,
    direct: true,
    unique: true,
    shared: { parameter: key, value: uuidText(targetKey), suffices: true },
  };
  const [contents, counted] = await Promise.all([
    query.limit === 0 ? [] : pageTexts(model, query, [refers], index),
    query.total === true ? countOf(model, query, [refers], index) : undefined,
  ]);
  return { contents: [...contents], total: counted ?? 0 };
}

/** One row more than the call may return shows that there are too many. A target without matches has a row, too. */
function cutRows(statement: Sql, targets: readonly string[], options: CallOptions | undefined): Sql {
  const max = options?.maxResources;
  return max === undefined || !Number.isFinite(max) ? statement : sql`${statement} LIMIT ${max + targets.length + 1}`;
}

/**
 * True if the index is in this epoch; otherwise the whole statement fails, and index-status.ts runs it again. The
 * condition has no columns, so it reads a single row, once.
 *
 * @param serially {@link SERIALLY}, for statements that read a bounded number of rows
 */
export function epochHolds(epoch: string, serially = TRUE): Sql {
  const now = sql`SELECT m.value FROM fhirgraph_meta m WHERE ${allOf([sql`m.name = 'index_epoch'`, serially])}`;
  return sql`1 = ${rollbackUnless(sql`(${now}) = ${epoch}`)}`;
}

/** The statements behind {@link search}: those of each way to find the page, and the count. */
export function searchStatements(
  model: FhirModel,
  query: SearchQuery,
  epoch: string,
): { readonly pages: readonly Sql[]; readonly counts: readonly Sql[] } {
  const scope = scopeOf(model, query);
  const conditions = conditionsIn(query, scope);
  const counts = counter(scope, epoch).statements(query.criteria, conditions);
  if (isPlain(query, conditions)) {
    return { pages: [plainPage(query, scope, epoch)], counts };
  }
  return { pages: finderOf(query, model, scope, epoch, undefined).statements(conditions), counts };
}

/** The number of resources that meet conditions. */
function countOf(
  model: FhirModel,
  query: SearchQuery,
  among: readonly Condition[],
  index: SearchIndex,
): Promise<number> {
  const scope = scopeOf(model, query);
  const criteria = among.length === 0 ? query.criteria : undefined;
  return counter(scope, index.epoch, skipsOf(index)).count(criteria, [...among, ...conditionsIn(query, scope)], index);
}

function counter(scope: RowScope, epoch: string, skips?: SkipSource): ConjunctionCount {
  return new ConjunctionCount(scope, { one: epochHolds(epoch, SERIALLY), many: epochHolds(epoch) }, skips);
}

function skipsOf({ epoch, skips, noteStale }: SearchIndex): SkipSource | undefined {
  return skips && { epoch, cache: skips, noteStale };
}

/** The id of the first match. */
export function firstMatchStatement(model: FhirModel, query: SearchQuery, epoch: string): Sql {
  return sql`SELECT r0.id FROM resource r0 WHERE ${whereOf(query, scopeOf(model, query))} AND ${epochHolds(epoch)} ORDER BY r0.id LIMIT 1`;
}

/**
 * The one statement behind {@link searchByReference}: a page per target, searched separately, so that the limit applies
 * to each and no further rows are read. Rows are the target's position from 1 up, the content, the total, and whether so
 * many refer to the target that its page is left out. Content and total are null if not requested or absent. In the order
 * of each page.
 */
export function byReferenceStatement(
  model: FhirModel,
  query: SearchQuery,
  parameter: string,
  targets: readonly ReferenceTarget[],
  epoch: string,
): Sql | undefined {
  const { offset, limit } = pageOf(query);
  const scope = scopeOf(model, query);
  const key = parameterKey(scope, parameter);
  const condition = rowCondition(query.criteria, scope);
  if (key === undefined || condition === FALSE) return undefined;
  const { project, baseUrl } = query;
  const isPart = limit !== undefined || offset !== 0 || pageEdgeOf(model, query) !== undefined;
  const found = allOf([isFound(scope), condition, sql`NOT b.broad`]);
  const byReference = sql`${ofParameter(X, key, scope)} AND x.target = j.target AND x.grp = 0`;
  const referring =
    baseUrl === undefined
      ? sql`FROM reference x JOIN resource r0 ON r0.key = x.resource WHERE ${byReference} AND ${found}`
      : sql`FROM resource r0 WHERE r0.key IN (SELECT x.resource FROM reference x WHERE ${byReference}
          UNION ALL SELECT x.resource FROM uri x WHERE ${ofParameter(X, key, scope)} AND x.grp = 0
            AND ${scope.dialect.indexed.equals(sql`x.value`, sql`j.url`)})
          AND ${found}`;
  const page = sql`SELECT q.content, row_number() OVER () AS place FROM (${pageOfMatches(query, referring, scope)}) AS q`;
  const keys = targets.map(({ type, id }) => resourceKey(project, type, id));
  const urls = arrayText(targets.map(({ type, id }) => `${baseUrl!}/${referenceTo(type, id)}`));
  const from =
    baseUrl === undefined
      ? sql`${rowsOf(keys)} WITH ORDINALITY AS j(target, position)`
      : sql`unnest(${arrayText(keys)}::uuid[], ${urls}::text[]) WITH ORDINALITY AS j(target, url, position)`;
  const last = sql`SELECT 1 FROM reference x WHERE ${byReference} LIMIT 1 OFFSET ${TUNING.broadTarget - 1}`;
  const isBroad = limit === undefined || baseUrl !== undefined ? FALSE : sql`(${last}) IS NOT NULL`;
  const targetsWithBreadth = sql`${from} CROSS JOIN LATERAL (SELECT ${isBroad} AS broad OFFSET 0) b`;
  if (query.total !== true || !isPart) {
    return sql`SELECT j.position, p.content, NULL, b.broad FROM ${targetsWithBreadth} LEFT JOIN LATERAL (${page}) AS p ON TRUE
      WHERE ${epochHolds(epoch)} ORDER BY j.position, p.place`;
  }
  return sql`SELECT j.position, p.content, t.total, b.broad FROM ${targetsWithBreadth}
    CROSS JOIN LATERAL (SELECT count(*) AS total ${referring}) AS t LEFT JOIN LATERAL (${page}) AS p ON TRUE
    WHERE ${epochHolds(epoch)} ORDER BY j.position, p.place`;
}

function scopeOf(model: FhirModel, { project, type, baseUrl }: SearchQuery): RowScope {
  return rowScope({ project, dialect: postgresDialect(model), baseUrl }, type);
}

function whereOf({ criteria }: SearchQuery, scope: RowScope): Sql {
  return inPlan(planRows(criteria, scope), scope);
}
