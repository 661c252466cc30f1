import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterAll, beforeAll, vi } from 'vitest';
import { PostgresStore } from '../../src/postgres.js';
import { fuzzSurfaces } from '../fuzz/fuzz-surfaces.js';
import { clock, STORES } from '../fuzz/world.js';
import { postgresPool } from '../stores/postgres/pool.js';
import { cases } from '../support/chance.js';
import { tallyOf } from '../support/long-report.js';

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

// The database is emptied for each input that may write, which takes a while.
fuzzSurfaces({
  open: async () => [STORES.memory(), new PostgresStore(await postgresPool(), { clock })],
  inputs: { reading: cases(40), writing: cases(5) },
  again: () => void (made = 0),
  tally: tallyOf('Fuzzed inputs, PostgreSQL'),
});
