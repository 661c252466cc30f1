import type { Criteria, MatchCriteria } from '../../search/criteria/criteria.js';
import { requiredCodes } from '../../search/criteria/value-test.js';
import { TABLE_NAMES } from './index-tables.js';
import { mergeTests } from './merge-tests.js';
import { type IndexedTest, lookupsFor } from './operators.js';
import type { Lookup } from './lookup.js';
import { inTime, ofParameter, parameterKey, type RowScope, valuesOf } from './rows.js';
import { allOf, anyOf, exists, FALSE, type Sql, sql, type SqlValue } from './sql.js';
import { pushTo } from '../../platform/collections.js';

const X = sql`x`;

/** The `match` nodes among alternatives, by parameter: each group is one index lookup. */
export function matchesByParameter(alternatives: readonly Criteria[]): ReadonlyMap<string, readonly MatchCriteria[]> {
  const groups = new Map<string, MatchCriteria[]>();
  for (const one of alternatives) {
    if (one.kind !== 'match') continue;
    pushTo(groups, one.parameter, one);
  }
  return groups;
}

/** The condition that some value of the parameter passes one of the tests. */
export function matchCondition(parameter: string, matches: readonly MatchCriteria[], scope: RowScope): Sql {
  const key = parameterKey(scope, parameter);
  if (key === undefined) return FALSE;
  const isPlain = scope.inside === undefined && !parameter.includes('$');
  const resource = sql`${scope.row}.key`;
  const conditions = lookupsByTable(matches, scope).map(([table, lookups]) => {
    const [only] = lookups;
    const isPoint = isPlain && lookups.length === 1 && only!.isPoint === true && areListed(matches, key, scope);
    const point = isPoint ? scope.dialect.byPoint : undefined;
    const { from, where } = point?.(table, X, resource, key) ?? valuesOf(table, X, resource, key, scope);
    return exists(from, allOf([where, anyOf(lookups.map(({ condition }) => condition))]));
  });
  const { evaluate } = scope.dialect;
  const texts = evaluate === undefined ? [] : matches.filter(({ test }) => test.kind === 'text');
  return anyOf([...conditions, ...texts.map((one) => evaluate!(one, scope))]);
}

/** Selects that together return the key of every row with a passing value; undefined if no index helps. */
export function matchScans(
  parameter: string,
  matches: readonly MatchCriteria[],
  scope: RowScope,
): readonly Sql[] | undefined {
  const key = parameterKey(scope, parameter);
  if (key === undefined) return [];
  // Components of composites are in no index by value; see schema.ts.
  if (parameter.includes('$') || matches.some(({ test }) => test.kind === 'text')) return undefined;
  if (!areListed(matches, key, scope)) return undefined;
  const selects: Sql[] = [];
  for (const [table, lookups] of lookupsByTable(matches, scope)) {
    for (const { scans } of lookups) {
      if (scans === undefined) return undefined;
      for (const scan of scans) {
        selects.push(
          sql`SELECT x.resource FROM ${TABLE_NAMES[table]} x
            WHERE ${allOf([ofParameter(X, key, scope), sql`x.grp = 0`, scan, inTime(sql`x.resource`, scope)])}`,
        );
      }
    }
  }
  return selects;
}

/** Whether the index by value has all values of a parameter that pass one of the tests. */
export function areListed(matches: readonly MatchCriteria[], key: SqlValue, { dialect }: RowScope): boolean {
  const { listsCodes } = dialect;
  return (
    listsCodes === undefined ||
    matches.every(({ test }) => test.kind !== 'token' || listsCodes(key, requiredCodes(test)))
  );
}

/** The tables that hold values of the parameter, with the lookups in each. */
export function lookupsByTable(
  matches: readonly MatchCriteria[],
  scope: RowScope,
): readonly (readonly [Lookup['table'], readonly Lookup[]])[] {
  const { evaluate } = scope.dialect;
  const tests: readonly IndexedTest[] = matches.map(({ test }) => test);
  const indexed = evaluate === undefined ? tests : tests.filter(({ kind }) => kind !== 'text');
  const groups = new Map<Lookup['table'], Lookup[]>();
  for (const test of mergeTests(indexed)) {
    for (const lookup of lookupsFor(test, X, scope)) {
      pushTo(groups, lookup.table, lookup);
    }
  }
  return [...groups];
}
