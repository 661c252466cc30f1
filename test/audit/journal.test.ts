import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { FileAuditJournal, type FileAuditJournalOptions } from '../../src/audit-journal.js';
import {
  type AuditHead,
  type AuditJournal,
  createAuditLog,
  FhirError,
  MemoryStore,
  type ResourceStore,
  verifyAuditLog,
} from '../../src/index.js';
import { SqliteAuditJournal } from '../../src/sqlite.js';
import { RETRY } from '../../src/audit/log/delivery.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { onceTestEnds } from '../support/after-tests.js';
import { storeWith } from '../support/store-with.js';
import { readOf } from './audit-record.js';
import { eventsIn } from './events-in.js';
import { warningsOf } from '../support/warnings.js';

const fileNamed = temporaryFolder();
let files = 0;

const { pauseMs } = RETRY;
beforeAll(() => void (RETRY.pauseMs = 1));
afterAll(() => void (RETRY.pauseMs = pauseMs));

function openJournal(
  file = fileNamed(`${(files += 1)}.db`),
  options?: ConstructorParameters<typeof SqliteAuditJournal>[1],
): SqliteAuditJournal {
  const journal = new SqliteAuditJournal(file, options);
  onceTestEnds(() => journal.close());
  return journal;
}

function openFiles(folder = fileNamed(`${(files += 1)}`), options?: FileAuditJournalOptions): FileAuditJournal {
  const journal = new FileAuditJournal(folder, options);
  onceTestEnds(() => journal.close());
  return journal;
}

/** A store whose commits of events can be made to fail. */
function fickle(inner: ResourceStore): {
  store: ResourceStore;
  commits: number[];
  fail: (code?: 'down' | 'doubt') => void;
} {
  let how: 'down' | 'doubt' | undefined;
  const commits: number[] = [];
  const commit: ResourceStore['commit'] = async (writes, options) => {
    if (how === 'down') throw new FhirError('unavailable', 'down');
    const results = await inner.commit(writes, options);
    commits.push(writes.length);
    if (how === 'doubt') throw new FhirError('unavailable', 'lost', { details: { unknown: true } });
    return results;
  };
  return { store: storeWith(inner, { commit }), commits, fail: (code) => (how = code) };
}

/** For a second log: segments of the same millisecond have either order. */
const later = (): Date => new Date(Date.now() + 1);

async function patientsIn(store: ResourceStore): Promise<readonly string[]> {
  return (await eventsIn(store)).flatMap(({ entity = [] }) => entity[0]?.what?.reference?.split('/')[1] ?? []);
}

afterEach(() => void vi.restoreAllMocks());

