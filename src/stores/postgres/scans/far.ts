import type { Criteria } from '../../../search/criteria/criteria.js';
import { type Condition, isLinked, leavesOf } from '../../sql/pages/condition.js';
import { rangeOf } from '../../sql/pages/value-range.js';
import { isDirect, planRows } from '../../sql/plan.js';
import { chainScope, innerScope, type RowScope } from '../../sql/rows.js';
import { asksForUnit, isRange } from '../../sql/skip/range-tests.js';
import { type Sql, TRUE, unionAll } from '../../sql/sql.js';
import { TUNING } from './tuning.js';

export function areLinked(conditions: readonly Condition[]): boolean {
  return conditions.some(isLinked);
}

/**
 * True if all scans may read many rows for each row that they return: composites look up the other component of all
 * resources with a code, and ranges look up the unit of all values.
 */
export function areSparse(conditions: readonly Condition[]): boolean {
  const scans = conditions.filter(({ scan, direct }) => scan !== undefined && direct === true);
  return scans.length > 0 && scans.every(isSparse);
}

/** True if it is a composite, or combines one with other criteria. */
export function includesComposite({ criteria }: Condition): boolean {
  return criteria !== undefined && leavesOf(criteria).some(({ kind }) => kind === 'composite');
}

/** True if its scan returns its first rows at once, or begins with other resources that can be counted first. */
export function isBrief(condition: Condition): boolean {
  return isLinked(condition) || (condition.direct === true && !isSparse(condition));
}

/**
 * True for conditions on other resources without a scan to begin with. PERF: planning a statement that tests them takes
 * longer than finding their sets.
 */
export function lackScans(conditions: readonly Condition[], scope: RowScope): boolean {
  const isScanned = (one: Condition): boolean => (isLinked(one) ? otherEnd(one, scope) !== undefined : isBrief(one));
  return areLinked(conditions) && !conditions.some(isScanned);
}

/**
 * True if finding their sets takes longer than testing the first rows of a walk: the sets of ranges, texts and chains.
 * Tests of `_has` take longer still.
 */
export function haveLongSets(conditions: readonly Condition[]): boolean {
  const leaves = conditions.flatMap(({ criteria }) => (criteria === undefined ? [] : leavesOf(criteria)));
  return !leaves.some(({ kind }) => kind === 'has') && leaves.some(isLongSet);
}

/**
 * Rows of the first stretch of a walk: fewer if a test takes long, or if they are only tried before sets.
 *
 * @param parameter the sort key: the walk begins in a range of it
 */
export function firstRows(conditions: readonly Condition[], parameter: string): number {
  const leaves = conditions.flatMap(({ criteria }) => (criteria === undefined ? [] : leavesOf(criteria)));
  const isTried = leaves.length > 0 && !leaves.some((one) => isRange(one) && rangeOf(one, parameter) !== undefined);
  return areLinked(conditions) || isTried ? TUNING.stretch / TUNING.rowsPerFar : TUNING.stretch;
}

function isLongSet(criteria: Criteria): boolean {
  if (criteria.kind !== 'match') return criteria.kind === 'last-updated' || criteria.kind === 'chain';
  return criteria.test.kind !== 'token' && criteria.test.kind !== 'reference';
}

function isSparse({ criteria }: Condition): boolean {
  return criteria !== undefined && isSparseIn(criteria);
}

function isSparseIn(criteria: Criteria): boolean {
  return leavesOf(criteria).some((one) => one.kind === 'composite' || (one.kind === 'match' && asksForUnit(one.test)));
}

/** Selects the resources at the other end of a chain or a `_has`. Undefined if no index range does, or it is sparse. */
export function otherEnd({ criteria }: Condition, scope: RowScope): Sql | undefined {
  return criteria && endOf(criteria, scope);
}

function endOf(criteria: Criteria, scope: RowScope): Sql | undefined {
  if (criteria.kind === 'or') return endsOf(criteria.of, scope);
  if ((criteria.kind !== 'chain' && criteria.kind !== 'has') || isSparseIn(criteria.of)) return undefined;
  const inner = criteria.kind === 'has' ? innerScope(scope, criteria.type) : chainScope(scope, criteria.type);
  const { scan, residual } = planRows(criteria.of, inner);
  if (scan === undefined || residual !== TRUE) return undefined;
  if (isDirect(criteria.of)) return scan;
  // The ends before the last one are read by it, one look-up for each of its resources.
  const further = endOf(criteria.of, inner);
  return further && unionAll([further, scan]);
}

/** The other ends of alternatives, some of which may be index ranges of the resource itself. */
function endsOf(alternatives: readonly Criteria[], scope: RowScope): Sql | undefined {
  const linked = alternatives.filter((one) => !isDirect(one));
  const ends = linked.map((one) => endOf(one, scope)).filter((end) => end !== undefined);
  return ends.length === 0 || ends.length < linked.length ? undefined : unionAll(ends);
}
