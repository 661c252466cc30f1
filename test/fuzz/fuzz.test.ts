import type * as crypto from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { cases } from '../support/chance.js';
import { tallyOf } from '../support/long-report.js';
import { fuzzSurfaces, SURFACES } from './fuzz-surfaces.js';
import { REGRESSIONS } from './regressions.js';
import { STORES } from './world.js';

/** Ids that are made here are the same ones on every store. */
const ids = vi.hoisted(() => ({ made: 0 }));
vi.mock('node:crypto', async (original) => ({
  ...(await original<typeof crypto>()),
  randomUUID: () => `00000000-0000-4000-9000-${String(ids.made++).padStart(12, '0')}`,
}));

test('regressions name surfaces', () => {
  expect(SURFACES).toEqual(expect.arrayContaining(Object.keys(REGRESSIONS)));
});

fuzzSurfaces({
  open: () => Promise.resolve([STORES.memory(), STORES.SQLite()]),
  inputs: { reading: cases(60), writing: cases(15) },
  again: () => void (ids.made = 0),
  tally: tallyOf('Fuzzed inputs, by each way in'),
});
