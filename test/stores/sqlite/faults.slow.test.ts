import Database from 'better-sqlite3';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { FhirError } from '../../../src/index.js';
import { SqliteStore } from '../../../src/sqlite.js';
import { idsOf, keyOf, put, putAll, queryOf, resourceOf } from '../../support/kit.js';
import { temporaryFolder } from '../temporary-folder.js';

const fileNamed = temporaryFolder();
const unavailable = { name: 'FhirError', code: 'unavailable' };

let made: string | undefined;

/** A closed file with 200 Patients. */
async function filled(file: string): Promise<string> {
  if (made === undefined) {
    made = fileNamed('filled.db');
    const store = new SqliteStore(made);
    await putAll(store, ...Array.from({ length: 200 }, (_, n) => patient(n)));
    await store.close();
  }
  copyFileSync(made, file);
  return file;
}

function patient(number: number): ReturnType<typeof resourceOf> {
  return resourceOf('Patient', `p${1000 + number}`, { gender: 'male', name: [{ family: 'x'.repeat(500) }] });
}

async function expectWhole(store: SqliteStore, patients: number): Promise<void> {
  expect(await idsOf(store, queryOf('Patient'))).toHaveLength(patients);
  expect(await store.verify()).toEqual({ resources: patients, problems: [] });
}

describe('a full disk', () => {
  test('refuses the commit, keeps all data, and accepts the same commit when there is space again', async () => {
    const database = new Database(await filled(fileNamed('full.db')));
    const store = new SqliteStore(database);
    database.pragma(`max_page_count = ${Number(database.pragma('page_count', { simple: true })) + 2}`);
    const many = Array.from({ length: 100 }, (_, n) => patient(200 + n));
    for (let attempt = 1; attempt <= 3; attempt++) {
      await expect(putAll(store, ...many)).rejects.toMatchObject({ ...unavailable, message: /full/ });
      expect(database.inTransaction).toBe(false);
    }
    await expectWhole(store, 200);
    // Calls that need no space continue.
    await store.commit([{ kind: 'delete', key: keyOf('Patient', 'p1000') }]);
    database.pragma('max_page_count = 1000000');
    await putAll(store, ...many);
    await expectWhole(store, 299);
    database.close();
  });

  test('refuses to reindex, and leaves the index unchanged', async () => {
    const database = new Database(await filled(fileNamed('full-reindex.db')));
    const store = new SqliteStore(database);
    // Damage that reindex would mend with more rows than there is room for.
    database.exec('DELETE FROM token; DELETE FROM string; VACUUM');
    database.pragma(`max_page_count = ${Number(database.pragma('page_count', { simple: true }))}`);
    await expect(store.reindex()).rejects.toMatchObject(unavailable);
    expect(database.prepare('SELECT count(*) FROM string').pluck().get()).toBe(0);
    database.pragma('max_page_count = 1000000');
    expect(await store.reindex()).toBe(200);
    await expectWhole(store, 200);
    database.close();
  });
});

describe('a disk that fails at COMMIT', () => {
  const withCommit = (code: string): SqliteStore => {
    const database = new Database(':memory:');
    const exec = database.exec.bind(database);
    let failing = false;
    database.exec = (text) => {
      if (failing && text === 'COMMIT') throw Object.assign(new Error(code), { code });
      return exec(text);
    };
    const store = new SqliteStore(database);
    failing = true;
    return store;
  };
  test.each([
    ['SQLITE_IOERR_FSYNC', true],
    ['SQLITE_FULL', undefined],
    ['SQLITE_BUSY', undefined],
  ])('with %s: unavailable, unknown: %s', async (code, unknown) => {
    const store = withCommit(code);
    const error: unknown = await putAll(store, patient(1)).catch((reason: unknown) => reason);
    expect(error).toMatchObject(unavailable);
    expect((error as FhirError).details?.['unknown']).toBe(unknown);
    expect(await idsOf(store, queryOf('Patient'))).toEqual([]);
  });
});

