import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { pageEdgeOf, pageOf } from '../../../store/guards.js';
import type { SearchPage, SearchQuery } from '../../../store/search-query.js';
import type { CallTexts } from '../../../store/text-budget.js';
import { type ExplainedStatement, pageOfMatches } from '../../sql/page.js';
import { type Condition, conditionsOf } from '../../sql/pages/condition.js';
import { DecidingKeys } from '../../sql/pages/deciding-keys.js';
import { parseStoredParts } from '../../sql/parse-stored.js';
import { planRows } from '../../sql/plan.js';
import { inPlan, rowScope, type RowScope } from '../../sql/rows.js';
import type { SegmentNeeds } from '../../sql/segment-refresh.js';
import { allOf, FALSE, type Sql, sql, TRUE } from '../../sql/sql.js';
import type { Row } from '../database/lent-connection.js';
import type { Reader, Run } from '../database/run.js';
import { rollbackUnless } from '../database/errors.js';
import { SERIALLY } from '../database/serially.js';
import { prepared } from '../database/statements.js';
import { collectedCount, collectedPage, type Start } from '../pages/collection.js';
import type { Asked } from '../pages/page-statement.js';
import { rowsOf } from '../rows/array.js';
import { boundedText, OMITTED, takesText } from '../rows/bounded-texts.js';
import { byKey } from '../rows/by-key.js';
import { postgresDialect } from '../rows/dialect.js';
import { projectKey, resourceKey } from '../rows/keys.js';
import { allOfType, isBrief, narrowScans, rarest } from '../scans/narrow-scans.js';
import { withOwnScan } from '../scans/own-scans.js';
import { TUNING } from '../scans/tuning.js';
import type { IndexState } from '../../sql/index-state.js';
import type { SegmentPage } from '../../segments/segment-search.js';
import { rowsStatement } from '../segments/segment-port.js';
import type { PostgresSegments, Wanted } from '../segments/segments.js';

/** The state of the index seen by a search. */
export interface SearchIndex extends Reader, Pick<IndexState, 'epoch'> {
  readonly segments: PostgresSegments;
  readonly work: SegmentNeeds;
  /** Counts the texts of the page. Undefined: they are not counted. */
  readonly texts?: CallTexts | undefined;
}

/** One page of the matches. */
export async function search(model: FhirModel, query: SearchQuery, index: SearchIndex): Promise<SearchPage> {
  const { texts, total } = await found(model, query, index);
  const matches = await parseStoredParts(texts, query.elements);
  if (pageEdgeOf(model, query)?.before === true) matches.reverse();
  return query.total === true ? { matches, total: total ?? matches.length } : { matches };
}

/** The texts of a page, in its order or (before a position) reversed, and the total; undefined if all texts are the total. */
export interface Found {
  readonly texts: readonly string[];
  readonly total: number | undefined;
}

/**
 * Finds a page and its total. Each way is tried once:
 *
 * 1. **all**: the page of all resources by id, or all matches without a limit: one statement.
 * 2. **narrowest**: if a condition finds few resources, they are tested and sorted: one statement each.
 * 3. **segments**: see docs/internals/index.md.
 * 4. **rarest**: without segments, all matches of the rarest condition are tested and sorted.
 */
export async function found(model: FhirModel, query: SearchQuery, index: SearchIndex): Promise<Found> {
  const ways = new Ways(model, query, index);
  const { wanted } = ways;
  const { texts, total } = await ways.few(wanted, index.run);
  const left = { page: wanted.page && texts === undefined, total: wanted.total && total === undefined };
  const rest = left.page || left.total ? await index.snapshot((run) => ways.many(left, run)) : undefined;
  return { texts: shown(texts ?? rest?.texts ?? []), total: total ?? rest?.total };
}

/** The texts of the page, which ends before the first that its call may not read. */
function shown(texts: readonly string[]): readonly string[] {
  const end = texts.indexOf(OMITTED);
  return end < 0 ? texts : texts.slice(0, end);
}

/** The ways to a page and a total. */
class Ways {
  readonly #scope: RowScope;
  readonly #conditions: readonly Condition[];
  readonly #asked: Asked;
  /** Ends a statement if the index has changed: one that the server does not divide among processes, and any other. */
  readonly #holds: { readonly one: Sql; readonly many: Sql };

  constructor(
    readonly model: FhirModel,
    readonly query: SearchQuery,
    readonly index: SearchIndex,
  ) {
    this.#scope = scopeOf(model, query);
    this.#conditions = conditionsIn(query, this.#scope);
    this.#holds = { one: epochHolds(index, SERIALLY), many: epochHolds(index) };
    this.#asked = askedOf(model, query, this.#scope, this.#holds.one, index.texts);
  }

