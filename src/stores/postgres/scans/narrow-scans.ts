import type { Criteria } from '../../../search/criteria/criteria.js';
import { asksForUnit, type Condition, leavesOf } from '../../sql/pages/condition.js';
import { isDirect, planRows } from '../../sql/plan.js';
import { chainScope, innerScope, isCurrent, type RowScope } from '../../sql/rows.js';
import { list, type Sql, sql, TRUE, unionAll } from '../../sql/sql.js';
import type { Run } from '../database/run.js';
import { SERIALLY } from '../database/serially.js';
import { TUNING } from './tuning.js';

/** True if its scan returns its first rows at once. */
export function isBrief(condition: Condition): boolean {
  return condition.scan !== undefined && condition.direct === true && !isSparse(condition);
}

/**
 * The conditions whose scans a look of some rows can begin with. For a chain or a `_has`, the database first finds all
 * resources at the other end, so they must be few, too.
 */
export async function narrowScans(
  conditions: readonly Condition[],
  scope: RowScope,
  run: Run,
): Promise<readonly Condition[]> {
  const brief = conditions.filter(isBrief);
  if (brief.length > 0) return brief;
  const ends = conditions.flatMap((one) => {
    const scan = one.scan && one.criteria && endOf(one.criteria, scope);
    return scan === undefined ? [] : [{ one, end: { scan, test: TRUE } }];
  });
  if (ends.length === 0) return [];
  const sizes = await sizesUpTo(
    TUNING.look,
    ends.map(({ end }) => end),
    run,
  );
  return ends.filter(({ end }) => sizes.get(end)! <= TUNING.look).map(({ one }) => one);
}

/** The condition with the shortest scan; undefined if all scans are long. */
export async function rarest(conditions: readonly Condition[], run: Run): Promise<Condition | undefined> {
  const scanned = conditions.filter(({ scan }) => scan !== undefined);
  const direct = scanned.filter((one) => one.direct === true);
  // Ranges of indexes come first, since the scan of a chain may read many rows for each that it returns.
  for (const [some, most] of [
    [direct, 10 * TUNING.look],
    [scanned, 10 * TUNING.look],
    [direct, 100 * TUNING.look],
    [scanned, 100 * TUNING.look],
  ] as const) {
    if (some.length === 0) continue;
    const [shortest] = [...(await sizesUpTo(most, some, run))].sort(([, one], [, other]) => one - other);
    if (shortest![1] <= most) return shortest![0];
  }
  return direct[0] ?? scanned[0];
}

/** All resources of the type: for conditions without a scan. */
export function allOfType(scope: RowScope): Condition {
  const { row } = scope;
  const scan = sql`SELECT ${row}.key FROM resource ${row} WHERE ${isCurrent(scope)}`;
  return { test: TRUE, scan, direct: true, unique: true };
}

/** The lengths of scans, which are read no further than one row more than this. */
async function sizesUpTo(
  most: number,
  conditions: readonly Condition[],
  run: Run,
): Promise<ReadonlyMap<Condition, number>> {
  const counts = conditions.map(
    ({ scan }) => sql`(SELECT count(*) FROM (SELECT 1 FROM (${scan!}) u LIMIT ${most + 1}) v)`,
  );
  const [row] = await run(sql`SELECT ${list(counts)} WHERE ${SERIALLY}`);
  return new Map(conditions.map((one, index) => [one, Number(row![index])]));
}

/**
 * True if all scans may read many rows for each row that they return: composites look up the other component of all
 * resources with a code, and ranges look up the unit of all values.
 */
function isSparse({ criteria }: Condition): boolean {
  return criteria !== undefined && isSparseIn(criteria);
}

function isSparseIn(criteria: Criteria): boolean {
  return leavesOf(criteria).some((one) => one.kind === 'composite' || (one.kind === 'match' && asksForUnit(one.test)));
}

/** Selects the resources at the other end of a chain or a `_has`. Undefined if no index range does, or it is sparse. */
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
