import type { Criteria, MatchCriteria, ValueTest } from '../../search/criteria/criteria.js';
import { TABLE_NAMES } from '../sql/index-tables.js';
import type { IndexTable, Lookup } from '../sql/lookup.js';
import { lookupsByTable } from '../sql/match-sql.js';
import { isCurrent, ofParameter, parameterKey, type RowScope } from '../sql/rows.js';
import { allOf, anyOf, type Sql, sql, TRUE, unionAll } from '../sql/sql.js';
import { shapeScan, shapesWith } from './pages/shapes.js';

/**
 * The expression that counts matches without reading resources: from the index of one parameter, or that of shapes.
 * Undefined if the criteria need more.
 *
 * PERF: a row of an index that the planner reads alone takes 0.1 µs or less. Where resources have several values, those that
 * have one are added up, and only the others are deduplicated.
 */
export function countExpression(criteria: Criteria, scope: RowScope): Sql | undefined {
  switch (criteria.kind) {
    case 'all':
      return countOfAll(scope);
    case 'not': {
      const inner = countExpression(criteria.of, scope);
      return inner && sql`(${countOfAll(scope)} - ${inner})`;
    }
    case 'missing': {
      const key = parameterKey(scope, criteria.parameter);
      if (key === undefined || criteria.parameter.includes('$')) return undefined;
      const without = sql`(SELECT count(*) FROM (${shapeScan(scope.project, scope.collection!, key, 'none')}) s)`;
      return criteria.missing ? without : sql`(${countOfAll(scope)} - ${without})`;
    }
    case 'match':
      return countOfMatches(criteria.parameter, [criteria], scope);
    case 'or': {
      const matches = criteria.of.filter((one) => one.kind === 'match');
      const parameter = matches[0]?.parameter;
      if (parameter === undefined || matches.length < criteria.of.length) return undefined;
      if (matches.some((one) => one.parameter !== parameter)) return undefined;
      return countOfMatches(parameter, matches, scope);
    }
    default:
      return undefined;
  }
}

function countOfAll(scope: RowScope): Sql {
  const row = sql`a`;
  return sql`(SELECT count(*) FROM resource a WHERE ${isCurrent({ ...scope, row })})`;
}

const X = sql`x`;

function countOfMatches(parameter: string, matches: readonly MatchCriteria[], scope: RowScope): Sql | undefined {
  const key = parameterKey(scope, parameter);
  if (key === undefined || parameter.includes('$') || matches.some(({ test }) => test.kind === 'text'))
    return undefined;
  const tables = lookupsByTable(matches, scope);
  // A reference may be found in either of two tables, or in both.
  if (tables.length !== 1) return undefined;
  const [[table, lookups]] = tables as readonly [readonly [IndexTable, readonly Lookup[]]];
  const ranges = rangesOf(lookups).map((range) => (which: Sql): Sql => {
    const isPlain = table === 'token' || table === 'reference' ? [] : [sql`x.grp = 0`];
    return sql`FROM ${TABLE_NAMES[table]} x WHERE ${allOf([ofParameter(X, key, scope), ...isPlain, range, which])}`;
  });
  const distinct = (which: Sql): Sql => {
    const rows = ranges.map((range) => sql`SELECT x.resource ${range(which)}`);
    return sql`(SELECT count(DISTINCT d.resource) FROM (${unionAll(rows)}) d)`;
  };
  const isMarked = table !== 'reference' && (table !== 'token' || isOfCodes(matches));
  if (!isMarked) return distinct(TRUE);
  const each = (which: Sql): Sql => sql`(${sum(ranges.map((range) => sql`(SELECT count(*) ${range(which)})`))})`;
  const repeats = sql`EXISTS (${shapesWith(scope.project, scope.collection!, key, 'several')})`;
  if (table !== 'token')
    return sql`(CASE WHEN ${repeats} THEN ${each(ALONE)} + ${distinct(SEVERAL)} ELSE ${each(TRUE)} END)`;
  const counts = [each(FIRST), sql`(CASE WHEN ${repeats} THEN ${distinct(SEVERAL)} ELSE 0 END)`];
  // Tokens without a code cannot be ordered, so they have no mark.
  if (matches.some(({ test }) => isNegated(test))) counts.push(distinct(sql`x.code IS NULL AND ${ALONE}`));
  return sql`(${sum(counts)})`;
}

/** The tests compare codes only. */
function isOfCodes(matches: readonly MatchCriteria[]): boolean {
  return matches.every(
    ({ test }) =>
      test.kind === 'token' && test.code !== undefined && test.system === undefined && test.noSystem !== true,
  );
}

function isNegated(test: ValueTest): boolean {
  return test.kind === 'token' && test.negated === true;
}

// Ranges of the index by code. See extremes.ts for the bits.
const ALONE = sql`x.extreme < 4`;
const SEVERAL = sql`x.extreme >= 4`;
const FIRST = sql`x.extreme IN (1, 3)`;

function sum(counts: readonly Sql[]): Sql {
  return counts.reduce((all, one) => sql`${all} + ${one}`);
}

/** Disjoint conditions: the index ranges of a single test, otherwise one condition for all tests. */
function rangesOf(lookups: readonly Lookup[]): readonly Sql[] {
  const [first] = lookups;
  if (lookups.length === 1 && first!.scans !== undefined && (first!.disjoint === true || first!.scans.length === 1)) {
    return first!.scans;
  }
  return [anyOf(lookups.map(({ condition }) => condition))];
}
