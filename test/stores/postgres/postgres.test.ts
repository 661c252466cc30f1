import { describe, test } from 'vitest';
import { PostgresStore } from '../../../src/postgres.js';
import { storeConformance } from '../../../src/testing.js';
import { IS_WHOLE, KIT_EFFORT, SEED } from '../../support/chance.js';
import { postgresPool } from './pool.js';
// One file runs them all: each would start a PostgreSQL of its own, which takes longer than its tests.
import './changes.js';
import './changing-models.js';
import './limits.js';

/** Suites and cases that take half a second or more. `npm test` runs them over the other stores. */
const LONG =
  /^(?:random searches|positions|type history|resources inside|access epoch|budgets of bytes): |after that of any page$|while others write$|a thousand alternatives$/;

describe('PostgreSQL in this process', () => {
  storeConformance(
    { describe, test: (name, run) => test.runIf(IS_WHOLE || !LONG.test(name))(name, run) },
    async () => new PostgresStore(await postgresPool()),
    { seed: SEED, effort: KIT_EFFORT },
  );
});
