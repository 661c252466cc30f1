import Database from 'better-sqlite3';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { THREAD_TUNING } from '../../../src/stores/sqlite/database/tuning.js';
import { SqliteStore } from '../../../src/sqlite.js';
import { idsOf, keyOf, put, putAll, queryOf, resourceOf } from '../../support/kit.js';
import { temporaryFolder } from '../temporary-folder.js';

const fileNamed = temporaryFolder();
const TUNING = { ...THREAD_TUNING };
const open: { close(): unknown }[] = [];

afterEach(async () => {
  Object.assign(THREAD_TUNING, TUNING);
  for (const one of open.splice(0)) await one.close();
});

function opened<Value extends { close(): unknown }>(value: Value): Value {
  open.push(value);
  return value;
}

/** Ids of the Patients in a copy, which must be sound. */
async function patientsIn(file: string): Promise<readonly string[]> {
  const copy = opened(new SqliteStore(file));
  const ids = (await idsOf(copy, queryOf('Patient'))).map(String);
  expect(await copy.verify()).toEqual({ resources: ids.length, problems: [] });
  return ids;
}

const partialsBeside = (file: string): readonly string[] =>
  readdirSync(dirname(file)).filter((name) => name.includes('.partial'));

const besideOf = (file: string, name: string): string => join(dirname(file), name);

describe('a backup', () => {
  test.each([
    ['in the event loop', () => opened(new SqliteStore(fileNamed('loop.db')))],
    [
      'in a thread',
      () => {
        Object.assign(THREAD_TUNING, { smallFile: 0 });
        return opened(new SqliteStore(fileNamed('thread.db')));
      },
    ],
    ['of a database in memory', () => opened(new SqliteStore(':memory:'))],
    ['of a database that the host opened', () => new SqliteStore(opened(new Database(fileNamed('host.db'))))],
    ['of a database of node:sqlite', () => new SqliteStore(opened(new DatabaseSync(fileNamed('node.db'))))],
  ])('%s has everything, and is a store', async (name, create) => {
    const store = create();
    await store.commit([put(resourceOf('Patient', 'b'), { unique: ['x'] })]);
    await putAll(store, resourceOf('Patient', 'a', { gender: 'male' }));
    await putAll(store, resourceOf('Patient', 'a', { gender: 'female' }));
    const file = fileNamed(`copy ${name}.db`);
    await store.backup(file);
    expect(await patientsIn(file)).toEqual(['a', 'b']);
    const copy = opened(new SqliteStore(file));
    expect((await copy.history(keyOf('Patient', 'a'), { offset: 0, limit: 9 })).total).toBe(2);
    await expect(copy.commit([put(resourceOf('Patient', 'c'), { unique: ['x'] })])).rejects.toMatchObject({
      code: 'conflict',
    });
    await putAll(copy, resourceOf('Patient', 'd'));
    expect(await idsOf(store, queryOf('Patient'))).toEqual(['a', 'b']);
  });

  test('ends beside steady writes of this and another connection, and shows one moment', async () => {
    Object.assign(THREAD_TUNING, { smallFile: 0 });
    const file = fileNamed('busy.db');
    const stores = [opened(new SqliteStore(file)), opened(new SqliteStore(file))];
    const commit = (round: number): Promise<unknown> =>
      putAll(
        stores[round % 2]!,
        ...['a', 'b'].map((id) => resourceOf('Patient', `${id}${round}`, { language: 'x'.repeat(5_000) })),
      );
    for (let round = 0; round < 40; round++) await commit(round);
    let done = false;
    let rounds = 40;
    const writing = (async () => {
      while (!done) await commit(rounds++);
    })();
    const copy = fileNamed('busy copy.db');
    try {
      await stores[0]!.backup(copy);
    } finally {
      done = true;
      await writing;
    }
    const ids = await patientsIn(copy);
    expect([ids.length >= 80, ids.length % 2]).toEqual([true, 0]);
    for (const id of ids) expect(ids).toContain(`${id.startsWith('a') ? 'b' : 'a'}${id.slice(1)}`);
    expect(rounds).toBeGreaterThan(40);
  });

  test('contains nothing of an erased resource, although the original does before it is scrubbed', async () => {
    const file = fileNamed('erased.db');
    const store = opened(new SqliteStore(file));
    await putAll(store, resourceOf('Patient', 'a', { name: [{ family: 'Wachholder' }] }), resourceOf('Patient', 'b'));
    await store.commit([{ kind: 'erase', key: keyOf('Patient', 'a'), reason: 'request' }]);
    expect(readFileSync(file).includes('Wachholder') || readFileSync(`${file}-wal`).includes('Wachholder')).toBe(true);
    const copy = fileNamed('erased copy.db');
    await store.backup(copy);
    expect(readFileSync(copy).includes('Wachholder')).toBe(false);
    expect(await patientsIn(copy)).toEqual(['b']);
  });

  test('has the permissions of the original', async () => {
    const file = fileNamed('private.db');
    const store = opened(new SqliteStore(file));
    for (const mode of [0o600, 0o640]) {
      chmodSync(file, mode);
      const copy = fileNamed(`private ${mode}.db`);
      await store.backup(copy);
      expect(statSync(copy).mode & 0o777).toBe(mode);
    }
  });
});

