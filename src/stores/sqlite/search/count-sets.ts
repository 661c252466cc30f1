import type { Criteria } from '../../../search/criteria/criteria.js';
import { type Condition, leavesOf, looksAtRow } from '../../sql/pages/condition.js';
import { innerRangeOf } from '../../sql/pages/value-range.js';
import { inTime, parameterKey, type RowScope } from '../../sql/rows.js';
import { allOf, sql } from '../../sql/sql.js';
import type { PreparedSearch } from '../pages/prepared-search.js';
import { type ConditionSet, intersection } from '../../sql/skip/condition-set.js';
import { equalTestOf } from '../../sql/skip/other-values.js';
import type { Statements } from '../database/statements.js';

/**
 * Counts the matches of conditions by intersecting the sets of the skip index, and tests the resources that are only possible
 * matches. Undefined if testing the rows of one condition's scan takes less time.
 *
 * PERF: a resource in a set takes some nanoseconds, a row of a scan 0.1 µs, and a test some microseconds.
 */
export function countInSets(
  conditions: readonly Condition[],
  search: PreparedSearch,
  statements: Statements,
): number | undefined {
  const [first, second] = conditions;
  if (
    second === undefined &&
    (first?.criteria === undefined || first.criteria.kind === 'missing' || !mayBeSets(first.criteria, search.scope))
  ) {
    return undefined;
  }
  const scans = conditions.filter((one) => one.direct === true && one.scan !== undefined);
  if (search.probes.shortestUnder(COUNTING_SETS.minRows, scans) !== undefined) return undefined;
  const { skips } = search;
  if (skips === undefined) return undefined;
  let sets = conditions.map((one) => skips.counted(one, COUNTING_SETS.maxRead));
  let most = COUNTING_SETS.maxTested;
  let found = intersection(sets);
  if (found === undefined || openOf(found) > COUNTING_SETS.fewTested) {
    // The number of resources that would be tested without sets.
    const tested = (second === undefined ? undefined : shortestOf(scans, search)) ?? skips.index.all.count;
    const limit = Math.max(COUNTING_SETS.maxRead, tested * COUNTING_SETS.readPerTest);
    sets = sets.map((known, index) => (isExact(known) ? known : skips.counted(conditions[index]!, limit)));
    found = intersection(sets);
    if (second !== undefined || (first !== undefined && isMixture(first)))
      most = Math.max(most, Math.min(tested, COUNTING_SETS.maxListed));
  }
  if (found === undefined) return undefined;
  const { set } = found;
  const sure = found.exact ? set.copy() : found.sure;
  const { pending } = skips.index;
  for (const key of pending) {
    set.delete(key);
    sure?.delete(key);
  }
  const count = sure?.count ?? 0;
  if (set.count - count > most) return undefined;
  const unsure = (sure === undefined ? set : set.subtract(sure)).keys();
  const tests = conditions.filter((_, index) => !isExact(sets[index]));
  return count + countAmong(unsure, tests, search, statements) + countPending(pending, conditions, search, statements);
}

/** How many resources are only possible matches. */
function openOf({ set, exact, sure }: ConditionSet): number {
  return exact ? 0 : set.count - (sure?.count ?? 0);
}

function isExact(set: ConditionSet | undefined): boolean {
  return set?.exact === true;
}

/** The number of rows of the shortest scan. Undefined if all are long. */
function shortestOf(scans: readonly Condition[], { probes }: PreparedSearch): number | undefined {
  for (const look of LOOKS) {
    const shortest = probes.shortestUnder(look, scans);
    if (shortest !== undefined) return shortest.rows;
  }
  return undefined;
}

/** Whether sets may count the matches. Ranges with two ends are counted in their index, presence alone by shapes. */
function mayBeSets(criteria: Criteria, scope: RowScope): boolean {
  switch (criteria.kind) {
    case 'match': {
      const { parameter, test } = criteria;
      return (
        parameterKey(scope, parameter) === undefined ||
        test.kind === 'token' ||
        test.kind === 'reference' ||
        innerRangeOf(test) !== undefined ||
        (test.kind === 'quantity' && test.code !== undefined) ||
        equalTestOf(test) !== undefined
      );
    }
    case 'missing':
      return true;
    case 'and':
    case 'or':
      // The index of one parameter counts alternatives of its values. Of several, each alternative has a set.
      return !isOfOneParameter(criteria.of) || criteria.of.every((one) => mayBeSets(one, scope));
    case 'not':
      return mayBeSets(criteria.of, scope);
    default:
      return criteria.kind === 'has' || criteria.kind === 'chain' || criteria.kind === 'composite';
  }
}

/** Without sets, all resources are tested for a mixture with a composite; for a composite alone, the rows of its code. */
function isMixture({ criteria }: Condition): boolean {
  return criteria !== undefined && criteria.kind !== 'composite' && leavesOf(criteria).some(isComposite);
}

function isComposite({ kind }: Criteria): boolean {
  return kind === 'composite';
}

function isOfOneParameter(criteria: readonly Criteria[]): boolean {
  return new Set(criteria.map((one) => (one.kind === 'match' ? one.parameter : one))).size < 2;
}

/** Counts the matches among some current resources of the type. */
function countAmong(
  keys: readonly number[],
  conditions: readonly Condition[],
  { scope, skips }: PreparedSearch,
  statements: Statements,
): number {
  if (keys.length === 0) return 0;
  skips!.index.check(keys.length);
  const where = allOf([inTime(sql`r0.key`, scope), ...conditions.map(({ test }) => test)]);
  // PERF: most tests need no row of the resource.
  const row = looksAtRow(where) ? sql`s CROSS JOIN resource r0 ON r0.key = s.key` : sql`s AS r0`;
  return statements.get(sql`WITH s (key) AS (SELECT value FROM json_each(${JSON.stringify(keys)}))
    SELECT count(*) FROM ${row} WHERE ${where}`)![0] as number;
}

/** Counts the matches among the resources written since, which may be deleted. */
function countPending(
  keys: readonly number[],
  conditions: readonly Condition[],
  search: PreparedSearch,
  statements: Statements,
): number {
  const current = sql`r0.collection = ${search.scope.collection!} AND r0.content IS NOT NULL`;
  return countAmong(keys, [{ test: current }, ...conditions], search, statements);
}

/** Only tests change it. */
export const COUNTING_SETS = {
  /** Rows of the shortest scan from which sets are intersected. */
  minRows: 6_400,
  /** Rows of a scan that may be read for a set in any case: some milliseconds. */
  maxRead: 32_768,
  /** Rows that may be read for a set for each test that it saves. */
  readPerTest: 8,
  /** Resources of inexact sets that are tested before more is read. */
  fewTested: 2_048,
  /** Resources of inexact sets that are tested if the number of tests without sets is unknown. */
  maxTested: 16_384,
  /** Maximum resources of inexact sets that are tested. */
  maxListed: 65_536,
};

/** How far scans are read to find the shortest one, in rows. */
const LOOKS: readonly number[] = [10_000, 40_000, 160_000, 640_000];
