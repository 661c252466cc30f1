import type { Criteria } from '../../../search/criteria/criteria.js';
import { type Condition, leavesOf } from '../../sql/pages/condition.js';
import { isDirect, planRows } from '../../sql/plan.js';
import { chainScope, innerScope, type RowScope } from '../../sql/rows.js';
import { type Sql, TRUE } from '../../sql/sql.js';

/** A test of one of them looks at other resources, too: it takes as long as several others. */
export function areFar(conditions: readonly Condition[]): boolean {
  return conditions.some(isFar);
}

export function isFar({ criteria }: Condition): boolean {
  return criteria !== undefined && leavesOf(criteria).some(({ kind }) => kind === 'chain' || kind === 'has');
}

/**
 * Their scans may read many rows for each that they give: of all resources with a code the other component of a composite is
 * looked up, and of all values in a range the unit.
 */
export function areSparse(conditions: readonly Condition[]): boolean {
  const scans = conditions.filter(({ scan, direct }) => scan !== undefined && direct === true);
  return scans.length > 0 && scans.every(isSparse);
}

function isSparse({ criteria }: Condition): boolean {
  return criteria !== undefined && leavesOf(criteria).some((one) => one.kind === 'composite' || hasUnit(one));
}

function hasUnit(criteria: Criteria): boolean {
  if (criteria.kind !== 'match' || criteria.test.kind !== 'quantity') return false;
  return criteria.test.code !== undefined || criteria.test.system !== undefined;
}

/** Selects the resources at the other end of a chain or a `_has`. Undefined where no range of an index is that. */
export function otherEnd({ criteria }: Condition, scope: RowScope): Sql | undefined {
  if (criteria?.kind !== 'chain' && criteria?.kind !== 'has') return undefined;
  const inner = criteria.kind === 'has' ? innerScope(scope, criteria.type) : chainScope(scope, criteria.type);
  const { scan, residual } = planRows(criteria.of, inner);
  return isDirect(criteria.of) && residual === TRUE ? scan : undefined;
}
