import type { Criteria, MatchCriteria } from '../../../search/criteria/criteria.js';
import { rowCondition } from '../../sql/conditions.js';
import { TABLE_NAMES } from '../../sql/index-tables.js';
import { codeRows } from '../../sql/pages/code-scan.js';
import { asksForUnit, type Condition } from '../../sql/pages/condition.js';
import { ScannedCondition } from '../../sql/pages/scanned-condition.js';
import { sweepOf } from '../../sql/pages/sweep.js';
import { inTime, ofParameter, parameterKey, type RowScope } from '../../sql/rows.js';
import { allOf, Sql, sql, type SqlValue } from '../../sql/sql.js';
import { countOfCollection, countOfShapes } from '../rows/shapes.js';
import type { Statements } from '../database/statements.js';

/**
 * Gives a condition a scan specific to SQLite, if that is shorter or the only scan:
 *
 * - Codes use one row per resource. A code is indexed with and without its system.
 * - Composites give their first rows late: each row of one component is tested for the others.
 * - Ranges in a unit do so too: all rows of the range are read, and few may have the unit.
 * - `_lastUpdated` is a range of the index by instant of change.
 * - A test that no range of an index answers (`contains`, `ne`) reads all values of its parameter. A value in the order of
 *   the index takes a tenth of the time of a test under a resource's key.
 */
export function withOwnScan(condition: Condition, scope: RowScope, statements: Statements): Condition {
  const { criteria } = condition;
  if (criteria === undefined || scope.collection === undefined || !isOfOwnValues(criteria)) return condition;
  const count = (query: Sql): number => statements.get(query)![0] as number;
  const scanned = (scan: Sql, countReads: (() => number) | undefined): Condition =>
    new ScannedCondition(condition, criteria, { scan, direct: countReads === undefined, countReads });
  if (criteria.kind === 'composite' && condition.scan !== undefined) {
    // The number of rows of a component is unknown.
    return scanned(condition.scan, () => count(countOfCollection(scope.collection as number)) / 4);
  }
  if (condition.scan !== undefined) {
    const codes = codeScan(criteria, scope);
    if (codes !== undefined) return scanned(codes, undefined);
    const values = countInUnits(criteria, scope);
    return values === undefined ? condition : scanned(condition.scan, () => count(values));
  }
  const updated = updatedScan(criteria, scope);
  if (updated !== undefined) return scanned(updated, undefined);
  const sweep = sweepOf(criteria, scope, (table, where) => [
    sql`SELECT x.resource FROM ${TABLE_NAMES[table]} x INDEXED BY ${new Sql(`${table}_by_value`, [])} WHERE ${where}`,
  ]);
  if (sweep === undefined) return condition;
  const countOf = (parameter: SqlValue): number =>
    count(countOfShapes(scope.collection as number, parameter as number, 'some'));
  return scanned(sweep.scan, () => sweep.parameters.reduce<number>((sum, one) => sum + countOf(one), 0));
}

/** Whether criteria only test values of the resource. PERF: the scans of other conditions are planned on demand. */
function isOfOwnValues(criteria: Criteria): boolean {
  if (criteria.kind === 'or') return criteria.of.every(({ kind }) => kind === 'match');
  return criteria.kind === 'match' || criteria.kind === 'composite' || criteria.kind === 'last-updated';
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

const X = sql`x`;
