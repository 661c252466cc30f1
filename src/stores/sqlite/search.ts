import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { referenceTo } from '../../fhir/reference.js';
import { pageEdgeOf, pageOf } from '../../store/guards.js';
import type { ReferenceTarget } from '../../store/resource-key.js';
import type { SearchQuery } from '../../store/search-query.js';
import { chooseScan } from './choose-scan.js';
import { countInSets } from './count-sets.js';
import { ConjunctionCount } from './count-conjunction.js';
import { rowCondition } from '../sql/conditions.js';
import type { SqlDialect } from '../sql/dialect.js';
import { pageOfMatches } from '../sql/page.js';
import { planRows } from '../sql/plan.js';
import { inPlan, inTime, parameterKey, type RowPlan, rowScope, type RowScope } from '../sql/rows.js';
import { allOf, FALSE, type Sql, sql, TRUE } from '../sql/sql.js';
import { sqliteDialect } from './dialect.js';
import type { Dictionaries } from './dictionary.js';
import { type Guard, isInTime } from './guard.js';
import type { KeptText } from './kept-text.js';
import type { Condition } from '../sql/pages/condition.js';
import { PageFinder } from './pages/page-finder.js';
import { PreparedSearch } from './pages/prepared-search.js';
import { shortPage } from './pages/short-page.js';
import { countOfShapes } from './shapes.js';
import { SkipCache } from './skip/skip-cache.js';
import type { SkipSource } from './skip/skip-index.js';
import type { Statements } from './statements.js';

/** A page of matches as keys of their versions. */
export interface KeyPage {
  readonly keys: readonly number[];
  readonly total?: number;
  /** The texts of the keys, where the search read them too. They stay in this thread. */
  readonly texts?: readonly (KeptText | undefined)[];
}

/** Answers searches with version keys: `Contents` loads their resources. */
export class Searches {
  readonly #statements: Statements;
  readonly #guard: Guard;
  readonly #snapshot: <Result>(work: () => Result) => Result;
  readonly #dictionaries: Dictionaries;
  readonly #dialect: SqlDialect;
  readonly #skipSource: SkipSource;

  /**
   * @param snapshot runs work of several statements that see one moment's state
   * @param noteStale called with a type of a project whose skip indexes are to be made again
   */
  constructor(
    model: FhirModel,
    statements: Statements,
    dictionaries: Dictionaries,
    guard: Guard,
    snapshot: <Result>(work: () => Result) => Result,
    noteStale: (collection: number) => void,
  ) {
    this.#snapshot = snapshot;
    this.#skipSource = { cache: new SkipCache(), guard, noteStale };
    this.#statements = statements;
    this.#guard = guard;
    this.#dictionaries = dictionaries;
    this.#dialect = sqliteDialect(model, dictionaries);
  }

  /** One page of the matches. */
  search(query: SearchQuery): KeyPage {
    if (query.total === true) return this.#snapshot(() => this.#search(this.#prepare(query)));
    const search = this.#prepare(query);
    return this.#shortPage(search) ?? this.#snapshot(() => this.#search(search));
  }

  #shortPage(search: PreparedSearch): KeyPage | undefined {
    const { limit } = search.page;
    if (limit === undefined || limit === 0 || search.scope.collection === undefined) return undefined;
    const keys = shortPage(search, this.#statements);
    return keys && { keys: search.isBackwards ? keys.toReversed() : keys };
  }

  #search(search: PreparedSearch, among: readonly Condition[] = []): KeyPage {
    const { query, page } = search;
    const { offset, limit, edge } = page;
    const keys = limit === 0 ? [] : this.#keys(search, among);
    if (query.total !== true) return { keys };
    // PERF: the length of an uncut page is the total.
    const whole =
      edge === undefined &&
      limit !== 0 &&
      (limit === undefined || keys.length < limit) &&
      (offset === 0 || keys.length > 0);
    return { keys, total: whole ? offset + keys.length : this.#count(search, among) };
  }

