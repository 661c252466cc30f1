import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { cases } from '../support/chance.js';
import { tallyOf } from '../support/long-report.js';
import { fuzzSurfaces, SURFACES } from './fuzz-surfaces.js';
import { REGRESSIONS } from './regressions.js';
import { STORES } from './world.js';

/** Generated ids are the same on every store. */
let made = 0;
beforeAll(() => {
  vi.spyOn(crypto, 'randomUUID').mockImplementation(
    () => `00000000-0000-4000-9000-${String(made++).padStart(12, '0')}`,
  );
  syncBuiltinESMExports();
});
afterAll(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

test('regressions name surfaces', () => {
  expect(SURFACES).toEqual(expect.arrayContaining(Object.keys(REGRESSIONS)));
});

fuzzSurfaces({
  open: () => Promise.resolve([STORES.memory(), STORES.SQLite()]),
  inputs: { reading: cases(60, 8), writing: cases(15, 2) },
  again: () => void (made = 0),
  tally: tallyOf('Fuzzed inputs, through each entrance'),
});
