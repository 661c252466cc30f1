import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { MemoryStore } from '../../src/stores/memory/store.js';
import { SqliteStore } from '../../src/stores/sqlite/store.js';
import { corpusSuite } from './corpus-suite.js';

const folder = mkdtempSync(join(tmpdir(), 'fhirgraph-corpus-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

corpusSuite('MemoryStore', () => new MemoryStore());
corpusSuite('SqliteStore', () => new SqliteStore(join(folder, 'corpus.db'), { synchronous: 'off' }));
