import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { pageEdgeOf, pageOf } from '../../../store/guards.js';
import type { SearchPage, SearchQuery } from '../../../store/search-query.js';
import { pageOfMatches } from '../../sql/page.js';
import { type Condition, conditionsOf } from '../../sql/pages/condition.js';
import { parseStoredParts } from '../../sql/parse-stored.js';
import { planRows } from '../../sql/plan.js';
import { inPlan, rowScope, type RowScope } from '../../sql/rows.js';
import { allOf, type Sql, sql, TRUE } from '../../sql/sql.js';
import { ConjunctionCount } from './count-conjunction.js';
import type { CallTexts } from '../../../store/text-budget.js';
import { boundedText, OMITTED } from '../rows/bounded-texts.js';
import { foundTexts } from '../scans/range-walk.js';
import { postgresDialect } from '../rows/dialect.js';
import { rollbackUnless } from '../database/errors.js';
import { withOwnScan } from '../scans/own-scans.js';
import { PageFinder } from '../pages/page-finder.js';
import { TUNING } from '../scans/tuning.js';
import type { Reader } from '../database/run.js';
import { SERIALLY } from '../database/serially.js';
import type { SkipCache } from '../skip/read/skip-cache.js';
import type { NoteStale, SkipSource } from '../skip/read/skip-state.js';

/** The conditions under which the statements of a search may run; see {@link epochHolds}. */
export interface Validity {
  readonly epoch: string;
  /** A condition on the database that the statements assume; see needed-bases.ts. */
  readonly lacks?: Sql | undefined;
}

/** The state of the index seen by a search. */
export interface SearchIndex extends Reader, Validity {
  /** Called with each type that lacks a skip index. */
  readonly noteStale?: NoteStale | undefined;
  /** Undefined: without skip indexes. */
  readonly skips?: SkipCache | undefined;
  /** Counts the texts of the page. Undefined: they are not counted. */
  readonly texts?: CallTexts | undefined;
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

/** The texts of a page of matches: by one statement if few match, or if their order is that of an index by id. */
export async function pageTexts(
  model: FhirModel,
  query: SearchQuery,
  among: readonly Condition[],
  index: SearchIndex,
): Promise<readonly string[]> {
  const { run, snapshot } = index;
  const scope = scopeOf(model, query);
  const { offset } = pageOf(query);
  const conditions = [...among, ...conditionsIn(query, scope)];
  if (isPlain(query, conditions)) {
    return shown(foundTexts(await run(plainPage(query, scope, index)), 0, index.texts));
  }
  const finder = finderOf(query, model, scope, index, skipsOf(index), index.texts);
  const found =
    (await finder.few(conditions, run)) ?? (await snapshot((inSnapshot) => finder.find(conditions, inSnapshot)));
  return shown(found.slice(offset));
}

/** The texts of the page, which ends before the first that its call may not read. */
function shown(texts: readonly string[]): readonly string[] {
  const end = texts.indexOf(OMITTED);
  return end < 0 ? texts : texts.slice(0, end);
}

export function conditionsIn({ criteria }: SearchQuery, scope: RowScope): readonly Condition[] {
  return conditionsOf(criteria, scope).map((one) => withOwnScan(one, scope));
}

function finderOf(
  query: SearchQuery,
  model: FhirModel,
  scope: RowScope,
  validity: Validity,
  skips: SkipSource | undefined,
  texts?: CallTexts,
): PageFinder {
  const { sort = [], before } = query;
  const { offset, limit } = pageOf(query);
  const position = pageEdgeOf(model, query)?.position;
  const holds = epochHolds(validity, SERIALLY);
  const need = offset + limit!;
  return new PageFinder({ scope, sort, backwards: before !== undefined, position, need, offset, holds, skips, texts });
}

/** One statement reads all matches, or walks the index by id. */
function isPlain(query: SearchQuery, conditions: readonly Condition[]): boolean {
  const { offset, limit } = pageOf(query);
  return limit === undefined || (conditions.length === 0 && (query.sort ?? []).length === 0 && offset <= TUNING.deep);
}

function plainPage(query: SearchQuery, scope: RowScope, validity: Validity & Pick<SearchIndex, 'texts'>): Sql {
  const { texts } = validity;
  const page = pageOfMatches(
    query,
    sql`FROM resource r0 WHERE ${whereOf(query, scope)} AND ${epochHolds(validity)}`,
    scope,
  );
  const text = boundedText(sql`q.content`, texts, pageOf(query).limit ?? Infinity);
  return texts?.isBounded === true ? sql`SELECT ${text} AS content FROM (${page}) q` : page;
}

/**
 * The condition that the index is in this epoch; otherwise the whole statement fails, and index-status.ts runs it
 * again. The condition has no columns, so it reads a single row, once.
 *
 * @param serially {@link SERIALLY}, for statements that read a bounded number of rows
 */
export function epochHolds({ epoch, lacks = TRUE }: Validity, serially = TRUE): Sql {
  const now = sql`SELECT m.value FROM fhirgraph_meta m WHERE ${allOf([sql`m.name = 'index_epoch'`, serially])}`;
  return sql`1 = ${rollbackUnless(allOf([sql`(${now}) = ${epoch}`, lacks]))}`;
}

/** The statements behind {@link search}: those of each way to find the page, and the count. */
export function searchStatements(
  model: FhirModel,
  query: SearchQuery,
  epoch: string,
): { readonly pages: readonly Sql[]; readonly counts: readonly Sql[] } {
  const scope = scopeOf(model, query);
  const conditions = conditionsIn(query, scope);
  const counts = counter(scope, { epoch }).statements(query.criteria, conditions);
  if (isPlain(query, conditions)) {
    return { pages: [plainPage(query, scope, { epoch })], counts };
  }
  return { pages: finderOf(query, model, scope, { epoch }, undefined).statements(conditions), counts };
}

/** The number of resources that meet conditions. */
export function countOf(
  model: FhirModel,
  query: SearchQuery,
  among: readonly Condition[],
  index: SearchIndex,
): Promise<number> {
  const scope = scopeOf(model, query);
  const criteria = among.length === 0 ? query.criteria : undefined;
  return counter(scope, index, skipsOf(index)).count(criteria, [...among, ...conditionsIn(query, scope)], index);
}

function counter(scope: RowScope, validity: Validity, skips?: SkipSource): ConjunctionCount {
  return new ConjunctionCount(scope, { one: epochHolds(validity, SERIALLY), many: epochHolds(validity) }, skips);
}

function skipsOf({ epoch, skips, noteStale }: SearchIndex): SkipSource | undefined {
  return skips && { epoch, cache: skips, noteStale };
}

/** The id of the first match. */
export function firstMatchStatement(model: FhirModel, query: SearchQuery, epoch: string): Sql {
  return sql`SELECT r0.id FROM resource r0 WHERE ${whereOf(query, scopeOf(model, query))} AND ${epochHolds({ epoch })} ORDER BY r0.id LIMIT 1`;
}

export function scopeOf(model: FhirModel, { project, type, baseUrl }: SearchQuery): RowScope {
  return rowScope({ project, dialect: postgresDialect(model), baseUrl }, type);
}

function whereOf({ criteria }: SearchQuery, scope: RowScope): Sql {
  return inPlan(planRows(criteria, scope), scope);
}
