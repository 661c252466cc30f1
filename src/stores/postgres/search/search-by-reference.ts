import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { referenceTo } from '../../../fhir/reference.js';
import { and, type Criteria } from '../../../search/criteria/criteria.js';
import type { CallOptions } from '../../../store/call-options.js';
import { assertFewResources, pageEdgeOf, pageOf } from '../../../store/guards.js';
import type { ReferenceTarget } from '../../../store/resource-key.js';
import type { SearchPage, SearchQuery } from '../../../store/search-query.js';
import { pageOfMatches } from '../../sql/page.js';
import { type Condition, conditionsOf, isLinked, leavesOf, looksAtRow, testsOf } from '../../sql/pages/condition.js';
import { parseStoredParts } from '../../sql/parse-stored.js';
import { isFound, ofParameter, parameterKey } from '../../sql/rows.js';
import { allOf, FALSE, list, Sql, sql } from '../../sql/sql.js';
import { rowsOf } from '../rows/array.js';
import type { CallTexts } from '../../../store/text-budget.js';
import { boundedText, takesText } from '../rows/bounded-texts.js';
import { resourceKey } from '../rows/keys.js';
import type { Row } from '../database/lent-connection.js';
import { isBrief } from '../scans/narrow-scans.js';
import { TUNING } from '../scans/tuning.js';
import type { Run } from '../database/run.js';
import { conditionsIn, epochHolds, found, scopeOf, type SearchIndex } from './search.js';
import { prepared } from '../database/statements.js';

