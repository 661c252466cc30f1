// A process that records without end until it is killed: `node --import tsx endless-log.ts FILE [JOURNAL [files]]`. It prints the
// heads that it received and, with a journal, the patients of accepted records.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { FileAuditJournal } from '../../src/audit-journal.js';
import { type AuditJournal, createAuditLog } from '../../src/index.js';
import { SqliteAuditJournal, SqliteStore } from '../../src/sqlite.js';
import { readOf } from './audit-record.js';

const [, , file, journalPath, kind] = process.argv;
const store = new SqliteStore(file!, { synchronous: 'off' });
const journal = journalPath === undefined ? undefined : openJournal(journalPath);
let printed: Promise<void> | undefined;
const onHead = (head: object): void => void (printed = print(head));
const log = createAuditLog({ store, gather: 0, journal, ...(journal === undefined ? { onHead } : {}) });
for (let index = 0; ; index += 1) {
  await log.audit(readOf(`p${index}`));
  await (journal === undefined ? printed : print(`Patient/p${index}`));
  await nextTurn();
}

/** Resolves when the line is in the reader's pipe. A kill loses lines that wait for space in the pipe. */
function print(line: unknown): Promise<void> {
  return new Promise((resolve) => process.stdout.write(`${JSON.stringify(line)}\n`, () => resolve()));
}

function openJournal(path: string): AuditJournal {
  if (kind === 'files') return new FileAuditJournal(path, { sync: 'never' });
  return new SqliteAuditJournal(path, { synchronous: 'normal' });
}
