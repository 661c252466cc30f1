import { spawnSync } from 'node:child_process';
import { pbkdf2 } from 'node:crypto';
import { appendFileSync, readdirSync, readFileSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test, vi } from 'vitest';
import { FileAuditJournal, type FileAuditJournalOptions } from '../../src/audit-journal.js';
import type { FhirError } from '../../src/index.js';
import { linesOf } from '../../src/audit-journal/journal-file.js';
import { ownerText, ownOwner } from '../../src/audit-journal/journal-folder.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { onceTestEnds } from '../support/after-tests.js';
import { warningsOf } from '../support/warnings.js';

const folderNamed = temporaryFolder();
let folders = 0;
const newFolder = (): string => folderNamed(`${(folders += 1)}`);

function open(folder: string, options: FileAuditJournalOptions = { sync: 'never' }): FileAuditJournal {
  const journal = new FileAuditJournal(folder, options);
  onceTestEnds(() => journal.close());
  return journal;
}

const pathsIn = (folder: string): string[] =>
  readdirSync(folder)
    .sort()
    .map((name) => join(folder, name));

function codeOf(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return (error as FhirError).code;
  }
}

/** A file as another process leaves it. */
function leave(folder: string, texts: readonly string[], owner: string, time = '20260101T000000000'): string {
  const path = join(folder, `${time}-00000000.${owner}.journal`);
  writeFileSync(path, linesOf(texts));
  return path;
}

/** The id of a process that has ended. */
const endedProcess = (): number => spawnSync('true').pid;

afterEach(() => void vi.restoreAllMocks());

test.each(['always', 'interval', 'never'] as const)(
  'sync %s: keeps the order when it is opened again',
  async (sync) => {
    const folder = newFolder();
    const first = open(folder, { sync });
    await first.append(['a', 'ä "\u{1f512}']);
    await first.append(['c']);
    first.close();
    first.close();
    const second = open(folder, { sync });
    expect(second.oldest(2)).toEqual(['a', 'ä "\u{1f512}']);
    second.drop(2);
    await second.append(['d']);
    expect(second.oldest(10)).toEqual(['c']);
    second.drop(1);
    expect(second.oldest(10)).toEqual(['d']);
    second.drop(5);
    expect(second.oldest(10)).toEqual([]);
    expect(codeOf(() => first.append(['e']))).toBe('unavailable');
    expect(codeOf(() => first.oldest(1))).toBe('unavailable');
  },
);

/** Keeps the threads busy that work for files. */
const occupyThreads = (): Promise<unknown> =>
  Promise.all(Array.from({ length: 8 }, () => promisify(pbkdf2)('password', 'salt', 20_000, 32, 'sha256')));

test('a file that closes during a sync does not fail the append', async () => {
  const journal = open(newFolder(), {});
  const busy = occupyThreads();
  const appended = journal.append(['a']);
  journal.close();
  await expect(appended).resolves.toBeUndefined();
  await busy;
});

test('events that are delivered during a sync do not fail their append', async () => {
  const folder = newFolder();
  const journal = open(folder, { fileBytes: 1 });
  const busy = occupyThreads();
  const appended = Promise.all([journal.append(['a']), journal.append(['b'])] as readonly Promise<void>[]);
  expect(journal.oldest(10)).toEqual(['a']);
  journal.drop(1);
  expect(readdirSync(folder)).toHaveLength(1);
  expect(await appended).toEqual([undefined, undefined]);
  await busy;
});

test('an append that does not wait for the disk returns nothing, other appends return a promise', () => {
  expect(open(newFolder(), { sync: 'interval' }).append(['a'])).toBeUndefined();
  expect(open(newFolder(), {}).append(['a'])).toBeInstanceOf(Promise);
});

test('only the user of the process can read the files', () => {
  const folder = newFolder();
  void open(folder).append(['a']);
  expect([folder, ...pathsIn(folder)].map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o600]);
});

test('files are short after delivery, and no file is left after closing', () => {
  const folder = newFolder();
  const journal = open(folder);
  void journal.append(['a', 'b']);
  journal.drop(1);
  expect(statSync(pathsIn(folder)[0]!).size).toBeGreaterThan(0);
  journal.drop(1);
  expect(pathsIn(folder).map((path) => statSync(path).size)).toEqual([0]);
  void journal.append(['c']);
  expect(journal.oldest(5)).toEqual(['c']);
  journal.drop(1);
  journal.close();
  expect(pathsIn(folder)).toEqual([]);
});

test('a new file begins when a file is large, and a delivered file is deleted', () => {
  const folder = newFolder();
  const journal = open(folder, { sync: 'never', fileBytes: 20 });
  for (const text of ['a', 'b', 'c', 'd', 'e']) void journal.append([text]);
  expect(pathsIn(folder)).toHaveLength(3);
  expect(journal.oldest(5)).toEqual(['a', 'b']);
  journal.drop(2);
  expect(pathsIn(folder)).toHaveLength(2);
  journal.drop(3);
  expect(pathsIn(folder)).toHaveLength(1);
  expect(journal.oldest(5)).toEqual([]);
});

test('refuses events that do not fit, all or none', () => {
  const journal = open(newFolder(), { sync: 'never', maxBytes: 33 });
  void journal.append(['a', 'b']);
  expect(codeOf(() => journal.append(['c', 'd']))).toBe('unavailable');
  expect(journal.oldest(5)).toEqual(['a', 'b']);
  void journal.append(['c']);
  expect(codeOf(() => journal.append(['d']))).toBe('unavailable');
  journal.drop(3);
  void journal.append(['d']);
});

