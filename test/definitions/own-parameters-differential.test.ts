import { test } from 'vitest';
import { MemoryStore } from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { SEED } from '../support/chance.js';
import { searchByRandomParameters } from './random-searches.js';

test(`random searches by random custom parameters of a store in memory (seed ${SEED})`, async () => {
  await searchByRandomParameters(async (model) => new MemoryStore({ model }), 40);
});

test(`random searches by random custom parameters of SQLite (seed ${SEED})`, async () => {
  await searchByRandomParameters(async (model) => new SqliteStore(':memory:', { model }), 40);
});
