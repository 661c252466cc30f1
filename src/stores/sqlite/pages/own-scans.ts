import type { Criteria, MatchCriteria } from '../../../search/criteria/criteria.js';
import { rowCondition } from '../../sql/conditions.js';
import { TABLE_NAMES } from '../../sql/index-tables.js';
import { lookupsByTable, matchesByParameter } from '../../sql/match-sql.js';
import { codeRows } from '../../sql/pages/code-scan.js';
import type { Condition } from '../../sql/pages/condition.js';
import { inTime, ofParameter, parameterKey, type RowScope } from '../../sql/rows.js';
import { allOf, anyOf, Sql, sql, unionAll } from '../../sql/sql.js';
import { countOfCollection, countOfShapes } from '../shapes.js';
import { asksForUnit } from '../../sql/skip/range-tests.js';
import type { Statements } from '../statements.js';

/**
 * Gives a condition a scan specific to SQLite, if it is shorter or the only one:
 *
 * - Codes use one row per resource. A code is indexed with and without its system.
 * - Composites come late: each row of one component is tested for the others.
 * - Ranges in a unit come late too: all rows of the range are read, and few may have the unit.
 * - `_lastUpdated` is a range of the index by instant of change.
 * - A test that no range of an index answers (`contains`, `ne`) reads all values of its parameter. A value in the order of
 *   the index takes a tenth of the time of a test under a resource's key.
 */
export function withOwnScan(condition: Condition, scope: RowScope, statements: Statements): Condition {
  const { criteria } = condition;
  if (criteria === undefined || scope.collection === undefined) return condition;
  if (criteria.kind === 'composite' && condition.scan !== undefined) {
    // The number of rows of a component is unknown.
    const all = countOfCollection(scope.collection as number);
    return new OwnScan(condition, criteria, condition.scan, () => (statements.get(all)![0] as number) / 4);
  }
  if (condition.scan !== undefined) {
    const codes = codeScan(criteria, scope);
    if (codes !== undefined) return new OwnScan(condition, criteria, codes, undefined);
    const values = countInUnits(criteria, scope);
    if (values === undefined) return condition;
    return new OwnScan(condition, criteria, condition.scan, () => statements.get(values)![0] as number);
  }
  const updated = updatedScan(criteria, scope);
  if (updated !== undefined) return new OwnScan(condition, criteria, updated, undefined);
  const sweep = sweepOf(criteria, scope);
  if (sweep === undefined) return condition;
  const countReads = (): number => sum(sweep.counts.map((count) => statements.get(count)![0] as number));
  return new OwnScan(condition, criteria, sweep.scan, countReads);
}

class OwnScan implements Condition {
  readonly scan: Sql;
  readonly direct: boolean;
  readonly criteria: Criteria;
  readonly #condition: Condition;
  readonly #countReads: (() => number) | undefined;
  #reads: number | undefined;

  /** @param countReads undefined: the scan is a range of an index */
  constructor(condition: Condition, criteria: Criteria, scan: Sql, countReads: (() => number) | undefined) {
    this.#condition = condition;
    this.criteria = criteria;
    this.scan = scan;
    this.direct = countReads === undefined;
    this.#countReads = countReads;
  }

  get reads(): number | undefined {
    return (this.#reads ??= this.#countReads?.());
  }

  get test(): Sql {
    return this.#condition.test;
  }
}

function codeScan(criteria: Criteria, scope: RowScope): Sql | undefined {
  const rows = codeRows(criteria, scope, isOfCode);
  // See extremes.ts for the bits.
  return (
    rows &&
    sql`SELECT x.resource FROM token x INDEXED BY token_by_value
      WHERE ${allOf([ofParameter(X, rows.key, scope), sql`x.grp = 0`, rows.codes, sql`x.extreme & 5 <> 0`, inTime(sql`x.resource`, scope)])}`
  );
}

/** Counts the resources with a value of the parameter of a range in a unit; undefined for other criteria. */
function countInUnits(criteria: Criteria, scope: RowScope): Sql | undefined {
  if (criteria.kind !== 'match') return undefined;
  const { parameter, test } = criteria;
  if (test.kind !== 'quantity' || test.prefix === 'eq' || !asksForUnit(test)) return undefined;
  const key = parameterKey(scope, parameter);
  return key === undefined ? undefined : countOfShapes(scope.collection as number, key as number, 'some');
}

/** A test by a code alone, whatever its system. */
export function isOfCode(criteria: Criteria): criteria is MatchCriteria {
  if (criteria.kind !== 'match' || criteria.test.kind !== 'token') return false;
  const { code, system, noSystem, negated, below } = criteria.test;
  return code !== undefined && system === undefined && noSystem !== true && negated !== true && below !== true;
}

function updatedScan(criteria: Criteria, scope: RowScope): Sql | undefined {
  if (criteria.kind !== 'last-updated' || criteria.test.prefix === 'ne') return undefined;
  const y = new Sql('y', []);
  return sql`SELECT y.key FROM resource y INDEXED BY resource_by_updated
    WHERE ${allOf([sql`y.collection = ${scope.collection!} AND y.content IS NOT NULL`, rowCondition(criteria, { ...scope, row: y }), inTime(sql`y.key`, scope)])}`;
}

/** All values of the parameters, and the numbers of resources that have some. */
interface Sweep {
  readonly scan: Sql;
  readonly counts: readonly Sql[];
}

function sweepOf(criteria: Criteria, scope: RowScope): Sweep | undefined {
  const matches = criteria.kind === 'or' ? criteria.of : [criteria];
  if (matches.length === 0 || !matches.every((one) => one.kind === 'match')) return undefined;
  const groups = [...matchesByParameter(matches)];
  const scans = groups.map(([parameter, group]) => sweepOfParameter(parameter, group, scope));
  if (!scans.every((scan) => scan !== undefined)) return undefined;
  const keys = groups.map(([parameter]) => parameterKey(scope, parameter) as number);
  const counts = keys.map((key) => countOfShapes(scope.collection as number, key, 'some'));
  return { scan: unionAll(scans), counts };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

function sweepOfParameter(parameter: string, matches: readonly MatchCriteria[], scope: RowScope): Sql | undefined {
  const key = parameterKey(scope, parameter);
  // Components of composites are in no index by value, texts of tokens in no table.
  if (key === undefined || parameter.includes('$') || matches.some(({ test }) => test.kind === 'text'))
    return undefined;
  const scans = lookupsByTable(matches, scope).map(([table, lookups]) => {
    const passes = anyOf(lookups.map(({ condition }) => condition));
    return sql`SELECT x.resource FROM ${TABLE_NAMES[table]} x INDEXED BY ${new Sql(`${table}_by_value`, [])}
      WHERE ${allOf([ofParameter(X, key, scope), sql`x.grp = 0`, passes, inTime(sql`x.resource`, scope)])}`;
  });
  return scans.length === 0 ? undefined : unionAll(scans);
}

const X = sql`x`;
