import { sorting } from '../../../platform/collections.js';
import type { Guard } from '../database/guard.js';

/**
 * Sorts items, and ends at the deadline of the call. The database would check no deadline while it sorts.
 *
 * @throws FhirError `aborted` - the deadline has passed
 */
export function sortInTime<Item>(items: readonly Item[], compare: (a: Item, b: Item) => number, guard: Clock): Item[] {
  const steps = sorting(items, compare, { run: RUN });
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    guard.check();
  }
}

/** Ends work whose deadline has passed. */
export type Clock = Pick<Guard, 'check'>;

/** Items between two checks of the deadline: a millisecond or two. */
const RUN = 4_096;
