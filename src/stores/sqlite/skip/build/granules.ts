import type { SqlValue } from '../../../sql/sql.js';
import type { ValueGroups } from '../../../sql/skip/value-groups.js';

/** Where the granules of an order begin. */
export interface KnownGranules {
  readonly starts: readonly SqlValue[];
  readonly ties: readonly number[];
  /** See {@link SkipOrder}. */
  readonly of?: string;
  readonly groups?: ValueGroups;
}

/**
 * Cuts ordered values into granules. Equal values are never in two granules, and a value that many resources have gets a
 * granule of its own.
 */
export function granulesOf(values: readonly SqlValue[], granule: number): KnownGranules {
  const starts: SqlValue[] = [];
  const ties: number[] = [];
  let next = 0;
  let place = 0;
  while (place < values.length) {
    const start = place;
    const value = values[start]!;
    while (place < values.length && values[place] === value) place++;
    const isTie = place - start >= granule / 2;
    if (!isTie && start < next) continue;
    if (isTie) ties.push(starts.length);
    starts.push(value);
    next = isTie ? place : start + granule;
  }
  return { starts, ties };
}
