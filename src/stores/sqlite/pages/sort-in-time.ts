import type { Guard } from '../database/guard.js';

/**
 * The items in order. Ends at the deadline of the call: the database looks at no clock while it sorts.
 *
 * @throws FhirError `aborted` - the deadline has passed
 */
export function sortInTime<Item>(items: readonly Item[], compare: (a: Item, b: Item) => number, guard: Clock): Item[] {
  let from: Item[] = [];
  for (let start = 0; start < items.length; start += RUN) {
    guard.check();
    for (const item of items.slice(start, start + RUN).sort(compare)) from.push(item);
  }
  for (let size = RUN; size < items.length; size *= 2) from = mergeRuns(from, size, compare, guard);
  return from;
}

/** Ends work whose deadline has passed. */
export type Clock = Pick<Guard, 'check'>;

/** Items between two looks at the clock: a millisecond or two. */
const RUN = 4_096;

/** Merges every two neighboring runs of a size. */
function mergeRuns<Item>(
  items: readonly Item[],
  size: number,
  compare: (a: Item, b: Item) => number,
  guard: Clock,
): Item[] {
  const merged: Item[] = [];
  for (let start = 0; start < items.length; start += 2 * size) {
    const middle = Math.min(start + size, items.length);
    const end = Math.min(middle + size, items.length);
    let [left, right] = [start, middle];
    while (left < middle || right < end) {
      if (merged.length % RUN === 0) guard.check();
      const isLeft = right === end || (left < middle && compare(items[left]!, items[right]!) <= 0);
      merged.push(items[isLeft ? left++ : right++]!);
    }
  }
  return merged;
}
