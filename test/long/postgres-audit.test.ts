import { PGlite } from '@electric-sql/pglite';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FileAuditJournal } from '../../src/audit-journal.js';
import { pglitePool, PostgresStore } from '../../src/postgres.js';
import { inspect, MARK } from '../audit/inspection.js';
import { testLog } from '../audit/log-suite.js';
import { postgresStore } from '../stores/postgres/store.js';
import { temporaryFolder } from '../stores/temporary-folder.js';

describe('the audit log over PostgreSQL', () => testLog(() => postgresStore()));

const fileNamed = temporaryFolder();

test('an inspection over PostgreSQL, with all options', async () => {
  const folder = fileNamed('data');
  const database = await PGlite.create(folder);
  const store = new PostgresStore(pglitePool(database));
  await inspect(store, {
    journal: new FileAuditJournal(fileNamed('journal'), { sync: 'interval' }),
    assertGone: async () => {
      await store.vacuum({ full: true });
      await database.exec('CHECKPOINT');
      const saying = readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(folder.length))
        // The write-ahead log is the operator's to recycle.
        .filter((file) => !file.startsWith('/pg_wal/') && readFileSync(folder + file, 'latin1').includes(MARK));
      expect(saying).toEqual([]);
    },
  });
  await store.close();
  await database.close();
});
