import type { Criteria, MatchCriteria } from '../../../search/criteria/criteria.js';
import { rowCondition } from '../../sql/conditions.js';
import { codeRows } from '../../sql/pages/code-scan.js';
import { type Condition, isOfOneTarget } from '../../sql/pages/condition.js';
import { ScannedCondition } from '../../sql/pages/scanned-condition.js';
import { isCurrent, ofParameter, type RowScope } from '../../sql/rows.js';
import { allOf, Sql, sql, type SqlValue } from '../../sql/sql.js';

/**
 * Gives a condition a scan specific to PostgreSQL, if that is shorter or the only scan:
 *
 * - A code is found by one row per resource. It is indexed with and without its system.
 * - `_lastUpdated` is a range of the index by instant of change.
 */
export function withOwnScan(condition: Condition, scope: RowScope): Condition {
  const { criteria } = condition;
  if (criteria === undefined) return condition;
  if (condition.scan !== undefined) {
    const codes = codeScan(criteria, scope);
    const unique = codes === undefined ? isOfOneTarget(criteria) : isOfCode(criteria);
    const direct = condition.direct === true;
    return new ScannedCondition(condition, criteria, { scan: codes ?? condition.scan, direct, unique });
  }
  const range = updatedScan(criteria, scope);
  return range === undefined
    ? condition
    : new ScannedCondition(condition, criteria, { scan: range, direct: true, unique: true });
}

const X = sql`x`;

function codeScan(criteria: Criteria, scope: RowScope): Sql | undefined {
  const rows = codeRows(criteria, scope, isOfCode);
  return rows && firstOfCodes(rows.codes, rows.key, scope);
}

/** One row of each resource and code. See extremes.ts for the bits. */
function firstOfCodes(codes: Sql, key: SqlValue, scope: RowScope): Sql {
  return sql`SELECT x.resource FROM token x WHERE ${allOf([ofParameter(X, key, scope), sql`x.grp = 0`, codes, sql`x.extreme < 8`])}`;
}

/** A test by a code alone, whatever its system. */
function isOfCode(criteria: Criteria): criteria is MatchCriteria {
  if (criteria.kind !== 'match' || criteria.test.kind !== 'token') return false;
  const { code, folded, system, noSystem, negated, below } = criteria.test;
  if (code === undefined || (folded !== undefined && folded !== code)) return false;
  return system === undefined && noSystem !== true && negated !== true && below !== true;
}

function updatedScan(criteria: Criteria, scope: RowScope): Sql | undefined {
  if (criteria.kind !== 'last-updated') return undefined;
  const row = new Sql('y', []);
  const ofRow = { ...scope, row };
  return sql`SELECT y.key FROM resource y WHERE ${allOf([isCurrent(ofRow), rowCondition(criteria, ofRow)])}`;
}
