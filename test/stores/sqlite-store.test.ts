import { describe, test } from 'vitest';
import { SqliteStore } from '../../src/stores/sqlite/store.js';
import { storeConformance } from '../../src/testing/store-conformance.js';
import { temporaryFolder } from './temporary-folder.js';
import { KIT_EFFORT, SEED } from '../support/chance.js';

const fileNamed = temporaryFolder();
let files = 0;

describe('a file', () => {
  storeConformance({ describe, test }, () => new SqliteStore(fileNamed(`${files++}.db`)), {
    seed: SEED,
    effort: KIT_EFFORT,
  });
});

describe('without a cache of resources', () => {
  storeConformance({ describe, test }, () => new SqliteStore(':memory:', { cacheBytes: 0 }), {
    seed: SEED,
    effort: KIT_EFFORT,
  });
});
