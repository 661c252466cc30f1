import { describe, test } from 'vitest';
import { SqliteStore } from '../../../src/sqlite.js';
import { storeConformance } from '../../../src/testing.js';
import { temporaryFolder } from '../temporary-folder.js';
import { IS_LONG, KIT_EFFORT, SEED } from '../../support/chance.js';

const fileNamed = temporaryFolder();
let files = 0;

describe('a file', () => {
  storeConformance(
    { describe, test },
    () => new SqliteStore(fileNamed(`${files++}.db`), { baseUrl: 'https://clinic.example/fhir' }),
    {
      seed: SEED,
      effort: KIT_EFFORT,
    },
  );
});

// `npm test` has a database in memory with its cache in node-sqlite.test.ts.
describe.runIf(IS_LONG)('without a cache of resources', () => {
  storeConformance({ describe, test }, () => new SqliteStore(':memory:', { cacheBytes: 0 }), {
    seed: SEED,
    effort: KIT_EFFORT,
  });
});
