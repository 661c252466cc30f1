import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { referenceTo } from '../../../fhir/reference.js';
import { and, type Criteria } from '../../../search/criteria/criteria.js';
import { pageEdgeOf, pageOf } from '../../../store/guards.js';
import type { ReferenceTarget } from '../../../store/resource-key.js';
import type { SearchQuery } from '../../../store/search-query.js';
import { chooseScan } from '../pages/choose-scan.js';
import { countStatement } from './count.js';
import type { SqlDialect } from '../../sql/dialect.js';
import type { ExplainedStatement } from '../../sql/page.js';
import { planRows } from '../../sql/plan.js';
import { inPlan, parameterKey, type RowPlan, rowScope, type RowScope } from '../../sql/rows.js';
import { FALSE, Sql, sql, type SqlValue } from '../../sql/sql.js';
import { sqliteDialect } from '../rows/dialect.js';
import type { Dictionaries } from '../rows/dictionary.js';
import type { Guard } from '../database/guard.js';
import type { KeptText } from '../rows/kept-text.js';
import { PageFinder } from '../pages/page-finder.js';
import { PreparedSearch } from '../pages/prepared-search.js';
import { shortPage, shortStatement } from '../pages/short-page.js';
import { readsTogether, ReverseStatements } from './reverse-statements.js';
import { READ_ROW } from '../segments/segment-port.js';
import type { ConnectionSegments } from '../segments/connection-segments.js';
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
  readonly #dialect: SqlDialect;

  /** @param snapshot runs several statements on one consistent state */
  constructor(
    model: FhirModel,
    private readonly statements: Statements,
    dictionaries: Dictionaries,
    private readonly guard: Guard,
    private readonly snapshot: <Result>(work: () => Result) => Result,
    private readonly segments: ConnectionSegments,
  ) {
    this.#dialect = sqliteDialect(model, dictionaries);
    this.reverse = new ReverseStatements(this.#dialect, dictionaries);
  }

  /** One page of the matches. */
  search(query: SearchQuery): KeyPage {
    if (query.total === true) return this.snapshot(() => this.#search(this.#prepare(query)));
    const search = this.#prepare(query);
    const keys = this.#shortPage(search);
    return keys === undefined ? this.snapshot(() => this.#search(search)) : { keys };
  }

  /** See docs/internals/index.md for the ways to a page. */
  #search(search: PreparedSearch): KeyPage {
    const { query, scope } = search;
    const isCounted = query.total === true;
    if (scope.collection === undefined) return isCounted ? { keys: [], total: 0 } : { keys: [] };
    const finder = new PageFinder(search, this.statements, this.guard);
    const short = search.page.limit === 0 ? [] : (this.#shortPage(search) ?? finder.byShortWalk());
    if (short !== undefined) return isCounted ? { keys: short, total: this.#total(search, short) } : { keys: short };
    const found = this.segments.search(query);
    const keys = found?.ids === undefined ? finder.byAnyWay() : this.#keysOf(found.ids, scope.collection);
    return isCounted ? { keys, total: found?.total ?? this.#total(search, keys) } : { keys };
  }

  /** Undefined if other ways may be shorter. */
  #shortPage(search: PreparedSearch): readonly number[] | undefined {
    if (search.page.limit === 0 || search.scope.collection === undefined) return undefined;
    return shortPage(search, this.statements);
  }

  #keysOf(ids: readonly string[], collection: SqlValue): readonly number[] {
    const rows = this.statements.read(READ_CONTENTS).all(JSON.stringify(ids), collection) as readonly [number][];
    return rows.map(([content]) => content);
  }

  #prepare(query: SearchQuery): PreparedSearch {
    return new PreparedSearch(query, this.#scope(query), this.statements);
  }

  /** The number of all matches. PERF (scale): the length of an uncut page is the total. */
  #total(search: PreparedSearch, keys: readonly number[]): number {
    if (isUncut(search, keys)) return search.page.offset + keys.length;
    if (search.conditions.some(({ test }) => test === FALSE)) return 0;
    return this.#countBySegments(search) ?? (this.statements.get(countStatement(search))![0] as number);
  }

  /** Undefined if a statement counts. */
  #countBySegments({ narrow, query }: PreparedSearch): number | undefined {
    if (narrow !== undefined) return undefined;
    return this.segments.search({ ...query, limit: 0, offset: 0, after: undefined, before: undefined })?.total;
  }

  /** The first match as `Type/id`; undefined for none. */
  firstMatch(query: SearchQuery): string | undefined {
    const scope = this.#scope(query);
    const where = inPlan(this.#plan(query, scope), scope);
    const row = this.statements.get(sql`SELECT r0.id FROM resource r0 WHERE ${where} ORDER BY r0.id LIMIT 1`);
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
      for (const [target, page] of found) {
        pages.set(target, page ?? this.#searchReferring(query, parameter, targets[targetKeys.indexOf(target)]!));
      }
    }
    return targetKeys.map((target) => pages.get(target) ?? none);
  }

  /** The page of a target with very many references. */
  #searchReferring(query: SearchQuery, parameter: string, { type, id }: ReferenceTarget): KeyPage {
    const refers: Criteria = { kind: 'match', parameter, test: { kind: 'reference', types: [type], id } };
    return this.snapshot(() => this.#search(this.#prepare({ ...query, criteria: and([refers, query.criteria]) })));
  }

  /** @returns undefined for an empty page, and for a target with so many references that it needs a separate search */
  #pageWithTexts(query: SearchQuery, parameter: string, target: number): KeyPage | undefined {
    const statement = this.reverse.oneReference(query, parameter, target);
    const rows = (statement === undefined ? [] : this.statements.all(statement)) as readonly PageRow[];
    if (rows.length === 0) return undefined;
    const inOrder = pageEdgeOf(this.#dialect.model, query)?.before === true ? rows.toReversed() : rows;
    const keys = inOrder.map((row) => row[5]);
    // Texts that are long, or lost, are read by themselves.
    return inOrder.some((row) => row[3] === null) ? { keys } : { keys, texts: inOrder as readonly KeptText[] };
  }

  /** The pages of a statement, by the keys of targets; undefined for a target with a separate search. */
  #searchTogether(query: SearchQuery, statement: Sql | undefined): ReadonlyMap<number, KeyPage | undefined> {
    const { offset, limit } = pageOf(query);
    const edge = pageEdgeOf(this.#dialect.model, query);
    const pages = new Map<number, KeyPage | undefined>();
    for (const [target, contents, total] of statement === undefined ? [] : this.statements.all(statement)) {
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

  /** The way that a search takes to its page, and its count, each with its statement. */
  explain(query: SearchQuery): readonly ExplainedStatement[] {
    const search = this.#prepare(query);
    if (search.scope.collection === undefined) return [];
    return this.snapshot(() => {
      const { page, isCounted } = query.limit === 0 ? { page: undefined, isCounted: false } : this.#explainPage(search);
      const counts = query.total !== true || isCounted ? [] : [this.#explainCount(search)];
      return page === undefined ? counts : [page, ...counts];
    });
  }

  /** The way to a page, and whether it leads to the total as well. */
  #explainPage(search: PreparedSearch): { readonly page: ExplainedStatement; readonly isCounted: boolean } {
    const short = shortStatement(search);
    if (short !== undefined) {
      const page = { way: 'collect', statement: short } as const;
      return { page, isCounted: isUncut(search, this.#shortPage(search)!) };
    }
    const finder = new PageFinder(search, this.statements, this.guard);
    const walked = finder.byShortWalk();
    if (walked !== undefined) {
      return { page: { way: 'walk', statement: finder.walkStatement()! }, isCounted: isUncut(search, walked) };
    }
    const bySegments = this.segments.search(search.query)?.ids !== undefined;
    return { page: bySegments ? BY_SEGMENTS : finder.anyStatement(), isCounted: bySegments };
  }

  #explainCount(search: PreparedSearch): ExplainedStatement {
    return this.#countBySegments(search) === undefined ? { statement: countStatement(search) } : BY_SEGMENTS;
  }

  #scope({ project, type }: SearchQuery): RowScope {
    return rowScope({ project, dialect: this.#dialect }, type);
  }

  #plan({ criteria }: SearchQuery, scope: RowScope): RowPlan {
    return planRows(criteria, scope, chooseScan(this.statements));
  }
}

/** Whether a page ends with the last of all matches, and begins with the first one, or has some. */
function isUncut({ page }: PreparedSearch, keys: readonly number[]): boolean {
  const { offset, limit, edge } = page;
  if (edge !== undefined || limit === 0) return false;
  return (limit === undefined || keys.length < limit) && (offset === 0 || keys.length > 0);
}

const BY_SEGMENTS: ExplainedStatement = { way: 'segments', statement: new Sql(READ_ROW, ['', '']) };

/** A match with its text; null if the text is lost. */
type PageRow = readonly [
  resource: number | null,
  version: number | null,
  updated: number | null,
  text: string | null,
  sum: number | null,
  key: number,
];

/** The keys of the current versions of resources, in order. */
const READ_CONTENTS = `SELECT r.content FROM json_each(?) j CROSS JOIN resource r ON r.collection = ? AND r.id = j.value
  WHERE r.content IS NOT NULL ORDER BY j.key`;