/** The log over a journal, and over one whose operations take a turn. */
describe.each([
  ['a file', () => openJournal()],
  ['a file, at once', () => openJournal(undefined, { synchronous: 'normal' })],
  ['a service', () => slow(openJournal())],
  ['files', () => openFiles()],
  ['files, at once', () => openFiles(undefined, { sync: 'interval' })],
] as const)('a log with a journal in %s', (_, open) => {
  test('accepts records while the store is down, and delivers them in groups when it is back', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const inner = new MemoryStore();
    const { store, commits, fail } = fickle(inner);
    const heads: AuditHead[] = [];
    const journal = open();
    const log = createAuditLog({ store, journal, onHead: (head) => void heads.push(head) });
    await log.audit(readOf('a'));
    await log.flush();
    expect(log.head).toEqual(heads.at(-1));
    fail('down');
    await Promise.all(['b', 'c', 'd'].map((id) => log.audit(readOf(id))));
    await log.flush();
    expect(warned).toHaveBeenCalledOnce();
    expect(await patientsIn(inner)).toEqual(['a']);
    expect(await journal.oldest(10)).toHaveLength(3);
    fail();
    commits.length = 0;
    await log.flush();
    expect(commits).toEqual([3]);
    await log.close();
    expect(await patientsIn(inner)).toEqual(['a', 'b', 'c', 'd']);
    expect(await verifyAuditLog({ store: inner, heads })).toMatchObject({ intact: true, segments: [{ closed: true }] });
    expect(await journal.oldest(1)).toEqual([]);
  });

  test('keeps undelivered records for the next process, and delivers them before its own events', async () => {
    vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const inner = new MemoryStore();
    const { store, fail } = fickle(inner);
    const journal = open();
    const first = createAuditLog({ store, journal });
    await first.audit(readOf('a'));
    fail('down');
    await first.audit(readOf('b'));
    await first.close();
    const second = createAuditLog({ store: inner, journal, clock: later });
    await second.audit(readOf('c'));
    await second.close();
    expect(await patientsIn(inner)).toEqual(['a', 'b', 'c']);
    const { intact, segments } = await verifyAuditLog({ store: inner });
    expect([intact, segments.map(({ closed }) => closed)]).toEqual([true, [false, true]]);
  });

  test('delivers no record twice: after a commit in doubt, and after a crash between commit and removal', async () => {
    const inner = new MemoryStore();
    const { store, fail } = fickle(inner);
    const journal = open();
    const drop = vi.spyOn(journal, 'drop').mockImplementation(() => {
      throw new FhirError('unavailable', 'crashed');
    });
    vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const first = createAuditLog({ store, journal });
    await first.audit(readOf('a'));
    await first.close();
    drop.mockRestore();
    fail('doubt');
    const second = createAuditLog({ store, journal, clock: later });
    await second.audit(readOf('b'));
    await second.close();
    expect(await patientsIn(inner)).toEqual(['a', 'b']);
    expect((await verifyAuditLog({ store: inner })).problems).toEqual([]);
  });

  test('a failed journal does not accept the record, and the chain continues', async () => {
    const store = new MemoryStore();
    const journal = open();
    const log = createAuditLog({ store, journal });
    await log.audit(readOf('a'));
    vi.spyOn(journal, 'append').mockImplementationOnce(() => {
      throw new FhirError('unavailable', 'full');
    });
    await expect(log.audit(readOf('b'))).rejects.toMatchObject({ code: 'unavailable' });
    await log.audit(readOf('c'));
    await log.close();
    // A failure may begin another segment, in the same millisecond.
    expect((await patientsIn(store)).toSorted()).toEqual(['a', 'c']);
    expect((await verifyAuditLog({ store })).problems).toEqual([]);
  });
});

test('verification detects an event that was changed in the journal', async () => {
  vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const inner = new MemoryStore();
  const { store, fail } = fickle(inner);
  const journal = openJournal();
  const log = createAuditLog({ store, journal });
  await log.audit(readOf('a'));
  fail('down');
  await log.audit(readOf('ann'));
  await log.close();
  const texts = journal.oldest(10);
  journal.drop(10);
  journal.append(texts.map((text) => text.replaceAll('Patient/ann', 'Patient/bob')));
  const next = createAuditLog({ store: inner, journal });
  await next.close();
  expect((await verifyAuditLog({ store: inner })).problems).toMatchObject([{ kind: 'changed' }]);
});

test.each([
  ['beside itself', (texts: readonly string[]) => texts.flatMap((text) => [text, text])],
  ['later', (texts: readonly string[]) => [...texts, ...texts]],
])('an event that the journal holds twice (%s) is delivered once, and delivery goes on', async (_, doubled) => {
  const inner = new MemoryStore();
  const { store, fail } = fickle(inner);
  const journal = openJournal();
  const log = createAuditLog({ store, journal });
  const warnings = await warningsOf(async () => {
    await log.audit(readOf('a'));
    fail('down');
    await log.audit(readOf('b'));
    await log.audit(readOf('c'));
    await log.close();
  });
  expect(warnings.map(({ code }) => code)).toEqual(['FHIRGRAPH_AUDIT']);
  const texts = journal.oldest(10);
  journal.drop(10);
  journal.append(doubled(texts));
  const next = createAuditLog({ store: inner, journal, clock: later });
  await next.audit(readOf('d'));
  await next.close();
  expect(await patientsIn(inner)).toEqual(['a', 'b', 'c', 'd']);
  expect(journal.oldest(1)).toEqual([]);
  expect((await verifyAuditLog({ store: inner })).problems).toEqual([]);
});

