import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { SqliteStore } from '../../src/stores/sqlite/store.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { inspect, MARK } from './inspection.js';

const fileNamed = temporaryFolder();

test.each(['store', 'journal'])(
  'an inspection, records taken by the %s: the audit alone tells who saw which patient and why, and nothing erased remains',
  async (takenBy) => {
    const file = fileNamed(`${takenBy}.db`);
    const store = new SqliteStore(file);
    const assertGone = (): void => {
      const files = ['', '-wal', '-shm'].map((end) => file + end).filter((one) => existsSync(one));
      expect(files.filter((one) => readFileSync(one, 'latin1').includes(MARK))).toEqual([]);
    };
    await inspect(store, { assertGone, ...(takenBy === 'journal' ? { journal: fileNamed('journal-of.db') } : {}) });
    await store.close();
    assertGone();
  },
);
