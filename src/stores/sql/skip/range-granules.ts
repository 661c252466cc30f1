import { innerInstants, partWith, type ValueRange } from '../pages/value-range.js';
import type { SqlValue } from '../sql.js';
import { failsSurely, matchesIfShort, matchesSurely, type RangeCriteria } from './range-tests.js';

/** The granules of an order that reach into a range, except those of a single value that does not match. */
export interface Granules {
  /** Every value in them matches. */
  readonly all: readonly number[];
  /** Every value in them matches, except long intervals. */
  readonly short: readonly number[];
  /** The other granules, in order: mostly those at the ends of the range. */
  readonly some: readonly number[];
}

/** @param fromStart whether to include long intervals that begin before the range */
export function granulesInRange(
  criteria: RangeCriteria,
  { starts, ties }: { readonly starts: readonly SqlValue[]; readonly ties: readonly number[] },
  { low, high }: ValueRange,
  fromStart: boolean,
): Granules {
  const isTie = new Set(ties);
  const found = { all: [] as number[], short: [] as number[], some: [] as number[] };
  const from = low === undefined || fromStart ? 0 : partWith(starts, low);
  const to = high === undefined ? starts.length - 1 : partWith(starts, high);
  for (let granule = from; granule <= to; granule++) {
    const start = starts[granule] as number;
    const next = isTie.has(granule) ? undefined : ((starts[granule + 1] ?? Infinity) as number);
    const passing = passes(criteria, start, next);
    if (passing !== 'some' || next !== undefined || fromStart || !failsSurely(criteria.test, start)) {
      found[passing].push(granule);
    }
  }
  return found;
}

/** Which values that start in `[start, next)` match. @param next undefined: values that start at `start` */
function passes({ kind, test }: RangeCriteria, start: number, next: number | undefined): keyof Granules {
  if (kind === 'last-updated') {
    const { low = -Infinity, high = Infinity } = innerInstants(test) ?? { low: Infinity };
    const isWithin = start >= Number(low) && (next ?? start + 1) <= Number(high);
    return isWithin ? 'all' : 'some';
  }
  if (matchesSurely(test, start, next)) return 'all';
  return matchesIfShort(test, start, next) ? 'short' : 'some';
}

/** Granules next to each other, as the first and the last of each run. */
export function runsOf(granules: readonly number[]): readonly (readonly [first: number, last: number])[] {
  const runs: [number, number][] = [];
  for (const granule of granules) {
    const run = runs.at(-1);
    if (run?.[1] === granule - 1) run[1] = granule;
    else runs.push([granule, granule]);
  }
  return runs;
}