  get wanted(): Wanted {
    const { offset, limit } = pageOf(this.query);
    // PERF (scale): the length of an uncut page is the total.
    const isWhole = pageEdgeOf(this.model, this.query) === undefined && limit === undefined && offset === 0;
    return { page: limit !== 0, total: this.query.total === true && !isWhole };
  }

  /** What one statement finds, if few resources meet a condition. */
  async few(wanted: Wanted, run: Run): Promise<{ readonly [Part in keyof Found]: Found[Part] | undefined }> {
    const conditions = this.#conditions;
    if (conditions.some(({ test }) => test === FALSE)) return { texts: [], total: 0 };
    const isBroad = this.index.segments.haveAnswered(this.query) && !conditions.some(isBrief);
    const start = isBroad ? undefined : await this.#narrow(run);
    const [texts, total] = await Promise.all([
      wanted.page ? this.#fewTexts(start, run) : undefined,
      wanted.total && start !== undefined ? this.#fewTotal(start, run) : undefined,
    ]);
    return { texts, total };
  }

  async #narrow(run: Run): Promise<Start> {
    const scans = await narrowScans(this.#conditions, this.#scope, run);
    return { scans: scans.length === 0 ? [allOfType(this.#scope)] : scans, look: TUNING.look };
  }

  async #fewTexts(start: Start | undefined, run: Run): Promise<readonly string[] | undefined> {
    const { texts } = this.index;
    if (this.#isPlain) return textsIn(await run(this.#plainPage()), 0, texts);
    if (start === undefined) return undefined;
    const rows = await run(prepared(collectedPage(this.#asked, this.#conditions, start)));
    return rows[0]![0] === null ? undefined : this.#pageIn(rows);
  }

  async #fewTotal(start: Start, run: Run): Promise<number | undefined> {
    const [row] = await run(prepared(collectedCount(this.#scope, this.#holds.one, this.#conditions, start)));
    return row![0] === null ? undefined : Number(row![0]);
  }

  /** What is found among many resources. @param run runs statements in one snapshot */
  async many(wanted: Wanted, run: Run): Promise<Found> {
    const { ids, total } = (await this.#bySegments(wanted, run)) ?? {};
    if (ids !== undefined) return { texts: ids.length === 0 ? [] : await this.#textsOf(ids, run), total };
    const found = await this.#fromRarest({ page: wanted.page, total: wanted.total && total === undefined }, run);
    return { texts: found.texts, total: total ?? found.total };
  }

  #bySegments(wanted: Wanted, run: Run): Promise<SegmentPage | undefined> {
    const { segments, work } = this.index;
    return segments.search(this.query, wanted, { run, work, holds: this.#holds.one });
  }

  async #textsOf(ids: readonly string[], run: Run): Promise<readonly string[]> {
    const { project, type } = this.query;
    const { texts } = this.index;
    // Segments have the order of the page, which is reversed before a position.
    const ordered = this.#asked.order.backwards ? ids.toReversed() : ids;
    const keys = rowsOf(ordered.map((id) => resourceKey(project, type, id)));
    const text = boundedText(sql`r.content`, texts, ids.length);
    const rows = await run(sql`SELECT ${text} FROM (SELECT k.n, r.content FROM ${keys} WITH ORDINALITY k(key, n)
      CROSS JOIN LATERAL (${byKey(projectKey(project), sql`k.key`)}) r ORDER BY k.n) r`);
    return textsIn(rows, 0, texts);
  }

  async #fromRarest(wanted: Wanted, run: Run): Promise<Found> {
    const start = await this.#rarest(run);
    const conditions = this.#conditions;
    const texts = wanted.page ? this.#pageIn(await run(collectedPage(this.#asked, conditions, start))) : [];
    if (!wanted.total) return { texts, total: undefined };
    const [row] = await run(collectedCount(this.#scope, this.#holds.many, conditions, start));
    return { texts, total: Number(row![0]) };
  }

  async #rarest(run: Run): Promise<Start> {
    return { scans: [(await rarest(this.#conditions, run)) ?? allOfType(this.#scope)], look: Infinity };
  }

  /** The statement that finds the page, and the one that counts; both are found as a search finds them. */
  async explain(run: Run, snapshot: Reader['snapshot']): Promise<readonly ExplainedStatement[]> {
    const { wanted } = this;
    const start = await this.#narrow(run);
    const few = await this.few(wanted, run);
    const left = { page: wanted.page && few.texts === undefined, total: wanted.total && few.total === undefined };
    const bySegments =
      left.page || left.total ? await snapshot((inSnapshot) => this.#bySegments(left, inSnapshot)) : undefined;
    const segments: ExplainedStatement = {
      way: 'segments',
      statement: rowsStatement(projectKey(this.query.project), []),
    };
    const all = { scans: [allOfType(this.#scope)], look: Infinity };
    const rest = left.page || left.total ? await snapshot((inSnapshot) => this.#rarest(inSnapshot)) : all;
    const page = (from: Start): Sql =>
      this.#isPlain ? this.#plainPage() : collectedPage(this.#asked, this.#conditions, from);
    const count = (from: Start): Sql => collectedCount(this.#scope, this.#holds.one, this.#conditions, from);
    const isFound = left.page && bySegments?.ids !== undefined;
    const isCounted = left.total && bySegments?.total !== undefined;
    const found = isFound ? segments : { way: 'collect' as const, statement: page(left.page ? rest : start) };
    const counted = isCounted ? segments : { statement: count(left.total ? rest : start) };
    // The same rows of segments give both.
    return [...(wanted.page ? [found] : []), ...(wanted.total && !(isFound && isCounted) ? [counted] : [])];
  }

  /** The texts of a page, without those before its offset. */
  #pageIn(rows: readonly Row[]): readonly string[] {
    return textsIn(rows, 1, this.index.texts).slice(this.#asked.need - this.#asked.shown);
  }

  /** One statement reads all matches, or a range of the index by id. */
  get #isPlain(): boolean {
    const { offset, limit } = pageOf(this.query);
    const isById = this.#conditions.length === 0 && (this.query.sort ?? []).length === 0;
    return limit === undefined || (isById && offset <= TUNING.look);
  }

  #plainPage(): Sql {
    const { query, index } = this;
    const page = pageOfMatches(
      query,
      sql`FROM resource r0 WHERE ${whereOf(query, this.#scope)} AND ${epochHolds(index)}`,
      this.#scope,
    );
    const text = boundedText(sql`q.content`, index.texts, pageOf(query).limit ?? Infinity);
    return index.texts?.isBounded === true ? sql`SELECT ${text} AS content FROM (${page}) q` : page;
  }
}

function askedOf(
  model: FhirModel,
  query: SearchQuery,
  scope: RowScope,
  holds: Sql,
  texts: CallTexts | undefined,
): Asked {
  const { sort = [], before } = query;
  const { offset, limit = Infinity } = pageOf(query);
  const position = pageEdgeOf(model, query)?.position;
  const keys = new DecidingKeys(sort, position, scope);
  const order = { scope, keys: keys.keys, backwards: before !== undefined };
  return { order, need: offset + limit, shown: limit, place: keys.placeOf(position), holds, texts };
}

/** The texts in a column; a page without matches has a row without a text. */
function textsIn(rows: readonly Row[], column: number, texts: CallTexts | undefined): readonly string[] {
  const all = rows.map((row) => row[column] as string | null).filter((text) => text !== null);
  return all.map((text) => (text === '' || takesText(text, texts) ? text : OMITTED));
}

export function conditionsIn({ criteria }: SearchQuery, scope: RowScope): readonly Condition[] {
  return conditionsOf(criteria, scope).map((one) => withOwnScan(one, scope));
}

/**
 * The condition that the index is in this epoch; otherwise the whole statement fails, and index-status.ts runs it
 * again. The condition has no columns, so it reads a single row, once.
 *
 * @param serially {@link SERIALLY}, for statements that read a bounded number of rows
 */
export function epochHolds({ epoch }: Pick<IndexState, 'epoch'>, serially = TRUE): Sql {
  const now = sql`SELECT m.value FROM fhirgraph_meta m WHERE ${allOf([sql`m.name = 'index_epoch'`, serially])}`;
  return sql`1 = ${rollbackUnless(sql`(${now}) = ${epoch}`)}`;
}

/** The statements behind {@link search}. */
export function explainSearch(
  model: FhirModel,
  query: SearchQuery,
  index: SearchIndex,
): Promise<readonly ExplainedStatement[]> {
  return new Ways(model, query, index).explain(index.run, (work) => index.snapshot(work));
}

/** The id of the first match. */
export function firstMatchStatement(model: FhirModel, query: SearchQuery, epoch: string): Sql {
  return sql`SELECT r0.id FROM resource r0 WHERE ${whereOf(query, scopeOf(model, query))} AND ${epochHolds({ epoch })} ORDER BY r0.id LIMIT 1`;
}

export function scopeOf(model: FhirModel, { project, type }: SearchQuery): RowScope {
  return rowScope({ project, dialect: postgresDialect(model) }, type);
}

function whereOf({ criteria }: SearchQuery, scope: RowScope): Sql {
  return inPlan(planRows(criteria, scope), scope);
}
