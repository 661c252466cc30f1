// A process that records without end until it is killed: `node --import tsx endless-log.ts FILE [JOURNAL]`. It prints the
// heads that it was told and, with a journal, the patients whose records were taken.

import { createAuditLog } from '../../src/audit/log/create-audit-log.js';
import { SqliteAuditJournal } from '../../src/stores/sqlite/audit-journal.js';
import { SqliteStore } from '../../src/stores/sqlite/store.js';
import { readOf } from './audit-record.js';

const [, , file, journalFile] = process.argv;
const store = new SqliteStore(file!, { synchronous: 'off' });
const journal = journalFile === undefined ? undefined : new SqliteAuditJournal(journalFile, { synchronous: 'normal' });
const onHead = (head: object): void => console.log(JSON.stringify(head));
const log = createAuditLog({ store, gather: 0, journal, ...(journal === undefined ? { onHead } : {}) });
for (let index = 0; ; index += 1) {
  await log.audit(readOf(`p${index}`));
  if (journal !== undefined) console.log(JSON.stringify(`Patient/p${index}`));
}