/** One page per target. */
export async function searchByReference(
  model: FhirModel,
  query: SearchQuery,
  parameter: string,
  targets: readonly ReferenceTarget[],
  index: SearchIndex,
  options?: CallOptions,
): Promise<readonly SearchPage[]> {
  const keys = targets.map(({ type, id }) => referenceTo(type, id));
  const byName = new Map(targets.map((target, index) => [keys[index]!, target]));
  const wanted = [...byName.keys()];
  const statement = byReferenceStatement(model, query, parameter, [...byName.values()], index);
  const select = (run: Run): Promise<readonly Row[]> =>
    run(prepared(bounded(cutRows(statement!, wanted, options), index.texts)));
  const isSlow = looksCostly(query, conditionsOf(query.criteria, scopeOf(model, query)));
  const isEmpty = wanted.length === 0 || statement === undefined;
  const rows = isEmpty ? [] : await (isSlow ? index.snapshot(select) : select(index.run));
  assertFewResources(
    rows.reduce((sum, [, content]) => (content === null ? sum : sum + 1), 0),
    options,
  );
  const texts = new Map<string, TargetPage>();
  for (const [position, content, total, isBroad] of rows) {
    takesText(content as string | null, index.texts);
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

/**
 * PERF (scale): a test of each referring resource looks costly to the server. Outside of a snapshot, it would compile a statement with
 * some of them, or with one on other resources, which takes up to a hundred times as long as the statement itself.
 */
function looksCostly({ total }: SearchQuery, conditions: readonly Condition[]): boolean {
  const leaves = conditions.flatMap(({ criteria }) => (criteria === undefined ? [] : leavesOf(criteria)));
  return leaves.length > (total === true ? 0 : 1) || conditions.some(isLinked);
}

interface TargetPage {
  readonly contents: string[];
  total: number;
}

/** The page of a target with so many references that it is worth a search of its own. */
async function ofBroadTarget(
  model: FhirModel,
  query: SearchQuery,
  parameter: string,
  { type, id }: ReferenceTarget,
  index: SearchIndex,
): Promise<TargetPage> {
  const refers: Criteria = { kind: 'match', parameter, test: { kind: 'reference', types: [type], id } };
  const { texts, total } = await found(model, { ...query, criteria: and([refers, query.criteria]) }, index);
  return { contents: [...texts], total: total ?? texts.length };
}

/** The statement without the texts that its call may not read. */
function bounded(statement: Sql, texts: CallTexts | undefined): Sql {
  if (texts?.isBounded !== true) return statement;
  const text = boundedText(sql`w.content`, texts, Infinity);
  return sql`SELECT w.position, ${text}, w.total, w.broad FROM (${statement}) w (position, content, total, broad)`;
}

/** One row more than the call may return shows that there are too many. A target without matches has a row too. */
function cutRows(statement: Sql, targets: readonly string[], options: CallOptions | undefined): Sql {
  const max = options?.maxResources;
  return max === undefined || !Number.isFinite(max) ? statement : sql`${statement} LIMIT ${max + targets.length + 1}`;
}

/**
 * The only statement behind {@link searchByReference}: a page per target, searched separately, so that the limit
 * applies to each and no further rows are read. Rows are the target's position from 1 up, the content, the total, and
 * whether the target has so many references that its page is omitted. Content and total are null if not requested or
 * absent. In the order of each page.
 */
export function byReferenceStatement(
  model: FhirModel,
  query: SearchQuery,
  parameter: string,
  targets: readonly ReferenceTarget[],
  index: Pick<SearchIndex, 'epoch'>,
): Sql | undefined {
  const { offset, limit } = pageOf(query);
  const scope = scopeOf(model, query);
  const key = parameterKey(scope, parameter);
  const conditions = conditionsIn(query, scope);
  if (key === undefined || conditions.some(({ test }) => test === FALSE)) return undefined;
  const { project } = query;
  const isPart = limit !== undefined || offset !== 0 || pageEdgeOf(model, query) !== undefined;
  const byReference = sql`${ofParameter(X, key, scope)} AND x.target = j.target AND x.grp = 0`;
  const ofRow = conditions.filter(({ test }) => looksAtRow(test));
  const isMatch = allOf([isFound(scope), ...testsOf(ofRow)]);
  const ofKey = conditions.filter((one) => !ofRow.includes(one));
  const unlessBroad = sql`${byReference} AND NOT b.broad`;
  const keys = sql`SELECT x.resource FROM reference x WHERE ${unlessBroad}`;
  const tests = keyTests(ofKey, targets.length);
  const referring =
    ofKey.length === 0
      ? sql`FROM reference x JOIN resource r0 ON r0.key = x.resource WHERE ${unlessBroad} AND ${isMatch}`
      : sql`FROM ${scope.dialect.byKeys(sql`r0`, tests.among(keys), project).from} WHERE ${isMatch}`;
  const page = sql`SELECT q.content, row_number() OVER () AS place FROM (${pageOfMatches(query, referring, scope)}) AS q`;
  const wanted = targets.map(({ type, id }) => resourceKey(project, type, id));
  const last = sql`SELECT 1 FROM reference x WHERE ${byReference} LIMIT 1 OFFSET ${TUNING.broadTarget - 1}`;
  const isBroad = limit === undefined ? FALSE : sql`(${last}) IS NOT NULL`;
  const targetsWithBreadth = sql`${rowsOf(wanted)} WITH ORDINALITY AS j(target, position)
    CROSS JOIN LATERAL (SELECT ${isBroad} AS broad OFFSET 0) b`;
  if (query.total !== true || !isPart) {
    return sql`${tests.beginning}SELECT j.position, p.content, NULL, b.broad FROM ${targetsWithBreadth} LEFT JOIN LATERAL (${page}) AS p ON TRUE
      WHERE ${epochHolds(index)} ORDER BY j.position, p.place`;
  }
  return sql`${tests.beginning}SELECT j.position, p.content, t.total, b.broad FROM ${targetsWithBreadth}
    CROSS JOIN LATERAL (SELECT count(*) AS total ${referring}) AS t LEFT JOIN LATERAL (${page}) AS p ON TRUE
    WHERE ${epochHolds(index)} ORDER BY j.position, p.place`;
}

/** The tests of the resources that refer to targets, by their keys. */
interface KeyTests {
  /** Begins a statement. */
  readonly beginning: Sql;
  /** Those of the selected keys that meet the conditions. */
  among(keys: Sql): Sql;
}

/**
 * Most resources that refer to a target fail a test, so their rows are not read. A condition with few matches is tested by
 * a hash table of them, before the others: that takes a hundredth of the time of a lookup.
 */
function keyTests(conditions: readonly Condition[], targets: number): KeyTests {
  const most = Math.ceil(TUNING.maxHashed * Math.min(1, targets / 100));
  const hashed = conditions.filter((one) => isBrief(one));
  const areFew = hashed.map((_, place) => new Sql(`(SELECT few${place} FROM f)`, []));
  const counts = hashed.map(({ scan }, place) => {
    return sql`(SELECT count(*) FROM (SELECT * FROM (${scan!}) s LIMIT ${most + 1}) s) <= ${most} AS ${new Sql(`few${place}`, [])}`;
  });
  // IS TRUE keeps the planner from making a join of it, LIMIT from expecting a table that is too large to hash.
  const inTables = hashed.map(({ scan }, place) => {
    const isInTable = sql`(r0.key IN (SELECT * FROM (${scan!}) s LIMIT ${most})) IS TRUE`;
    return sql`CASE WHEN ${areFew[place]!} THEN ${isInTable} ELSE TRUE END`;
  });
  const lookups = conditions.map((one) => {
    const place = hashed.indexOf(one);
    return place < 0 ? one.test : sql`CASE WHEN ${areFew[place]!} THEN TRUE ELSE ${one.test} END`;
  });
  const meeting = (keys: Sql, tests: readonly Sql[]): Sql =>
    tests.length === 0 ? keys : sql`SELECT r0.key FROM (${keys}) r0 (key) WHERE ${allOf(tests)} OFFSET 0`;
  return {
    beginning: hashed.length === 0 ? sql`` : sql`WITH f AS MATERIALIZED (SELECT ${list(counts)}) `,
    among: (keys) => meeting(meeting(keys, inTables), lookups),
  };
}

const X = sql`x`;
