import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { pageEdgeOf, pageOf } from '../../store/guards.js';
import type { ReferenceTarget, SearchQuery } from '../../store/store.js';
import { chooseScan } from './choose-scan.js';
import { rowCondition } from '../sql/conditions.js';
import type { SqlDialect } from '../sql/dialect.js';
import { pageOfMatches } from '../sql/page.js';
import { planRows } from '../sql/plan.js';
import { inPlan, parameterKey, type RowPlan, rowScope, type RowScope } from '../sql/rows.js';
import { FALSE, type Sql, sql, TRUE } from '../sql/sql.js';
import { sqliteDialect } from './dialect.js';
import type { Dictionaries } from './dictionary.js';
import type { Statements } from './statements.js';

/** A page of matches as keys of their versions. */
export interface KeyPage {
  readonly keys: readonly number[];
  readonly total?: number;
}

/** Answers searches with version keys: what stands behind them is the business of `Contents`. */
export class Searches {
  readonly #statements: Statements;
  readonly #dictionaries: Dictionaries;
  readonly #dialect: SqlDialect;

  constructor(model: FhirModel, statements: Statements, dictionaries: Dictionaries) {
    this.#statements = statements;
    this.#dictionaries = dictionaries;
    this.#dialect = sqliteDialect(model, dictionaries);
  }

  /** One page of the matches. */
  search(query: SearchQuery): KeyPage {
    const { offset, limit } = pageOf(query);
    const { page, count } = this.searchStatements(query);
    const edge = pageEdgeOf(this.#dialect.model, query);
    const keys = limit === 0 ? [] : this.#statements.all(page).map(([content]) => content as number);
    if (edge?.before === true) keys.reverse();
    if (query.total !== true) return { keys };
    // PERF: a page that was not cut short says how many there are.
    const whole =
      edge === undefined &&
      limit !== 0 &&
      (limit === undefined || keys.length < limit) &&
      (offset === 0 || keys.length > 0);
    return { keys, total: whole ? offset + keys.length : (this.#statements.get(count)![0] as number) };
  }

  /** The first match as `Type/id`; undefined for none. */
  firstMatch(query: SearchQuery): string | undefined {
    const scope = this.#scope(query);
    const where = inPlan(this.#plan(query, scope), scope);
    const row = this.#statements.get(sql`SELECT r0.id FROM resource r0 WHERE ${where} ORDER BY r0.id LIMIT 1`);
    return row === undefined ? undefined : `${query.type}/${row[0] as string}`;
  }

  /** One page per target. */
  searchByReference(query: SearchQuery, parameter: string, targets: readonly ReferenceTarget[]): readonly KeyPage[] {
    const { offset, limit } = pageOf(query);
    const edge = pageEdgeOf(this.#dialect.model, query);
    const targetKeys = this.targetKeys(query, targets);
    const pages = new Map<number | undefined, KeyPage>([
      [undefined, query.total ? { keys: [], total: 0 } : { keys: [] }],
    ]);
    const wanted = [...new Set(targetKeys)].filter((key) => key !== undefined);
    const statement = wanted.length === 0 ? undefined : this.byReferenceStatement(query, parameter, wanted);
    for (const [target, contents, total] of statement === undefined ? [] : this.#statements.all(statement)) {
      const keys = JSON.parse(contents as string) as number[];
      if (edge?.before === true) keys.reverse();
      const whole = query.total === true && limit === undefined && offset === 0 && edge === undefined;
      pages.set(target as number, query.total ? { keys, total: whole ? keys.length : (total as number) } : { keys });
    }
    return targetKeys.map((key) => pages.get(key) ?? pages.get(undefined)!);
  }

  /** The statements behind {@link search}. */
  searchStatements(query: SearchQuery): { readonly page: Sql; readonly count: Sql } {
    const scope = this.#scope(query);
    const plan = this.#plan(query, scope);
    const matching = sql`FROM resource r0 WHERE ${inPlan(plan, scope)}`;
    return { page: pageOfMatches(query, matching, scope), count: countOf(plan) ?? sql`SELECT count(*) ${matching}` };
  }

  /**
   * The one statement behind {@link searchByReference}: per target its key, the page as a JSON list and the total (or null).
   */
  byReferenceStatement(query: SearchQuery, parameter: string, targetKeys: readonly number[]): Sql | undefined {
    const { offset, limit } = pageOf(query);
    const scope = this.#scope(query);
    const key = parameterKey(scope, parameter);
    const condition = rowCondition(query.criteria, scope);
    if (key === undefined || condition === FALSE) return undefined;
    const referring = sql`FROM reference x CROSS JOIN resource r0 ON r0.key = x.resource
      WHERE x.parameter = ${key} AND x.target = j.value AND x.grp = 0 AND ${condition}`;
    const isPart = limit !== undefined || offset !== 0 || pageEdgeOf(this.#dialect.model, query) !== undefined;
    const total = query.total === true && isPart ? sql`(SELECT count(*) ${referring})` : sql`NULL`;
    return sql`SELECT j.value, (SELECT json_group_array(content) FROM (${pageOfMatches(query, referring, scope)})), ${total}
      FROM json_each(${JSON.stringify(targetKeys)}) j`;
  }

  /** The keys of what a search by reference starts from; undefined for what was never seen. */
  targetKeys({ project }: SearchQuery, targets: readonly ReferenceTarget[]): readonly (number | undefined)[] {
    return targets.map(({ type, id }) => {
      const collection = this.#dictionaries.collections.find(project, type);
      return collection === undefined ? undefined : this.#dictionaries.resources.find(collection, id);
    });
  }

  #scope({ project, type }: SearchQuery): RowScope {
    return rowScope({ project, dialect: this.#dialect }, type);
  }

  #plan({ criteria }: SearchQuery, scope: RowScope): RowPlan {
    return planRows(criteria, scope, chooseScan(this.#statements));
  }
}

/** PERF: what an index finds is current, so where it says all there is to say, no resource has to be looked up. */
function countOf({ scan, residual }: RowPlan): Sql | undefined {
  if (scan === undefined || residual !== TRUE) return undefined;
  return sql`SELECT count(*) FROM (SELECT DISTINCT * FROM (${scan}))`;
}