describe('a backup is refused, and leaves no file,', () => {
  test('if the file exists, which is not changed', async () => {
    const store = opened(new SqliteStore(':memory:'));
    const file = fileNamed('taken.db');
    writeFileSync(file, 'mine');
    await expect(store.backup(file)).rejects.toMatchObject({ code: 'conflict', details: { path: file } });
    expect(readFileSync(file, 'utf8')).toBe('mine');
    expect(partialsBeside(file)).toEqual([]);
  });

  test('if the folder does not exist', async () => {
    const store = opened(new SqliteStore(':memory:'));
    const file = fileNamed('missing/copy.db');
    await expect(store.backup(file)).rejects.toMatchObject({
      code: 'unavailable',
      message: `The folder of the backup does not exist: ${file}`,
      details: { path: file },
    });
  });

  test.each(['', ' ', ':memory:', 'a\0b'])('with the name %j', async (name) => {
    await expect(opened(new SqliteStore(':memory:')).backup(name)).rejects.toMatchObject({ code: 'invalid' });
  });

  test('if the host has an open transaction', async () => {
    const database = opened(new Database(':memory:'));
    const store = new SqliteStore(database);
    database.exec('BEGIN');
    const file = fileNamed('transaction.db');
    await expect(store.backup(file)).rejects.toMatchObject({ code: 'unavailable' });
    expect([database.inTransaction, existsSync(file), partialsBeside(file)]).toEqual([true, false, []]);
  });

  test('after the store was closed', async () => {
    const store = new SqliteStore(':memory:');
    await store.close();
    await expect(store.backup(fileNamed('closed.db'))).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('if its deadline passes while SQLite writes it', async () => {
    const store = opened(new SqliteStore(opened(new Database(fileNamed('slow.db')))));
    await putAll(store, resourceOf('Patient', 'a'));
    const file = fileNamed('late.db');
    const deadline = performance.now() + 60_000;
    const { now } = performance;
    // The clock passes the deadline as soon as there is a file.
    performance.now = () => now.call(performance) + (partialsBeside(file).length > 0 ? 120_000 : 0);
    try {
      await expect(store.backup(file, { deadline })).rejects.toMatchObject({ code: 'aborted' });
    } finally {
      performance.now = now;
    }
    expect([existsSync(file), partialsBeside(file)]).toEqual([false, []]);
  });

  test('if it is aborted while its thread works, and the thread is abandoned', async () => {
    Object.assign(THREAD_TUNING, { smallFile: 0 });
    const store = opened(new SqliteStore(fileNamed('aborted.db'), { readers: 1, synchronous: 'off' }));
    const language = 'x'.repeat(60_000);
    await store.commit(Array.from({ length: 1_500 }, (_, n) => put(resourceOf('Patient', `p${n}`, { language }))));
    const controller = new AbortController();
    const file = fileNamed('aborted copy.db');
    const copying = store.backup(file, { signal: controller.signal });
    const written = (): number =>
      partialsBeside(file)
        .flatMap((one) => readdirSync(besideOf(file, one), { withFileTypes: true }))
        .reduce((all, one) => all + statSync(join(one.parentPath, one.name)).size, 0);
    // A process that is killed now leaves nothing but this folder: SQLite has its journal in it, too.
    while (written() === 0) await nextTurn();
    expect(partialsBeside(file)).toEqual([expect.stringMatching(/^aborted copy\.db\.[0-9a-f]{8}\.partial$/)]);
    controller.abort();
    await expect(copying).rejects.toMatchObject({ code: 'aborted' });
    expect([existsSync(file), partialsBeside(file)]).toEqual([false, []]);
    expect(await store.read([keyOf('Patient', 'p1')])).toMatchObject([{ versionId: '1' }]);
  });
});
