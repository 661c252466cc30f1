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

/** Selects the resources at the other end of a chain or a `_has`. Undefined where no range of an index is that. */
export function otherEnd({ criteria }: Condition, scope: RowScope): Sql | undefined {
  if (criteria?.kind !== 'chain' && criteria?.kind !== 'has') return undefined;
  const inner = criteria.kind === 'has' ? innerScope(scope, criteria.type) : chainScope(scope, criteria.type);
  const { scan, residual } = planRows(criteria.of, inner);
  return isDirect(criteria.of) && residual === TRUE ? scan : undefined;
}
