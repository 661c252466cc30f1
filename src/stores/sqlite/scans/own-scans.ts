import type { Criteria, MatchCriteria } from '../../../search/criteria/criteria.js';
import { rowCondition } from '../../sql/conditions.js';
import { codeRows } from '../../sql/pages/code-scan.js';
import type { Condition } from '../../sql/pages/condition.js';
import { ScannedCondition } from '../../sql/pages/scanned-condition.js';
import { inTime, ofParameter, type RowScope } from '../../sql/rows.js';
import { allOf, Sql, sql } from '../../sql/sql.js';

/**
 * Gives a condition a scan specific to SQLite, if that is shorter or the only scan:
 *
 * - Codes use one row per resource. A code is indexed with and without its system.
 * - `_lastUpdated` is a range of the index by instant of change.
 */
export function withOwnScan(condition: Condition, scope: RowScope): Condition {
  const { criteria } = condition;
  if (criteria === undefined || scope.collection === undefined) return condition;
  const scan = isOfOwnValues(criteria) ? (codeScan(criteria, scope) ?? updatedScan(criteria, scope)) : undefined;
  return scan === undefined ? condition : new ScannedCondition(condition, criteria, { scan, direct: true });
}

/** Whether criteria only test values of the resource. The scans of other conditions are planned on demand. */
function isOfOwnValues(criteria: Criteria): boolean {
  if (criteria.kind === 'or') return criteria.of.every(({ kind }) => kind === 'match');
  return criteria.kind === 'match' || criteria.kind === 'last-updated';
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

/** A test by a code alone, whatever its system. */
function isOfCode(criteria: Criteria): criteria is MatchCriteria {
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
