import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import { SqliteStore } from '../../src/stores/sqlite/store.js';
import { storeConformance } from '../../src/testing/store-conformance.js';

const folder = mkdtempSync(join(tmpdir(), 'fhirgraph-sqlite-'));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

describe('a file', () => {
  storeConformance({ describe, test }, () => new SqliteStore(join(folder, `${files++}.db`)));
});

describe('without a cache of resources', () => {
  storeConformance({ describe, test }, () => new SqliteStore(':memory:', { cacheBytes: 0 }));
});