test('a line feed in a text is refused, and so are invalid options', () => {
  expect(codeOf(() => open(newFolder()).append(['a\nb']))).toBe('invalid');
  for (const options of [{ sync: 'sometimes' }, { syncEvery: 0 }, { maxBytes: 1.5 }, { fileBytes: -1 }]) {
    expect(codeOf(() => open(newFolder(), options as never))).toBe('invalid');
  }
  const file = newFolder();
  writeFileSync(file, '');
  expect(codeOf(() => open(file))).toBe('unavailable');
});

test('an unfinished line of a process is not delivered', () => {
  const folder = newFolder();
  const first = open(folder);
  void first.append(['a', 'b']);
  first.close();
  appendFileSync(pathsIn(folder)[0]!, linesOf(['torn']).subarray(0, -1));
  const second = open(folder);
  expect(second.oldest(5)).toEqual(['a', 'b']);
  second.drop(2);
  expect(second.oldest(5)).toEqual([]);
  expect(pathsIn(folder)).toEqual([]);
});

test('a changed line is skipped with a warning, and its file is kept', async () => {
  const folder = newFolder();
  const first = open(folder);
  void first.append(['a', 'b', 'c']);
  first.close();
  const [path] = pathsIn(folder);
  const changed = readFileSync(path!, 'latin1').replace(' b\n', ' x\n');
  writeFileSync(path!, changed);
  const second = open(folder);
  const warnings = await warningsOf(() => expect(second.oldest(5)).toEqual(['a', 'c']));
  expect(warnings).toMatchObject([{ code: 'FHIRGRAPH_AUDIT', message: expect.stringContaining('damaged') as string }]);
  second.drop(2);
  expect(pathsIn(folder)).toEqual([expect.stringMatching(/\.journal\.damaged$/)]);
  expect(readFileSync(pathsIn(folder)[0]!, 'latin1')).toBe(changed);
});

test('lines that were cut off while the process runs are reported as missing, and the journal continues', () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const folder = newFolder();
  const journal = open(folder);
  void journal.append(['a']);
  writeFileSync(pathsIn(folder)[0]!, '');
  expect(journal.oldest(5)).toEqual([]);
  expect(warned).toHaveBeenCalledOnce();
  void journal.append(['b']);
  expect(journal.oldest(5)).toEqual(['b']);
});

test('journals of one folder are independent', () => {
  const folder = newFolder();
  const [first, second] = [open(folder), open(folder)];
  void first.append(['a']);
  void second.append(['b']);
  expect([first.oldest(5), second.oldest(5)]).toEqual([['a'], ['b']]);
  first.close();
  const third = open(folder);
  expect(third.oldest(5)).toEqual(['a']);
  expect(second.oldest(5)).toEqual(['b']);
});

test('files of ended processes are taken over once, the oldest first', () => {
  const folder = newFolder();
  open(folder).close();
  const owner = ownerText({ ...ownOwner(), process: endedProcess() });
  leave(folder, ['c'], owner, '20260103T000000000');
  leave(folder, ['a', 'b'], owner);
  const journal = open(folder);
  expect(open(folder).oldest(5)).toEqual([]);
  void journal.append(['d']);
  const texts: string[] = [];
  for (let next = journal.oldest(5); next.length > 0; next = journal.oldest(5)) {
    texts.push(...next);
    journal.drop(next.length);
  }
  expect(texts).toEqual(['a', 'b', 'c', 'd']);
  expect(pathsIn(folder)).toHaveLength(1);
});

test('files of a running process, and of processes that cannot be seen, are not taken over until they are no longer touched', () => {
  const folder = newFolder();
  open(folder).close();
  const paths = [
    leave(folder, ['running'], ownerText({ ...ownOwner(), process: process.ppid }), '20260101T000000000'),
    leave(folder, ['elsewhere'], ownerText({ ...ownOwner(), place: '0123456789ab' }), '20260102T000000000'),
    leave(folder, ['thread'], ownerText({ ...ownOwner(), thread: 99 }), '20260103T000000000'),
  ];
  expect(open(folder).oldest(5)).toEqual([]);
  for (const path of paths) utimesSync(path, new Date(), new Date(Date.now() - 61_000));
  const journal = open(folder);
  expect(journal.oldest(5)).toEqual(['running']);
  journal.drop(1);
  expect(journal.oldest(5)).toEqual(['elsewhere']);
  journal.drop(1);
  expect(journal.oldest(5)).toEqual(['thread']);
});

test('a process that slept until another took over its file continues in a new file', () => {
  const folder = newFolder();
  const sleeper = open(folder);
  void sleeper.append(['a', 'b']);
  expect(sleeper.oldest(1)).toEqual(['a']);
  const [path] = pathsIn(folder);
  const other = ownerText({ ...ownOwner(), process: endedProcess() });
  renameSync(path!, path!.replace(ownerText(ownOwner()), other));
  vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 31_000);
  void sleeper.append(['c']);
  // Of the file that it lost, nothing is dropped.
  sleeper.drop(1);
  expect(sleeper.oldest(5)).toEqual(['c']);
  expect(open(folder).oldest(5)).toEqual(['a', 'b']);
});

test('a file that does not belong to a journal is not touched', () => {
  const folder = newFolder();
  open(folder).close();
  const owner = ownerText({ ...ownOwner(), process: endedProcess() });
  writeFileSync(join(folder, 'notes.txt'), 'x');
  writeFileSync(join(folder, `20260101T000000000-00000000.${owner}.journal.damaged`), 'x');
  const before = pathsIn(folder);
  const journal = open(folder);
  expect(journal.oldest(5)).toEqual([]);
  expect(pathsIn(folder)).toEqual(before);
});