test('a text that is not an event stays in the journal, with a warning', async () => {
  const journal = openJournal();
  journal.append(['{"resourceType":"Patient","id":"x"}']);
  const warnings = await warningsOf(() => createAuditLog({ store: new MemoryStore(), journal }).close());
  expect(warnings).toMatchObject([
    { code: 'FHIRGRAPH_AUDIT', message: expect.stringContaining('not an event') as string },
  ]);
  expect(journal.oldest(2)).toHaveLength(1);
});

test('new interactions wait while the store is far behind the journal, but not for a store that is down', async () => {
  vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const inner = new MemoryStore();
  const { store, fail } = fickle(inner);
  const log = createAuditLog({ store, journal: openJournal(), maxQueued: 10 });
  for (const id of ['a', 'b', 'c', 'd', 'e']) await log.audit(readOf(id));
  expect(log.audit.ready?.()).toBeUndefined();
  await log.audit(readOf('f'));
  const ready = log.audit.ready?.();
  expect(ready).toBeInstanceOf(Promise);
  fail('down');
  await ready;
  expect(log.audit.ready?.()).toBeUndefined();
  await log.close();
});

describe('SqliteAuditJournal', () => {
  const codeOf = (work: () => unknown): unknown => {
    try {
      return work();
    } catch (error) {
      return (error as FhirError).code;
    }
  };

  test('keeps the order of texts when it is opened again, and removes the oldest', () => {
    const file = fileNamed('order.db');
    const first = openJournal(file);
    first.append(['a', 'b']);
    first.append(['c']);
    first.close();
    first.close();
    const second = openJournal(file);
    expect(second.oldest(2)).toEqual(['a', 'b']);
    second.drop(2);
    second.append(['d']);
    expect(second.oldest(10)).toEqual(['c', 'd']);
    expect(codeOf(() => first.append(['e']))).toBe('unavailable');
  });

  test('belongs to one process at a time', () => {
    const file = fileNamed('one.db');
    openJournal(file);
    expect(codeOf(() => new SqliteAuditJournal(file))).toBe('unavailable');
  });

  test('is refused if the file is another database, and in memory', () => {
    const file = fileNamed('other.db');
    const other = new Database(file);
    other.exec('CREATE TABLE other (key)');
    other.close();
    expect(codeOf(() => new SqliteAuditJournal(file))).toBe('conflict');
    expect(codeOf(() => new SqliteAuditJournal(':memory:'))).toBe('invalid');
    expect(codeOf(() => new SqliteAuditJournal(fileNamed('x.db'), { synchronous: 'off' as never }))).toBe('invalid');
  });

  test('refuses events that do not fit, all or none', () => {
    const journal = openJournal(undefined, { maxEntries: 3 });
    journal.append(['a', 'b']);
    expect(codeOf(() => journal.append(['c', 'd']))).toBe('unavailable');
    expect(journal.oldest(10)).toEqual(['a', 'b']);
    journal.drop(10);
    journal.append(['c', 'd', 'e']);
  });

  test('all or none: a text that cannot be stored rolls back its group', () => {
    const journal = openJournal();
    expect(codeOf(() => journal.append(['a', null as never, 'c']))).toBe('conflict');
    expect(journal.oldest(10)).toEqual([]);
  });
});

function slow(journal: SqliteAuditJournal): AuditJournal {
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return {
    append: async (texts) => turn().then(() => journal.append(texts)),
    oldest: async (limit) => turn().then(() => journal.oldest(limit)),
    drop: async (count) => turn().then(() => journal.drop(count)),
  };
}
