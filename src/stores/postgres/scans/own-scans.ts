import type { Criteria, MatchCriteria } from '../../../search/criteria/criteria.js';
import { rowCondition } from '../../sql/conditions.js';
import { codeRows } from '../../sql/pages/code-scan.js';
import { type Condition, isOfOneTarget } from '../../sql/pages/condition.js';
import { ScannedCondition } from '../../sql/pages/scanned-condition.js';
import { isCurrent, ofParameter, parameterKey, type RowScope } from '../../sql/rows.js';
import { allOf, negation, Sql, sql, type SqlValue } from '../../sql/sql.js';
import { projectKey } from '../rows/keys.js';

/**
 * Gives a condition a scan specific to PostgreSQL, if that is shorter or the only scan:
 *
 * - A code is found by one row per resource. It is indexed with and without its system.
 * - `_lastUpdated` is a range of the index by instant of change.
 * - A missing value is a range of the index by shape.
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
  const range = updatedScan(criteria, scope) ?? missingScan(criteria, scope);
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

function missingScan(criteria: Criteria, scope: RowScope): Sql | undefined {
  const isNegated = criteria.kind === 'not';
  const inner = isNegated ? criteria.of : criteria;
  if (inner.kind !== 'missing' || inner.parameter.includes('$')) return undefined;
  const key = parameterKey(scope, inner.parameter);
  return key === undefined ? undefined : shapeScan(scope, key, inner.missing === isNegated);
}

/** The keys of the current resources that have, or lack, values of a parameter: a range of an index per shape. */
function shapeScan({ project, collection }: RowScope, parameter: SqlValue, present: boolean): Sql {
  const some = sql`s.parameters && ARRAY[${parameter}::bigint, -(${parameter}::bigint)]`;
  return sql`SELECT y.key FROM fhirgraph_shape s CROSS JOIN LATERAL (
      SELECT r.key FROM resource r WHERE r.project = s.project AND r.type = s.type AND r.content IS NOT NULL
        AND r.shape = s.key OFFSET 0) y
    WHERE s.project = ${projectKey(project)} AND s.type = ${collection!} AND ${present ? some : negation(some)}`;
}