describe('a file without write permission', () => {
  const folder = join(dirname(fileNamed('x')), 'guarded');
  const root = process.geteuid?.() === 0;

  /** File permissions do not bind the superuser, so another user runs this. The store does its work before it returns. */
  function asNobody<Result>(action: () => Result): Result {
    if (root) process.seteuid!(65534);
    try {
      return action();
    } finally {
      if (root) process.seteuid!(0);
    }
  }

  afterEach(() => {
    if (existsSync(folder)) chmodSync(folder, 0o777);
    rmSync(folder, { recursive: true, force: true });
  });

  async function guardedFile(): Promise<string> {
    mkdirSync(folder);
    chmodSync(dirname(folder), 0o755);
    chmodSync(folder, 0o777);
    return filled(join(folder, 'store.db'));
  }

  test.each([
    ['the file', 0o444, 0o777],
    ['the file and its folder', 0o444, 0o555],
    ['the folder', 0o666, 0o555],
    ['the file, which may not be read either', 0o000, 0o777],
  ])('%s: unavailable at the latest at the first write; nothing changes', async (_name, fileMode, folderMode) => {
    const file = await guardedFile();
    const before = readFileSync(file);
    chmodSync(file, fileMode);
    chmodSync(folder, folderMode);
    const attempt = async (): Promise<void> => {
      const store = asNobody(() => new SqliteStore(file));
      try {
        await asNobody(() => putAll(store, patient(900)));
      } finally {
        asNobody(() => void store.close());
      }
    };
    await expect(attempt()).rejects.toMatchObject(unavailable);
    expect(readFileSync(file).equals(before)).toBe(true);
    chmodSync(folder, 0o777);
    chmodSync(file, 0o666);
    const store = new SqliteStore(file);
    await putAll(store, patient(200));
    await expectWhole(store, 201);
    await store.close();
  });

  test('a file without read permission is unavailable, with its path', async () => {
    const file = await guardedFile();
    chmodSync(file, 0o000);
    expect(() => asNobody(() => new SqliteStore(file))).toThrow(
      expect.objectContaining({ ...unavailable, message: `The database file cannot be opened: ${file}` }),
    );
    chmodSync(file, 0o666);
  });

  test('a new file in a folder without write permission is unavailable', async () => {
    await guardedFile();
    chmodSync(folder, 0o555);
    const file = join(folder, 'new.db');
    expect(() => asNobody(() => new SqliteStore(file))).toThrow(
      expect.objectContaining({ ...unavailable, message: `The database file cannot be opened: ${file}` }),
    );
  });

  test.each([
    ['a folder', '.', 'unavailable', 'The database file is a folder'],
    ['a folder that is missing', 'no/where/x.db', 'unavailable', 'The folder of the database file does not exist'],
    ['a folder that is a file', 'text/x.db', 'unavailable', 'The database file cannot be opened'],
    ['a text', 'text', 'corrupt', 'The file is not an SQLite database'],
    ['a text of one letter', 'letter', 'corrupt', 'The file is not an SQLite database'],
    [
      "another program's database",
      'other.db',
      'conflict',
      'The SQLite database belongs to another application; name a file of its own',
    ],
    ['a name with U+0000', 'x\0.db', 'invalid', 'A database needs the name of a file, or :memory: to live in memory'],
  ])('%s in place of the file is reported with its path, and not changed', (_, name, code, message) => {
    mkdirSync(folder);
    writeFileSync(join(folder, 'text'), 'some text\n'.repeat(200));
    writeFileSync(join(folder, 'letter'), 'x');
    const other = new Database(join(folder, 'other.db'));
    other.exec('CREATE TABLE patients (name text)');
    other.close();
    const contents = (): unknown => readdirSync(folder).map((one) => [one, readFileSync(join(folder, one), 'latin1')]);
    const before = contents();
    const path = name === '.' ? folder : `${folder}/${name}`;
    expect(() => new SqliteStore(path)).toThrow(
      expect.objectContaining({ code, message: `${message}: ${path}`, details: { path } }),
    );
    expect(contents()).toEqual(before);
  });

  test.each(['', ' '])('a missing name (%j) is refused, because its data would end with the process', (name) => {
    expect(() => new SqliteStore(name)).toThrow(expect.objectContaining({ code: 'invalid' }));
  });
});

