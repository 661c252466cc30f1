import { requiredCodes, type TokenTest, type ValueTest } from '../../../search/criteria/value-test.js';
import type { Criteria } from '../../../search/criteria/criteria.js';
import { TABLE_NAMES } from '../../sql/index-tables.js';
import { disjointScans, type IndexTable, type Lookup } from '../../sql/lookup.js';
import { lookupsByTable } from '../../sql/match-sql.js';
import { isCurrent, ofParameter, parameterKey, type RowScope } from '../../sql/rows.js';
import { allOf, anyOf, type Sql, sql, type SqlValue, TRUE, unionAll } from '../../sql/sql.js';
import { isOfOneTarget, matchesOfOneParameter, type OneParameter } from '../../sql/pages/condition.js';
import { firstOfCodes, indexesOf, isOfCode } from '../scans/own-scans.js';
import { shapeScan, shapesWith } from '../scans/shapes.js';

/**
 * The expression that counts matches without reading resources: from the index of one parameter, or from the index of
 * shapes. Undefined if the criteria need more.
 *
 * PERF: a row of an index-only scan takes 0.1 µs or less. If resources have several values, those with one are added up, and
 * only the others are deduplicated.
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
    case 'or': {
      const one = matchesOfOneParameter(criteria);
      return one && countOfMatches(one, scope);
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

function countOfMatches({ parameter, matches }: OneParameter, scope: RowScope): Sql | undefined {
  const key = parameterKey(scope, parameter);
  if (key === undefined || parameter.includes('$') || matches.some(({ test }) => test.kind === 'text'))
    return undefined;
  const only = matches.length === 1 ? matches[0]!.test : undefined;
  if (only !== undefined && isOtherCode(only)) return countOfOtherCodes(only, key, scope);
  const tables = lookupsByTable(matches, scope);
  // A reference may be found in either of two tables, or in both.
  if (tables.length !== 1) return undefined;
  const [[table, lookups]] = tables as readonly [readonly [IndexTable, readonly Lookup[]]];
  const ranges = rangesOf(table, lookups).map((range) => (which: Sql): Sql => {
    return sql`FROM ${TABLE_NAMES[table]} x WHERE ${allOf([ofParameter(X, key, scope), sql`x.grp = 0`, range, which])}`;
  });
  const distinct = (which: Sql): Sql => {
    const rows = ranges.map((range) => sql`SELECT x.resource ${range(which)}`);
    return sql`(SELECT count(*) FROM (SELECT DISTINCT d.resource FROM (${unionAll(rows)}) d) e)`;
  };
  const each = (which: Sql): Sql => sql`(${sum(ranges.map((range) => sql`(SELECT count(*) ${range(which)})`))})`;
  // A resource has at most one row for a target.
  if (table === 'reference') return matches.length === 1 && isOfOneTarget(matches[0]!) ? each(TRUE) : distinct(TRUE);
  const repeats = sql`EXISTS (${shapesWith(scope.project, scope.collection!, key, 'several')})`;
  if (table !== 'token') {
    return sql`(CASE WHEN ${repeats} THEN ${each(ALONE)} + ${distinct(SEVERAL)} ELSE ${each(TRUE)} END)`;
  }
  // Every found row has the code.
  const isOfOneCode = only !== undefined && requiredCodes(only)?.length === 1;
  if (!matches.every((one) => isOfCode(one))) {
    if (!isOfOneCode) return distinct(TRUE);
    const repeated = anyOf(ranges.map((range) => sql`EXISTS (SELECT 1 ${range(REPEATED)})`));
    return sql`(CASE WHEN ${repeated} THEN ${distinct(TRUE)} ELSE ${each(TRUE)} END)`;
  }
  if (isOfOneCode) return each(FIRST);
  return sql`(${each(sql`x.extreme < 4`)} + (CASE WHEN ${repeats} THEN ${distinct(sql`x.extreme >= 4 AND x.extreme < 8`)} ELSE 0 END))`;
}

/** True for a test that some value has another code. A code that is also indexed in lower case has two rows. */
function isOtherCode(test: ValueTest): test is TokenTest & { readonly code: string } {
  if (test.kind !== 'token' || test.negated !== true || test.code === undefined) return false;
  const { folded, system, noSystem, below, except } = test;
  return folded === undefined && system === undefined && noSystem !== true && below !== true && except === undefined;
}

/** Counts resources with values, minus those that have no other value: one row of each is marked. */
function countOfOtherCodes({ code }: { readonly code: string }, key: SqlValue, scope: RowScope): Sql {
  const rows = firstOfCodes(scope.dialect.codes.isOneOf(sql`x.code`, [code]), key, scope);
  const some = sql`(SELECT count(*) FROM (${shapeScan(scope.project, scope.collection!, key, 'some')}) s)`;
  return sql`(${some} - (SELECT count(*) FROM (${rows} AND x.extreme < 4) o))`;
}

// See extremes.ts for the bits.
const ALONE = sql`x.extreme & 4 = 0`;
const SEVERAL = sql`x.extreme & 4 <> 0`;
const FIRST = sql`x.extreme < 8`;
const REPEATED = sql`x.extreme >= 8`;

function sum(counts: readonly Sql[]): Sql {
  return counts.reduce((all, one) => sql`${all} + ${one}`);
}

/** Disjoint conditions, each a range of one index: the scans of a single test, otherwise one condition per index. */
function rangesOf(table: IndexTable, lookups: readonly Lookup[]): readonly Sql[] {
  const scans = disjointScans(lookups);
  if (scans !== undefined) return scans;
  const condition = anyOf(lookups.map((one) => one.condition));
  return indexesOf(table).map((ofIndex) => allOf([condition, ofIndex]));
}
