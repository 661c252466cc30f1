import { test } from 'vitest';
import { PostgresStore } from '../../../src/postgres.js';
import { describeNewParameters } from '../../definitions/reindex-cases.js';
import { searchByRandomParameters } from '../../definitions/random-searches.js';
import { SEED } from '../../support/chance.js';
import { postgresPool } from './pool.js';

test(`random searches by random custom parameters (seed ${SEED})`, async () => {
  await searchByRandomParameters(async (model) => new PostgresStore(await postgresPool(), { model }), 10);
});

describeNewParameters('PostgreSQL', async () => {
  const pool = await postgresPool();
  return (model) => new PostgresStore(pool, { model, takeOver: true, reindex: 'manual' });
});
