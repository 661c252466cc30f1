import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { referenceTo } from '../../../fhir/reference.js';
import { pageEdgeOf, pageOf } from '../../../store/guards.js';
import type { ReferenceTarget } from '../../../store/resource-key.js';
import type { SearchQuery } from '../../../store/search-query.js';
import { chooseScan } from '../pages/choose-scan.js';
import { countInSets } from './count-sets.js';
import { countOfConditions } from './count-conjunction.js';
import type { SqlDialect } from '../../sql/dialect.js';
import { planRows } from '../../sql/plan.js';
import { inPlan, parameterKey, type RowPlan, rowScope, type RowScope } from '../../sql/rows.js';
import { FALSE, type Sql, sql } from '../../sql/sql.js';
import { sqliteDialect } from '../rows/dialect.js';
import type { Dictionaries } from '../rows/dictionary.js';
import { type Guard, isInTime } from '../database/guard.js';
import type { KeptText } from '../rows/kept-text.js';
import type { Condition } from '../../sql/pages/condition.js';
import { PageFinder } from '../pages/page-finder.js';
import { PreparedSearch } from '../pages/prepared-search.js';
import { shortPage } from '../pages/short-page.js';
import { withNeededBase, withUsableBase } from './needed-base.js';
import { readsTogether, ReverseStatements } from './reverse-statements.js';
import { countOfShapes } from '../rows/shapes.js';
import type { ConnectionSegments } from '../segments/connection-segments.js';
import { assertSame } from '../segments/shadow.js';
import { SkipCache } from '../skip/read/skip-cache.js';
import type { SkipSource } from '../skip/read/skip-index.js';
import type { Statements } from '../database/statements.js';

/** A page of matches as keys of their versions. */
export interface KeyPage {
  readonly keys: readonly number[];
  readonly total?: number;
  /** The texts of the keys, if the search read them too. They stay in this thread. */
  readonly texts?: readonly (KeptText | undefined)[];
}

/** Answers searches with version keys: `Contents` loads their resources. */
export class Searches {
  readonly reverse: ReverseStatements;
  readonly #statements: Statements;
  readonly #guard: Guard;
  readonly #snapshot: <Result>(work: () => Result) => Result;
  readonly #dialect: SqlDialect;
  readonly #skipSource: SkipSource;
  readonly #segments: ConnectionSegments;

  /**
   * @param snapshot runs several statements on one consistent state
   * @param noteStale called with a type of a project whose skip indexes should be rebuilt
   */
  constructor(
    model: FhirModel,
    statements: Statements,
    dictionaries: Dictionaries,
    guard: Guard,
    snapshot: <Result>(work: () => Result) => Result,
    noteStale: (collection: number) => void,
    segments: ConnectionSegments,
  ) {
    this.#segments = segments;
    this.#snapshot = snapshot;
    this.#skipSource = { cache: new SkipCache(), guard, noteStale };
    this.#statements = statements;
    this.#guard = guard;
    this.#dialect = sqliteDialect(model, dictionaries);
    this.reverse = new ReverseStatements(this.#dialect, dictionaries);
  }

  /** One page of the matches. */
  search(query: SearchQuery): KeyPage {
    if (!this.#segments.exist) return this.#answer(query);
    return this.#snapshot(() => {
      const page = this.#answer(query);
      assertSame(page, this.#segments.search(query), query, this.#scope(query).collection as number, this.#statements);
      return page;
    });
  }

  #answer(given: SearchQuery): KeyPage {
    const query = withUsableBase(given, this.#dialect.model);
    if (query.baseUrl !== undefined) return this.#snapshot(() => this.#searchLocally(this.localized(query)));
    if (query.total === true) return this.#snapshot(() => this.#search(this.#prepare(query)));
    const search = this.#prepare(query);
    return this.#shortPage(search) ?? this.#snapshot(() => this.#search(search));
  }

  /** The query, with its base only if that makes a difference now. @param beside see {@link withNeededBase} */
  localized(query: SearchQuery, beside: readonly string[] = []): SearchQuery {
    return withNeededBase(query, beside, this.#dialect, this.#statements);
  }

  #searchLocally(query: SearchQuery): KeyPage {
    const search = this.#prepare(query);
    return (query.total === true ? undefined : this.#shortPage(search)) ?? this.#search(search);
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
      if (search.conditions.some(({ test }) => test === FALSE)) return 0;
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
    return countOfConditions([...among, ...conditions], scope, probes, repeats);
  }

  /** The first match as `Type/id`; undefined for none. */
  firstMatch(given: SearchQuery): string | undefined {
    const query = this.localized(given);
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
    if (query.baseUrl === undefined) return this.#searchByReference(query, parameter, targets, withTexts);
    return this.#snapshot(() =>
      this.#searchByReference(this.localized(query, [parameter]), parameter, targets, withTexts),
    );
  }

  #searchByReference(
    query: SearchQuery,
    parameter: string,
    targets: readonly ReferenceTarget[],
    withTexts: number,
  ): readonly KeyPage[] {
    const none = query.total === true ? { keys: [], total: 0 } : { keys: [] };
    if (query.baseUrl !== undefined) {
      const pages = this.#searchTogether(query, this.reverse.byUrl(query, parameter, targets));
      return targets.map((_, index) => pages.get(index) ?? none);
    }
    const targetKeys = this.reverse.targetKeys(query, targets);
    const wanted = [...new Set(targetKeys)].filter((key) => key !== undefined);
    const pages = new Map<number | undefined, KeyPage>();
    const scope = this.#scope(query);
    const key = parameterKey(scope, parameter) as number | undefined;
    if (key !== undefined && wanted.length > 0) {
      if (readsTogether(query, targets, withTexts)) {
        const page = this.#pageWithTexts(query, parameter, wanted[0]!);
        if (page !== undefined) return [page];
      }
      const found = this.#searchTogether(query, this.reverse.byReference(query, parameter, wanted));
      const search = this.#prepare(query);
      for (const [target, page] of found) {
        pages.set(target, page ?? this.#snapshot(() => this.#search(search, [refersTo(key, target)])));
      }
    }
    return targetKeys.map((target) => pages.get(target) ?? none);
  }

  /** @returns undefined for an empty page, and for a target with so many references that it needs a separate search */
  #pageWithTexts(query: SearchQuery, parameter: string, target: number): KeyPage | undefined {
    const statement = this.reverse.oneReference(query, parameter, target);
    const rows = (statement === undefined ? [] : this.#statements.all(statement)) as readonly PageRow[];
    if (rows.length === 0) return undefined;
    const inOrder = pageEdgeOf(this.#dialect.model, query)?.before === true ? rows.toReversed() : rows;
    const keys = inOrder.map((row) => row[5]);
    // Texts that are long, or lost, are read by themselves.
    return inOrder.some((row) => row[3] === null) ? { keys } : { keys, texts: inOrder as readonly KeptText[] };
  }

  /** The pages of a statement, by the keys or positions of targets; undefined for a target with a separate search. */
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

  #scope({ project, type, baseUrl }: SearchQuery): RowScope {
    return rowScope({ project, dialect: this.#dialect, baseUrl }, type);
  }

  #plan({ criteria }: SearchQuery, scope: RowScope): RowPlan {
    return planRows(criteria, scope, chooseScan(this.#statements));
  }
}

/** A match with its text; null if the text is lost. */
type PageRow = readonly [
  resource: number | null,
  version: number | null,
  updated: number | null,
  text: string | null,
  sum: number | null,
  key: number,
];

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
