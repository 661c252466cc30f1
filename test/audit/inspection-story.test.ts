import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { FileAuditJournal } from '../../src/audit-journal.js';
import { SqliteAuditJournal, SqliteStore } from '../../src/sqlite.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { inspect, MARK } from './inspection.js';

const fileNamed = temporaryFolder();

const journals = {
  store: () => undefined,
  journal: () => new SqliteAuditJournal(fileNamed('journal-of.db'), { synchronous: 'normal' }),
  files: () => new FileAuditJournal(fileNamed('journal-files'), { sync: 'interval' }),
};

test.each(['store', 'journal', 'files'] as const)(
  'an inspection, with records in the %s: the audit alone shows who saw which patient and why, and no erased data remain',
  async (takenBy) => {
    const file = fileNamed(`${takenBy}.db`);
    const store = new SqliteStore(file);
    // The files of the journals, too.
    const assertGone = (): void => {
      const files = readdirSync(dirname(file), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name));
      expect(files).toContain(file);
      expect(files.filter((one) => readFileSync(one, 'latin1').includes(MARK))).toEqual([]);
    };
    await inspect(store, { assertGone, journal: journals[takenBy]() });
    await store.close();
    assertGone();
  },
);
