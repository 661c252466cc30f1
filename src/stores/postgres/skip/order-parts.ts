import { isBefore } from '../../sql/pages/value-range.js';
import type { SqlValue } from '../../sql/sql.js';
import type { PartSet } from './skip-search.js';

/** The parts of an order that can have matches. */
export interface OpenParts {
  /** The first value of each part. */
  readonly starts: readonly SqlValue[];
  /** Those of a value that many resources have. */
  readonly large: ReadonlySet<number>;
  /** By part; the last one has the resources without a value. */
  readonly open: PartSet;
}

/** The part that a value belongs to. */
export function partWith(starts: readonly SqlValue[], value: SqlValue): number {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (isBefore(value, starts[middle]!)) high = middle - 1;
    else low = middle;
  }
  return low;
}