describe('a locked file', () => {
  test('is unavailable to readers and writers while another process holds it exclusively, and then works for both', async () => {
    const file = await filled(fileNamed('alone.db'));
    const other = new Database(file);
    other.pragma('locking_mode = EXCLUSIVE');
    other.exec('BEGIN IMMEDIATE; COMMIT');
    expect(() => new SqliteStore(file, { busyTimeout: 10 })).toThrow(expect.objectContaining(unavailable));
    other.close();
    const store = new SqliteStore(file, { busyTimeout: 10 });
    await putAll(store, patient(200));
    await expectWhole(store, 201);
    await store.close();
  });

  test('refuses a writer, never a reader, while another process writes', async () => {
    const file = await filled(fileNamed('writing.db'));
    const store = new SqliteStore(file, { busyTimeout: 10 });
    const other = new Database(file);
    other.exec("BEGIN IMMEDIATE; UPDATE version SET text = 'half'");
    await expect(putAll(store, patient(200))).rejects.toMatchObject(unavailable);
    await expectWhole(store, 200);
    await expect(store.reindex()).rejects.toMatchObject(unavailable);
    expect(await idsOf(store, queryOf('Patient'))).toHaveLength(200);
    other.close();
    await expectWhole(store, 200);
    await store.close();
  });
});

describe('a file that is not a store', () => {
  test('empty: it becomes a store', async () => {
    const file = fileNamed('empty.db');
    writeFileSync(file, '');
    const store = new SqliteStore(file);
    await putAll(store, patient(0));
    await expectWhole(store, 1);
    await store.close();
  });

  test.each([
    [
      'a damaged header',
      (file: string) => writeFileSync(file, overwrite(readFileSync(file), 0, Buffer.alloc(100, 0xa5))),
    ],
    ['no header', (file: string) => writeFileSync(file, readFileSync(file).subarray(100))],
    [
      'a page size that is none',
      (file: string) => writeFileSync(file, overwrite(readFileSync(file), 16, Buffer.from([3, 3]))),
    ],
    ['a cut header', (file: string) => truncateSync(file, 60)],
  ])('with %s: corrupt, and not changed', async (name, damage) => {
    const file = await filled(fileNamed(`${name}.db`));
    damage(file);
    const before = readFileSync(file);
    expect(() => new SqliteStore(file)).toThrow(expect.objectContaining({ name: 'FhirError', code: 'corrupt' }));
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  function overwrite(bytes: Buffer, offset: number, by: Buffer): Buffer {
    by.copy(bytes, offset);
    return bytes;
  }
});

describe('a log that was cut or changed', () => {
  test('ends after some commit: never within one, never with a later one', async () => {
    const file = fileNamed('log.db');
    const store = new SqliteStore(file);
    const names = Array.from({ length: 12 }, (_, n) => `c${String(n).padStart(2, '0')}`);
    for (const name of names) {
      await store.commit(
        Array.from({ length: 5 }, (_, n) => put(resourceOf('Patient', `${name}-${n}`, { gender: 'male' }))),
      );
    }
    const log = readFileSync(`${file}-wal`);
    let [fewer, all] = [0, 0];
    for (let part = 1; part <= 24; part++) {
      const copy = fileNamed(`log-${part}.db`);
      copyFileSync(file, copy);
      const at = Math.floor((log.length * part) / 25);
      const damaged = part % 2 === 0 ? log.subarray(0, at) : Buffer.from(log);
      if (part % 2 === 1) damaged[at]! ^= 1;
      writeFileSync(`${copy}-wal`, damaged);
      const survivor = new SqliteStore(copy);
      const ids = await idsOf(survivor, queryOf('Patient'));
      const expected = names.flatMap((name) => [0, 1, 2, 3, 4].map((n) => `${name}-${n}`)).slice(0, ids.length);
      expect([ids, ids.length % 5]).toEqual([expected, 0]);
      expect((await survivor.verify()).problems).toEqual([]);
      if (ids.length < 60) fewer += 1;
      else all += 1;
      await survivor.close();
    }
    expect([fewer > 10, fewer + all]).toEqual([true, 24]);
    await store.close();
  });
});