  #keys(search: PreparedSearch, among: readonly Condition[]): readonly number[] {
    if (search.scope.collection === undefined) return [];
    const found = new PageFinder(search, this.#statements, this.#guard).find(among);
    const keys = found.map(({ content }) => content);
    return search.isBackwards ? keys.reverse() : keys;
  }

  #prepare(query: SearchQuery): PreparedSearch {
    return new PreparedSearch(query, this.#scope(query), this.#statements, this.#skipSource);
  }

  #count(search: PreparedSearch, among: readonly Condition[]): number {
    if (search.scope.collection !== undefined) {
      const counted = countInSets([...among, ...search.conditions], search, this.#statements);
      if (counted !== undefined) return counted;
    }
    return (this.#statements.get(this.#countStatement(search, among)) ?? [0])[0] as number;
  }

  #countStatement({ scope, conditions, probes }: PreparedSearch, among: readonly Condition[]): Sql {
    const { collection } = scope;
    if (collection === undefined) return sql`SELECT 0`;
    const repeats = (parameter: string): boolean => {
      const key = parameterKey(scope, parameter) as number;
      return this.#statements.get(countOfShapes(collection as number, key, 'several'))![0] !== 0;
    };
    return new ConjunctionCount(scope, probes, repeats).statement([...among, ...conditions]);
  }

