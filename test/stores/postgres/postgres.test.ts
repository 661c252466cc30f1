import { describe, test } from 'vitest';
import { PostgresStore } from '../../../src/postgres.js';
import { storeConformance } from '../../../src/testing.js';
import { KIT_EFFORT, SEED } from '../../support/chance.js';
import { postgresPool } from './pool.js';
// One file runs them all: each would start a PostgreSQL of its own, which takes longer than its tests.
import './changes.js';
import './changing-models.js';
import './limits.js';

describe('PostgreSQL in this process', () => {
  storeConformance({ describe, test }, async () => new PostgresStore(await postgresPool()), {
    seed: SEED,
    effort: KIT_EFFORT,
  });
});
