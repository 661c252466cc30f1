import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { FileAuditJournal } from '../../src/audit-journal.js';
import { type AuditHead, createAuditLog, verifyAuditLog } from '../../src/index.js';
import { SqliteAuditJournal, SqliteStore } from '../../src/sqlite.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { LOADER } from '../support/load-typescript.js';
import { readOf } from './audit-record.js';
import { eventsIn } from './events-in.js';

const fileIn = temporaryFolder();
const PROGRAM = fileURLToPath(new URL('endless-log.ts', import.meta.url));

/** Kills the program when it has printed some lines. @returns all lines that it printed */
async function linesOfKilled(count: number, ...files: string[]): Promise<unknown[]> {
  const child = spawn(process.execPath, ['--import', LOADER, PROGRAM, ...files], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: unknown[] = [];
  for await (const line of createInterface(child.stdout)) {
    lines.push(JSON.parse(line));
    if (lines.length === count) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return lines;
}

test('a killed process leaves a chain that verifies, with all acknowledged records, and other processes continue', async () => {
  const file = fileIn('audit.db');
  const heads = (await linesOfKilled(20, file)) as AuditHead[];
  const store = new SqliteStore(file);
  try {
    const killed = await verifyAuditLog({ store, heads });
    expect(killed.problems).toEqual([]);
    expect(killed.segments).toMatchObject([{ segment: heads[0]!.segment, closed: false }]);
    // The last reported commit, and at most one after it.
    expect(killed.segments[0]!.head.sequence - heads.at(-1)!.sequence).toBeLessThanOrEqual(1);
    const next = createAuditLog({ store, gather: 0 });
    await next.audit(readOf('last'));
    await next.close();
    expect(await verifyAuditLog({ store, heads })).toMatchObject({ intact: true, segments: [{}, { closed: true }] });
  } finally {
    await store.close();
  }
});

test.each([
  ['a file', (path: string) => new SqliteAuditJournal(path), []],
  ['files', (path: string) => new FileAuditJournal(path), ['files']],
] as const)(
  'every record that a journal in %s accepted before the process was killed reaches the log when the next process starts',
  async (name, open, more) => {
    const files = [fileIn(`${name}.db`), fileIn(`${name}.journal`)] as const;
    const taken = (await linesOfKilled(500, ...files, ...more)) as string[];
    const store = new SqliteStore(files[0]);
    const journal = open(files[1]);
    try {
      const log = createAuditLog({ store, journal });
      await log.audit(readOf('last'));
      await log.close();
      const patients = (await eventsIn(store)).flatMap(({ entity = [] }) => entity[0]?.what?.reference ?? []);
      // At most one record was in the journal and not reported yet.
      const untold = `Patient/p${taken.length}`;
      expect(patients.filter((one) => one !== untold)).toEqual([...taken, 'Patient/last']);
      expect(await verifyAuditLog({ store })).toMatchObject({
        intact: true,
        segments: [{ closed: false }, { closed: true }],
      });
      expect(journal.oldest(1)).toEqual([]);
    } finally {
      journal.close();
      await store.close();
    }
  },
);
