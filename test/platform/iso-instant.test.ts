import { expect, test } from 'vitest';
import { isoInstant } from '../../src/platform/iso-instant.js';
import { createRandom } from '../support/kit.js';
import { cases, SEED } from '../support/chance.js';

const YEAR = 366 * 86_400_000;

test(`an instant is written as Date writes it (seed ${SEED})`, () => {
  const random = createRandom(SEED);
  const times = [0, -1, Date.UTC(9999, 11, 31, 23, 59, 59, 999), Date.UTC(10_000, 0), -YEAR * 3_000];
  for (let count = cases(500, 100); count > 0; count--) times.push(Math.floor(random() * 9_000 * YEAR));
  for (const time of times) {
    // The second time is the same as the one before.
    for (const again of [time, time]) expect(isoInstant(again)).toBe(new Date(time).toISOString());
  }
  expect(() => isoInstant(Number.NaN)).toThrow(RangeError);
});
