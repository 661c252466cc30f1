import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PostgresStore } from '../../../src/postgres.js';
import { bringAll, caller, samples, WAYS_OUT } from '../../repository/decimal-ways.js';
import { SEED } from '../../support/chance.js';
import { postgresPool } from './pool.js';

test('decimals keep their text in PostgreSQL', async () => {
  const store = new PostgresStore(await postgresPool());
  const context = { store, caller };
  const [sample] = fc.sample(samples, { seed: SEED, numRuns: 1 });
  await bringAll(sample!, context);
  for (const [name, answer] of Object.entries(WAYS_OUT)) {
    expect(await answer(sample!.type, context), name).toBe(sample!.text);
  }
  await store.close();
});