  /** The first match as `Type/id`; undefined for none. */
  firstMatch(query: SearchQuery): string | undefined {
    const scope = this.#scope(query);
    const where = inPlan(this.#plan(query, scope), scope);
    const row = this.#statements.get(sql`SELECT r0.id FROM resource r0 WHERE ${where} ORDER BY r0.id LIMIT 1`);
    return row === undefined ? undefined : referenceTo(query.type, row[0] as string);
  }

  /**
   * One page per target.
   *
   * @param withTexts how many texts are read with the page of a single target; 0: none
   */
  searchByReference(
    query: SearchQuery,
    parameter: string,
    targets: readonly ReferenceTarget[],
    withTexts = 0,
  ): readonly KeyPage[] {
    const none = query.total === true ? { keys: [], total: 0 } : { keys: [] };
    if (query.baseUrl !== undefined) {
      const pages = this.#searchTogether(query, this.byUrlStatement(query, parameter, targets));
      return targets.map((_, index) => pages.get(index) ?? none);
    }
    const targetKeys = this.targetKeys(query, targets);
    const wanted = [...new Set(targetKeys)].filter((key) => key !== undefined);
    const pages = new Map<number | undefined, KeyPage>();
    const scope = this.#scope(query);
    const key = parameterKey(scope, parameter) as number | undefined;
    if (key !== undefined && wanted.length > 0) {
      if (readsTogether(query, targets, withTexts)) {
        const page = this.#pageWithTexts(query, parameter, wanted[0]!);
        if (page !== undefined) return [page];
      }
      const found = this.#searchTogether(query, this.byReferenceStatement(query, parameter, wanted));
      const search = this.#prepare(query);
      for (const [target, page] of found) {
        pages.set(target, page ?? this.#snapshot(() => this.#search(search, [refersTo(key, target)])));
      }
    }
    return targetKeys.map((target) => pages.get(target) ?? none);
  }

  /** @returns undefined for an empty page, and where so much refers to the target that its page is a search of its own */
  #pageWithTexts(query: SearchQuery, parameter: string, target: number): KeyPage | undefined {
    const statement = this.oneReferenceStatement(query, parameter, target);
    const rows = (statement === undefined ? [] : this.#statements.all(statement)) as readonly PageRow[];
    if (rows.length === 0) return undefined;
    const inOrder = pageEdgeOf(this.#dialect.model, query)?.before === true ? rows.toReversed() : rows;
    const texts = inOrder.map(([, resource, version, updated, text, sum]) =>
      text === null ? undefined : { resource: resource!, version: version!, updated: updated!, text, sum },
    );
    return { keys: inOrder.map(([key]) => key), texts };
  }

  /** The pages of a statement by reference, by what it calls its targets; undefined where it leaves one out. */
  #searchTogether(query: SearchQuery, statement: Sql | undefined): ReadonlyMap<number, KeyPage | undefined> {
    const { offset, limit } = pageOf(query);
    const edge = pageEdgeOf(this.#dialect.model, query);
    const pages = new Map<number, KeyPage | undefined>();
    for (const [target, contents, total] of statement === undefined ? [] : this.#statements.all(statement)) {
      if (contents === null) {
        pages.set(target as number, undefined);
        continue;
      }
      const keys = JSON.parse(contents as string) as number[];
      if (edge?.before === true) keys.reverse();
      const whole = query.total === true && limit === undefined && offset === 0 && edge === undefined;
      pages.set(target as number, query.total ? { keys, total: whole ? keys.length : (total as number) } : { keys });
    }
    return pages;
  }

  /** The statements behind {@link search}: those of each way to find the page, and the count. */
  searchStatements(query: SearchQuery): { readonly pages: readonly Sql[]; readonly count: Sql } {
    const search = this.#prepare(query);
    if (search.scope.collection === undefined) {
      return { pages: [sql`SELECT 0 WHERE FALSE`], count: sql`SELECT 0` };
    }
    const pages = new PageFinder(search, this.#statements, this.#guard).statements();
    return { pages, count: this.#countStatement(search, []) };
  }

  /**
   * The one statement behind {@link searchByReference}: per target its key, the page as a JSON list and the total (or null).
   * Without a page where so many refer to the target that its page is worth a search of its own.
   */
  byReferenceStatement(query: SearchQuery, parameter: string, targetKeys: readonly number[]): Sql | undefined {
    const scope = this.#scope(query);
    const found = this.#referringTo(sql`j.value`, query, parameter, scope);
    return found && this.#perTarget(query, scope, { ...found, name: sql`j.value`, list: targetKeys });
  }

  /**
   * The page of one target with its texts in one statement: per match its key and its text with what belongs to it. It
   * has no rows where so many refer to the target that its page is worth a search of its own.
   *
   * PERF: 83 µs for 50 matches, where a list of keys and a second statement take 109.
   */
  oneReferenceStatement(query: SearchQuery, parameter: string, targetKey: number): Sql | undefined {
    const scope = this.#scope(query);
    const found = this.#referringTo(sql`${targetKey}`, query, parameter, scope);
    if (found === undefined) return undefined;
    const page = pageOfMatches(query, sql`${found.referring} AND ${found.isNarrow}`, scope);
    return sql`SELECT p.content, v.resource, v.version, v.updated, v.text, v.sum
      FROM (${page}) p LEFT JOIN version v ON v.key = p.content`;
  }

  /** What refers to a target, and whether that is not too much for one statement. */
  #referringTo(
    target: Sql,
    query: SearchQuery,
    parameter: string,
    scope: RowScope,
  ): Pick<Targets, 'referring' | 'isNarrow'> | undefined {
    const key = parameterKey(scope, parameter);
    const condition = rowCondition(query.criteria, scope);
    if (key === undefined || condition === FALSE) return undefined;
    const referring = sql`FROM reference x CROSS JOIN resource r0 ON r0.key = x.resource
      WHERE x.parameter = ${key} AND x.target = ${target} AND x.grp = 0 AND ${allOf([inTime(sql`x.resource`, scope), condition])}`;
    const last = sql`SELECT 1 FROM reference x WHERE x.parameter = ${key} AND x.target = ${target} LIMIT 1 OFFSET ${BROAD - 1}`;
    return { referring, isNarrow: sql`(${last}) IS NULL` };
  }

  /** The same for a query with a base: per target its position, with what names it by an absolute URL. */
  byUrlStatement(query: SearchQuery, parameter: string, targets: readonly ReferenceTarget[]): Sql | undefined {
    const scope = this.#scope(query);
    const key = parameterKey(scope, parameter);
    const condition = rowCondition(query.criteria, scope);
    if (key === undefined || condition === FALSE) return undefined;
    const keys = this.targetKeys(query, targets);
    const list = targets.map(({ type, id }, index) => [
      keys[index] ?? null,
      `${query.baseUrl!}/${referenceTo(type, id)}`,
    ]);
    const referring = sql`FROM resource r0 WHERE r0.key IN (
        SELECT x.resource FROM reference x WHERE x.parameter = ${key} AND x.target = j.value ->> 0 AND x.grp = 0
        UNION ALL SELECT x.resource FROM uri x WHERE x.parameter = ${key} AND x.value = j.value ->> 1 AND x.grp = 0)
      AND ${allOf([inTime(sql`r0.key`, scope), condition])}`;
    return this.#perTarget(query, scope, { referring, isNarrow: TRUE, name: sql`j.key`, list });
  }

  #perTarget(query: SearchQuery, scope: RowScope, { referring, isNarrow, name, list }: Targets): Sql {
    const { offset, limit } = pageOf(query);
    const isPart = limit !== undefined || offset !== 0 || pageEdgeOf(this.#dialect.model, query) !== undefined;
    const total = query.total === true && isPart ? sql`(SELECT count(*) ${referring})` : NULL;
    const page = sql`(SELECT json_group_array(content) FROM (${pageOfMatches(query, referring, scope)}))`;
    const guarded = (value: Sql): Sql => (isNarrow === TRUE ? value : sql`CASE WHEN ${isNarrow} THEN ${value} END`);
    return sql`SELECT ${name}, ${guarded(page)}, ${total === NULL ? NULL : guarded(total)}
      FROM json_each(${JSON.stringify(list)}) j`;
  }

  /** The keys of the targets of a search by reference; undefined for unknown targets. */
  targetKeys({ project }: SearchQuery, targets: readonly ReferenceTarget[]): readonly (number | undefined)[] {
    return targets.map(({ type, id }) => {
      const collection = this.#dictionaries.collections.find(project, type);
      return collection === undefined ? undefined : this.#dictionaries.resources.find(collection, id);
    });
  }

  #scope({ project, type, baseUrl }: SearchQuery): RowScope {
    return rowScope({ project, dialect: this.#dialect, baseUrl }, type);
  }

  #plan({ criteria }: SearchQuery, scope: RowScope): RowPlan {
    return planRows(criteria, scope, chooseScan(this.#statements));
  }
}

/** Whether {@link Searches.searchByReference} reads the texts of a page in the statement that finds it. */
export function readsTogether(query: SearchQuery, targets: readonly ReferenceTarget[], withTexts: number): boolean {
  const isShort = query.limit !== undefined && query.limit <= withTexts;
  return isShort && targets.length === 1 && query.total !== true && query.baseUrl === undefined;
}

const NULL = sql`NULL`;

type PageRow = readonly [
  key: number,
  resource: number | null,
  version: number | null,
  updated: number | null,
  text: string | null,
  sum: number | null,
];

interface Targets {
  /** FROM and WHERE of all that refers to a target. */
  readonly referring: Sql;
  /** Whether the statement includes the page of a target. */
  readonly isNarrow: Sql;
  /** What the statement calls a target. */
  readonly name: Sql;
  readonly list: readonly unknown[];
}

/** Minimum number of references to a target for searching its page separately. */
const BROAD = 1_000;

function refersTo(parameter: number, target: number): Condition {
  const referring = sql`x.parameter = ${parameter} AND x.target = ${target} AND x.grp = 0`;
  return {
    test: sql`EXISTS (SELECT 1 FROM reference x INDEXED BY sqlite_autoindex_reference_1 WHERE x.resource = r0.key AND ${referring})`,
    scan: sql`SELECT x.resource FROM reference x INDEXED BY reference_by_value
      WHERE ${referring} AND ${isInTime(sql`x.resource`)}`,
    direct: true,
    shared: { parameter, value: target, suffices: true },
  };
}
