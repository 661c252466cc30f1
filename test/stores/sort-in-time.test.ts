import { expect, test } from 'vitest';
import type { Guard } from '../../src/stores/sqlite/database/guard.js';
import { sortInTime } from '../../src/stores/sqlite/pages/found-rows.js';
import { createRandom } from '../support/kit.js';

const UNTIL_ENDED = { check: () => undefined } as unknown as Guard;

test.each([0, 1, 2, 4_095, 4_096, 4_097, 8_192, 20_001])('%i items are in the order of a stable sort', (count) => {
  const random = createRandom(count);
  const items = Array.from({ length: count }, (_, index) => [Math.floor(random() * 100), index] as const);
  const compare = (a: readonly [number, number], b: readonly [number, number]): number => a[0] - b[0];
  expect(sortInTime(items, compare, UNTIL_ENDED)).toEqual(items.toSorted(compare));
});

test('a sort checks the clock once per few thousand items of every merge', () => {
  let looks = 0;
  const guard = { check: () => void looks++ } as unknown as Guard;
  sortInTime(
    Array.from({ length: 40_960 }, (_, index) => -index),
    (a, b) => a - b,
    guard,
  );
  // Ten runs, then merges; of an odd number of runs the last one waits.
  expect(looks).toBe(10 + 10 + 8 + 8 + 10);
});
