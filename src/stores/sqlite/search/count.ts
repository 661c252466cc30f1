import type { Criteria, MatchCriteria } from '../../../search/criteria/criteria.js';
import type { ValueTest } from '../../../search/criteria/value-test.js';
import { TABLE_NAMES } from '../../sql/index-tables.js';
import { disjointScans, type Lookup } from '../../sql/lookup.js';
import { lookupsByTable } from '../../sql/match-sql.js';
import { inTime, ofParameter, parameterKey, type RowScope } from '../../sql/rows.js';
import { allOf, anyOf, type Sql, sql, TRUE, unionAll } from '../../sql/sql.js';
import { matchesOfOneParameter, type OneParameter } from '../../sql/pages/condition.js';
import { countOfCollection, countOfShapes } from '../rows/shapes.js';

/** Whether some resource has several values of a parameter. */
export type Repeats = (parameter: string) => boolean;

/**
 * The statement that counts matches without reading resources: from the numbers of the shapes, or from the index of one
 * parameter. Undefined if the criteria need more.
 *
 * PERF: a row of an index takes about 0.1 µs. A resource is counted once although several of its values match: rows that
 * cover all values of their resource are added up, and only the others are deduplicated.
 */
export function countStatement(criteria: Criteria, scope: RowScope, repeats: Repeats): Sql | undefined {
  const collection = scope.collection as number;
  switch (criteria.kind) {
    case 'all':
      return countOfCollection(collection);
    case 'not': {
      const inner = countStatement(criteria.of, scope, repeats);
      return inner && sql`SELECT (${countOfCollection(collection)}) - (${inner})`;
    }
    case 'missing': {
      const key = parameterKey(scope, criteria.parameter);
      if (key === undefined || criteria.parameter.includes('$')) return undefined;
      return countOfShapes(collection, key as number, criteria.missing ? 'none' : 'some');
    }
    case 'match':
    case 'or': {
      const one = matchesOfOneParameter(criteria);
      return one && countOfMatches(one, scope, repeats);
    }
    default:
      return undefined;
  }
}

function countOfMatches({ parameter, matches }: OneParameter, scope: RowScope, repeats: Repeats): Sql | undefined {
  const key = parameterKey(scope, parameter);
  if (key === undefined || parameter.includes('$') || matches.some(({ test }) => test.kind === 'text'))
    return undefined;
  // With a base, a resource may be found in either of two tables, or in both.
  if (scope.baseUrl !== undefined && matches.some(({ test }) => test.kind === 'reference')) return undefined;
  const several = repeats(parameter);
  const always = [ofParameter(X, key, scope), sql`x.grp = 0`, inTime(sql`x.resource`, scope)];
  const once: Sql[] = [];
  const repeated: Sql[] = [];
  for (const [table, lookups] of lookupsByTable(matches, scope)) {
    for (const range of rangesOf(lookups)) {
      const rows = (which: Sql): Sql => sql`FROM ${TABLE_NAMES[table]} x WHERE ${allOf([...always, range, which])}`;
      const isDistinct = table === 'reference' || (table === 'token' && !isOfCodes(matches));
      if (isDistinct) {
        repeated.push(sql`SELECT x.resource ${rows(TRUE)}`);
        continue;
      }
      const one = table === 'token' ? FIRST : several ? ALONE : TRUE;
      once.push(sql`SELECT count(*) ${rows(one)}`);
      if (several) repeated.push(sql`SELECT x.resource ${rows(SOME)}`);
      // Tokens without a code cannot be ordered, so they have no mark.
      if (table === 'token' && matches.some(({ test }) => isNegated(test))) {
        repeated.push(sql`SELECT x.resource ${rows(sql`x.code IS NULL`)}`);
      }
    }
  }
  // PERF: for one code, the index has the resources in order, so that equal ones are adjacent.
  const [only] = repeated;
  if (only !== undefined) once.push(sql`SELECT count(*) FROM (SELECT DISTINCT * FROM (${unionAll(repeated)}))`);
  return once.length === 0 ? sql`SELECT 0` : sum(once);
}

/** True if the tests compare only codes and several codes can match; the rows of a single code are already in order. */
function isOfCodes(matches: readonly MatchCriteria[]): boolean {
  const isOfCode = ({ test }: MatchCriteria): boolean =>
    test.kind === 'token' && test.code !== undefined && test.system === undefined && test.noSystem !== true;
  return matches.every(isOfCode) && (matches.length > 1 || isNegated(matches[0]!.test));
}

function isNegated(test: ValueTest): boolean {
  return test.kind === 'token' && test.negated === true;
}

const X = sql`x`;

// See extremes.ts for the bits.
const ALONE = sql`(x.extreme & 4) = 0`;
const SOME = sql`(x.extreme & 4) <> 0`;
const FIRST = sql`(x.extreme & 5) = 1`;

function sum(counts: readonly Sql[]): Sql {
  return sql`SELECT ${counts.map((count) => sql`(${count})`).reduce((all, one) => sql`${all} + ${one}`)}`;
}

/** Disjoint conditions: the index ranges of a single test, otherwise one condition for all tests. */
function rangesOf(lookups: readonly Lookup[]): readonly Sql[] {
  return disjointScans(lookups) ?? [anyOf(lookups.map(({ condition }) => condition))];
}
