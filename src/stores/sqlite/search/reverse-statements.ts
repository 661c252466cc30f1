import { pageEdgeOf, pageOf } from '../../../store/guards.js';
import type { ReferenceTarget } from '../../../store/resource-key.js';
import type { SearchQuery } from '../../../store/search-query.js';
import { rowCondition } from '../../sql/conditions.js';
import type { SqlDialect } from '../../sql/dialect.js';
import { pageOfMatches } from '../../sql/page.js';
import { inTime, parameterKey, rowScope, type RowScope } from '../../sql/rows.js';
import { allOf, FALSE, type Sql, sql } from '../../sql/sql.js';
import type { Dictionaries } from '../rows/dictionary.js';

/** The statements of searches by reference. Undefined if the parameter or the criteria match nothing. */
export class ReverseStatements {
  constructor(
    private readonly dialect: SqlDialect,
    private readonly dictionaries: Dictionaries,
  ) {}

  /** The keys of the targets of a search by reference; undefined for unknown targets. */
  targetKeys({ project }: SearchQuery, targets: readonly ReferenceTarget[]): readonly (number | undefined)[] {
    return targets.map(({ type, id }) => {
      const collection = this.dictionaries.collections.find(project, type);
      return collection === undefined ? undefined : this.dictionaries.resources.find(collection, id);
    });
  }

  /**
   * One statement for all targets: per target its key, the page as a JSON list and the total (or null). The page is null if
   * so many resources refer to the target that its page should be a search of its own.
   */
  byReference(query: SearchQuery, parameter: string, targetKeys: readonly number[]): Sql | undefined {
    const scope = this.#scope(query);
    const found = this.#referringTo(sql`j.value`, query, parameter, scope);
    return found && this.#perTarget(query, scope, found, targetKeys);
  }

  /**
   * The page of one target with its texts: per match its text (null if it is long), the columns around the text, and its key. It has no rows if so
   * many resources refer to the target that its page should be a search of its own.
   *
   * PERF (scale): 50 matches take 83 µs; a list of keys and a second statement take 109 µs.
   */
  oneReference(query: SearchQuery, parameter: string, targetKey: number): Sql | undefined {
    const scope = this.#scope(query);
    const found = this.#referringTo(sql`${targetKey}`, query, parameter, scope);
    if (found === undefined) return undefined;
    const page = pageOfMatches(query, sql`${found.referring} AND ${found.isNarrow}`, scope);
    return sql`SELECT v.resource, v.version, v.updated, CASE WHEN octet_length(v.text) <= ${MAX_WITH_PAGE} THEN v.text END, v.sum, p.content
      FROM (${page}) p LEFT JOIN version v ON v.key = p.content`;
  }

  /** The resources that refer to a target, and the test that they are few enough for one statement. */
  #referringTo(target: Sql, query: SearchQuery, parameter: string, scope: RowScope): Referring | undefined {
    const key = parameterKey(scope, parameter);
    const condition = rowCondition(query.criteria, scope);
    if (key === undefined || condition === FALSE) return undefined;
    const referring = sql`FROM reference x CROSS JOIN resource r0 ON r0.key = x.resource
      WHERE x.parameter = ${key} AND x.target = ${target} AND x.grp = 0 AND ${allOf([inTime(sql`x.resource`, scope), condition])}`;
    const last = sql`SELECT 1 FROM reference x WHERE x.parameter = ${key} AND x.target = ${target} LIMIT 1 OFFSET ${BROAD - 1}`;
    return { referring, isNarrow: sql`(${last}) IS NULL` };
  }

  #perTarget(
    query: SearchQuery,
    scope: RowScope,
    { referring, isNarrow }: Referring,
    targetKeys: readonly number[],
  ): Sql {
    const { offset, limit } = pageOf(query);
    const isPart = limit !== undefined || offset !== 0 || pageEdgeOf(this.dialect.model, query) !== undefined;
    const total = query.total === true && isPart ? sql`(SELECT count(*) ${referring})` : NULL;
    const page = sql`(SELECT json_group_array(content) FROM (${pageOfMatches(query, referring, scope)}))`;
    const guarded = (value: Sql): Sql => sql`CASE WHEN ${isNarrow} THEN ${value} END`;
    return sql`SELECT j.value, ${guarded(page)}, ${total === NULL ? NULL : guarded(total)}
      FROM json_each(${JSON.stringify(targetKeys)}) j`;
  }

  #scope({ project, type }: SearchQuery): RowScope {
    return rowScope({ project, dialect: this.dialect }, type);
  }
}

/** Whether a search by reference reads the texts of its page in the statement that finds it: see {@link ReverseStatements.oneReference}. */
export function readsTogether(query: SearchQuery, targets: readonly ReferenceTarget[], withTexts: number): boolean {
  const isShort = query.limit !== undefined && query.limit <= withTexts;
  return isShort && targets.length === 1 && query.total !== true;
}

const NULL = sql`NULL`;

interface Referring {
  /** FROM and WHERE of the resources that refer to a target. */
  readonly referring: Sql;
  /** The condition that the statement includes the page of a target. */
  readonly isNarrow: Sql;
}

/** Longest text that is read with its page, in bytes. */
const MAX_WITH_PAGE = 64 * 1024;

/** Minimum number of references to a target for searching its page separately. */
const BROAD = 1_000;
