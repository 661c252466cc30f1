import type { Criteria } from '../../../search/criteria/criteria.js';
import type { IndexTable } from '../lookup.js';
import { lookupsByTable, matchesByParameter } from '../match-sql.js';
import { inTime, ofParameter, parameterKey, type RowScope } from '../rows.js';
import { allOf, anyOf, type Sql, sql, type SqlValue, unionAll } from '../sql.js';

/** A scan of all values of some parameters. */
export interface Sweep {
  readonly scan: Sql;
  /** The keys of the parameters. */
  readonly parameters: readonly SqlValue[];
}

/**
 * Finds the matches of criteria by reading all values of their parameters, for tests that no range of an index answers.
 * Undefined if an index by value lacks some of these values.
 *
 * @param scansOf the scans of a table's rows `x` that meet a condition; undefined if the table has no index by
 * parameter
 */
export function sweepOf(
  criteria: Criteria,
  scope: RowScope,
  scansOf: (table: IndexTable, where: Sql) => readonly Sql[] | undefined,
): Sweep | undefined {
  const matches = criteria.kind === 'or' ? criteria.of : [criteria];
  if (matches.length === 0 || !matches.every((one) => one.kind === 'match')) return undefined;
  const parameters: SqlValue[] = [];
  const scans: Sql[] = [];
  for (const [parameter, group] of matchesByParameter(matches)) {
    const key = parameterKey(scope, parameter);
    // Components of composites are in no index by value, and texts of tokens are in no table.
    if (key === undefined || parameter.includes('$') || group.some(({ test }) => test.kind === 'text'))
      return undefined;
    const tables = lookupsByTable(group, scope);
    if (tables.length === 0) return undefined;
    for (const [table, lookups] of tables) {
      const passes = anyOf(lookups.map(({ condition }) => condition));
      const own = [ofParameter(X, key, scope), sql`x.grp = 0`, passes, inTime(sql`x.resource`, scope)];
      const ofTable = scansOf(table, allOf(own));
      if (ofTable === undefined) return undefined;
      scans.push(...ofTable);
    }
    parameters.push(key);
  }
  return { scan: unionAll(scans), parameters };
}

const X = sql`x`;
