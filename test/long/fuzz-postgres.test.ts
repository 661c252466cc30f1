import type * as crypto from 'node:crypto';
import { vi } from 'vitest';
import { PostgresStore } from '../../src/stores/postgres/store.js';
import { fuzzSurfaces } from '../fuzz/fuzz-surfaces.js';
import { clock, STORES } from '../fuzz/world.js';
import { postgresPool } from '../stores/postgres-pool.js';
import { cases } from '../support/chance.js';
import { tallyOf } from '../support/long-report.js';

/** Ids that are made here are the same ones on every store. */
const ids = vi.hoisted(() => ({ made: 0 }));
vi.mock('node:crypto', async (original) => ({
  ...(await original<typeof crypto>()),
  randomUUID: () => `00000000-0000-4000-9000-${String(ids.made++).padStart(12, '0')}`,
}));

// The database is emptied for each input that may write, which takes a while.
fuzzSurfaces({
  open: async () => [STORES.memory(), new PostgresStore(await postgresPool(), { clock })],
  inputs: { reading: cases(40), writing: cases(5) },
  again: () => void (ids.made = 0),
  tally: tallyOf('Fuzzed inputs, PostgreSQL'),
});
