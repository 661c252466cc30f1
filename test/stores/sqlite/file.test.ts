import Database from 'better-sqlite3';
import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { SqliteStore } from '../../../src/sqlite.js';
import type { Criteria } from '../../../src/store.js';
import { createRandom, idsOf, keyOf, put, putAll, queryOf, randomResources, resourceOf } from '../../support/kit.js';
import { SCHEMA_VERSION } from '../../../src/stores/sqlite/schema/prepare-schema.js';
import { INDEX_VERSION } from '../../../src/search/index/parameter-fingerprints.js';
import { temporaryFolder } from '../temporary-folder.js';

const fileNamed = temporaryFolder();
const MALE: Criteria = { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'male' } };

describe('a file', () => {
  test('keeps everything when it is opened again: content, index, versions, unique texts', async () => {
    const file = fileNamed('reopened.db');
    const first = new SqliteStore(file);
    await first.commit([put(resourceOf('Patient', 'a', { gender: 'male' }), { unique: ['x'] })]);
    await first.close();
    const second = new SqliteStore(file);
    expect(await idsOf(second, queryOf('Patient', MALE))).toEqual(['a']);
    await expect(second.commit([put(resourceOf('Patient', 'b'), { unique: ['x'] })])).rejects.toMatchObject({
      code: 'conflict',
    });
    const [result] = await putAll(second, resourceOf('Patient', 'a'));
    expect(result).toMatchObject({ created: false, versionId: '2' });
    await second.close();
  });

  test('is synced before a commit resolves', async () => {
    const file = fileNamed('durable.db');
    const store = new SqliteStore(file);
    await putAll(store, resourceOf('Patient', 'a'));
    // The state that a killed process leaves: the current file and its log.
    copyFileSync(file, fileNamed('killed.db'));
    copyFileSync(`${file}-wal`, fileNamed('killed.db-wal'));
    const survivor = new SqliteStore(fileNamed('killed.db'));
    expect(await idsOf(survivor, queryOf('Patient'))).toEqual(['a']);
    await Promise.all([store.close(), survivor.close()]);
  });

  test('can have two connections, each of which sees the commits of the other', async () => {
    const file = fileNamed('shared.db');
    const [one, two] = [new SqliteStore(file), new SqliteStore(file)];
    expect(await idsOf(two, queryOf('Patient', MALE))).toEqual([]);
    await putAll(one, resourceOf('Patient', 'a', { gender: 'male' }));
    expect(await idsOf(two, queryOf('Patient', MALE))).toEqual(['a']);
    // Often enough for the cache of resources to hold it.
    for (let n = 0; n < 3; n++) await two.read([keyOf('Patient', 'a')]);
    await putAll(one, resourceOf('Patient', 'a', { gender: 'female' }));
    expect(await two.read([keyOf('Patient', 'a')])).toMatchObject([{ versionId: '2', resource: { gender: 'female' } }]);
    expect(await idsOf(two, queryOf('Patient', MALE))).toEqual([]);
    await putAll(two, resourceOf('Observation', 'o', { subject: { reference: 'Patient/a' } }));
    const pages = await one.searchByReference(queryOf('Observation'), 'subject', [{ type: 'Patient', id: 'a' }]);
    expect(pages.map(({ matches }) => matches.length)).toEqual([1]);
    await Promise.all([one.close(), two.close()]);
  });

  test('does not use numbers that a rolled back commit assigned', async () => {
    const file = fileNamed('rollback.db');
    const [one, two] = [new SqliteStore(file), new SqliteStore(file)];
    const failing = put(resourceOf('Group', 'x'), { expect: { version: '9' } });
    const coded = resourceOf('Observation', 'o', {
      code: { coding: [{ system: 'urn:one', code: 'c' }] },
      subject: { reference: 'Patient/a' },
    });
    await expect(one.commit([put(coded, {}, 'fresh'), failing])).rejects.toMatchObject({ code: 'precondition-failed' });
    await two.commit([
      put(resourceOf('Condition', 'c', { code: { coding: [{ system: 'urn:two', code: 'c' }] } }), {}, 'other'),
    ]);
    await one.commit([put(coded, {}, 'fresh')]);
    const token = (system: string): Criteria => ({
      kind: 'match',
      parameter: 'code',
      test: { kind: 'token', system, code: 'c' },
    });
    for (const store of [one, two]) {
      expect(await idsOf(store, { ...queryOf('Observation', token('urn:one')), project: 'fresh' })).toEqual(['o']);
      expect(await idsOf(store, { ...queryOf('Condition', token('urn:two')), project: 'other' })).toEqual(['c']);
      expect(await idsOf(store, { ...queryOf('Condition', token('urn:one')), project: 'other' })).toEqual([]);
    }
    expect(await one.verify()).toEqual({ resources: 2, problems: [] });
    await Promise.all([one.close(), two.close()]);
  });

  test('that another connection is writing to is unavailable after the wait, and then works', async () => {
    const file = fileNamed('busy.db');
    const store = new SqliteStore(file, { busyTimeout: 20 });
    const other = new Database(file);
    other.exec('BEGIN IMMEDIATE');
    await expect(putAll(store, resourceOf('Patient', 'a'))).rejects.toMatchObject({ code: 'unavailable' });
    expect(await idsOf(store, queryOf('Patient'))).toEqual([]);
    other.exec('ROLLBACK');
    await putAll(store, resourceOf('Patient', 'a'));
    expect(await idsOf(store, queryOf('Patient'))).toEqual(['a']);
    other.close();
    await store.close();
  });
});

describe('opening', () => {
  test('refuses a file of a newer schema and does not change it', () => {
    const file = fileNamed('newer.db');
    void new SqliteStore(file).close();
    const database = new Database(file);
    database.pragma(`user_version = ${SCHEMA_VERSION + 1}`);
    database.close();
    const before = readFileSync(file);
    expect(() => new SqliteStore(file)).toThrow(
      expect.objectContaining({ code: 'unavailable', message: expect.stringContaining('newer') }),
    );
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test('refuses a database of another application', () => {
    const file = fileNamed('foreign.db');
    const database = new Database(file);
    database.exec('CREATE TABLE resource (a)');
    database.close();
    expect(() => new SqliteStore(file)).toThrow(expect.objectContaining({ code: 'conflict' }));
  });

  test('refuses a file that is not a database', () => {
    const file = fileNamed('text.db');
    writeFileSync(file, 'This is not a database. '.repeat(500));
    expect(() => new SqliteStore(file)).toThrow(expect.objectContaining({ code: 'corrupt' }));
  });

  test('refuses a file in a folder that does not exist', () => {
    for (const file of [fileNamed('no/such/folder.db'), '/nowhere/x.db']) {
      expect(() => new SqliteStore(file)).toThrow(
        expect.objectContaining({
          name: 'FhirError',
          code: 'unavailable',
          message: expect.stringContaining(file) as string,
        }),
      );
    }
  });

  test('refuses options out of their range', () => {
    for (const options of [{ busyTimeout: -1 }, { cacheBytes: 1.5 }, { synchronous: 'maybe' as 'off' }]) {
      expect(() => new SqliteStore(':memory:', options)).toThrow(expect.objectContaining({ code: 'invalid' }));
    }
  });

  test('applies the options', () => {
    for (const [synchronous, value] of [
      ['full', 2],
      ['normal', 1],
      ['off', 0],
    ] as const) {
      const database = new Database(fileNamed(`${synchronous}.db`));
      void new SqliteStore(database, { synchronous, busyTimeout: 123 });
      expect(database.pragma('synchronous', { simple: true })).toBe(value);
      expect(database.pragma('busy_timeout', { simple: true })).toBe(123);
      expect(database.pragma('journal_mode', { simple: true })).toBe('wal');
      database.close();
    }
    const database = new Database(fileNamed('default.db'));
    void new SqliteStore(database);
    expect(database.pragma('synchronous', { simple: true })).toBe(2);
    database.close();
  });

  test('reindexes a file that an older extraction indexed', async () => {
    const file = fileNamed('old-index.db');
    const old = new SqliteStore(file);
    await putAll(old, resourceOf('Patient', 'a', { gender: 'male' }));
    await old.close();
    const database = new Database(file);
    database.exec("DELETE FROM token; UPDATE meta SET value = '0' WHERE name = 'index_version'");
    database.close();
    const store = new SqliteStore(file, { takeOver: true });
    expect(await idsOf(store, queryOf('Patient', MALE))).toEqual(['a']);
    await store.close();
    const after = new Database(file);
    expect(after.prepare("SELECT value FROM meta WHERE name = 'index_version'").pluck().get()).toBe(
      String(INDEX_VERSION),
    );
    after.close();
  });
});

describe("a host's database", () => {
  test('is still open after the store closes', async () => {
    const database = new Database(':memory:');
    const store = new SqliteStore(database);
    await putAll(store, resourceOf('Patient', 'a'));
    await store.close();
    expect(database.open).toBe(true);
    await expect(store.read([])).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('can be backed up during writes: the copy shows one moment', async () => {
    const database = new Database(fileNamed('original.db'));
    const [store, other] = [new SqliteStore(database), new SqliteStore(fileNamed('original.db'))];
    const commit = (writer: SqliteStore, round: number): Promise<unknown> =>
      putAll(
        writer,
        ...['a', 'b'].map((id) => resourceOf('Patient', `${id}${round}`, { language: 'x'.repeat(5_000) })),
      );
    for (let round = 0; round < 40; round++) await commit(store, round);
    let rounds = 40;
    await database.backup(fileNamed('copy.db'), {
      progress: () => {
        void commit(rounds % 2 === 0 ? store : other, rounds);
        rounds += 1;
        return rounds > 60 ? 1_000 : 5;
      },
    });
    const copy = new SqliteStore(fileNamed('copy.db'));
    const ids = await idsOf(copy, queryOf('Patient'));
    expect([ids.length >= 80, ids.length % 2]).toEqual([true, 0]);
    expect(await copy.verify()).toEqual({ resources: ids.length, problems: [] });
    database.close();
    await Promise.all([other.close(), copy.close()]);
  });

  test('that was closed is unavailable', async () => {
    const database = new Database(':memory:');
    const store = new SqliteStore(database);
    database.close();
    await expect(store.read([])).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('with an open transaction accepts no commit, and keeps its transaction', async () => {
    const database = new Database(':memory:');
    const store = new SqliteStore(database);
    database.exec('BEGIN');
    await expect(putAll(store, resourceOf('Patient', 'a'))).rejects.toMatchObject({ code: 'unavailable' });
    expect(database.inTransaction).toBe(true);
    database.exec('COMMIT');
    await putAll(store, resourceOf('Patient', 'a'));
  });

  test('that returns big integers works too', async () => {
    const database = new Database(':memory:');
    database.defaultSafeIntegers(true);
    const store = new SqliteStore(database);
    await putAll(store, resourceOf('Patient', 'a', { gender: 'male' }));
    expect(await idsOf(store, queryOf('Patient', MALE))).toEqual(['a']);
    expect(await store.search(queryOf('Patient', MALE, { limit: 0, total: true }))).toEqual({ matches: [], total: 1 });
    await putAll(store, resourceOf('Observation', 'o', { code: { text: 'Blood' } }));
    const blood: Criteria = { kind: 'match', parameter: 'code', test: { kind: 'text', text: 'blood' } };
    expect(await idsOf(store, queryOf('Observation', blood))).toEqual(['o']);
    expect(await store.verify()).toEqual({ resources: 2, problems: [] });
  });

  test('without write permission answers reads and refuses writes', async () => {
    const file = fileNamed('readonly.db');
    const first = new SqliteStore(file);
    await putAll(first, resourceOf('Patient', 'a'));
    await first.close();
    const database = new Database(file, { readonly: true });
    const store = new SqliteStore(database);
    expect(await idsOf(store, queryOf('Patient'))).toEqual(['a']);
    await expect(putAll(store, resourceOf('Patient', 'b'))).rejects.toMatchObject({ code: 'unavailable' });
    database.close();
  });
});

describe('damage', () => {
  test('is reported as corrupt by reads, and by verify', async () => {
    const database = new Database(':memory:');
    const store = new SqliteStore(database);
    await putAll(
      store,
      resourceOf('Patient', 'a'),
      resourceOf('Patient', 'b'),
      resourceOf('Patient', 'c', { gender: 'male' }),
    );
    expect(await store.verify()).toEqual({ resources: 3, problems: [] });
    database.exec(
      `UPDATE version SET text = replace(text, 'a', 'b') WHERE key = 1; UPDATE version SET text = NULL WHERE key = 2;
       DELETE FROM token`,
    );
    for (const id of ['a', 'b']) {
      await expect(store.read([keyOf('Patient', id)])).rejects.toMatchObject({ code: 'corrupt' });
      await expect(store.read([keyOf('Patient', id), keyOf('Patient', 'c')])).rejects.toMatchObject({
        code: 'corrupt',
      });
    }
    const { problems } = await store.verify();
    expect(problems).toEqual([
      'resource: rows that are not as their newest version says: 1',
      'version: damaged rows: 2',
      'Patient/a: The database holds a version that was damaged',
      'Patient/b: The database holds a version that was damaged',
      'Patient/c: its index rows are not what it says',
    ]);
  });

  test.each([
    ['of another resource', "(SELECT content FROM resource WHERE id = 'b')"],
    ['of an older version', '(SELECT min(key) FROM version)'],
  ])('never returns the text %s', async (_name, content) => {
    const database = new Database(':memory:');
    const stores = [new SqliteStore(database), new SqliteStore(database, { cacheBytes: 0 })];
    for (const id of ['a', 'b', 'a']) await putAll(stores[0]!, resourceOf('Patient', id));
    database.exec(`UPDATE resource SET content = ${content} WHERE id = 'a'`);
    for (const store of stores) {
      await expect(store.read([keyOf('Patient', 'a')])).rejects.toMatchObject({ code: 'corrupt' });
      await expect(store.read([keyOf('Patient', 'b'), keyOf('Patient', 'a')])).rejects.toMatchObject({
        code: 'corrupt',
      });
      expect((await store.verify()).problems).not.toEqual([]);
    }
  });

  test.each(['ALTER TABLE version RENAME COLUMN text TO texs', 'ALTER TABLE token RENAME TO tokem'])(
    'of the schema is corrupt: %s',
    async (change) => {
      const file = fileNamed(`${change}.db`);
      const store = new SqliteStore(file);
      await putAll(store, resourceOf('Patient', 'a', { gender: 'male' }));
      await store.close();
      const database = new Database(file);
      database.exec(change);
      const damaged = new SqliteStore(database);
      await expect(putAll(damaged, resourceOf('Patient', 'b', { gender: 'male' }))).rejects.toMatchObject({
        code: 'corrupt',
      });
      expect((await damaged.verify()).problems).not.toEqual([]);
      database.close();
    },
  );

  test('of the index is found by verify and repaired by reindex', async () => {
    const database = new Database(':memory:');
    const store = new SqliteStore(database);
    await store.commit(randomResources(createRandom(7)).map((resource) => put(resource)));
    const { resources } = await store.verify();
    database.exec(`UPDATE string SET folded = 'x' WHERE resource = (SELECT min(resource) FROM string);
      INSERT INTO date VALUES (99999, 1, 0, 0, 1, 2, 3)`);
    expect((await store.verify()).problems.toSorted()).toEqual([
      'Patient/p1: its index rows are not what it says',
      'date: rows of resources that are not there: 1',
    ]);
    expect(await store.reindex()).toBe(resources);
    expect(await store.verify()).toEqual({ resources, problems: [] });
  });

  test('of the file itself is corrupt', async () => {
    const file = fileNamed('damaged.db');
    const store = new SqliteStore(file);
    await putAll(store, ...Array.from({ length: 200 }, (_, n) => resourceOf('Patient', `p${n}`, { gender: 'male' })));
    await store.close();
    const bytes = readFileSync(file);
    bytes.fill(0xa5, 8192);
    writeFileSync(file, bytes);
    const attempt = async (): Promise<unknown> => {
      const damaged = new SqliteStore(file);
      return damaged.search(queryOf('Patient')).finally(() => damaged.close());
    };
    await expect(attempt()).rejects.toMatchObject({ code: 'corrupt' });
    expect(statSync(file).size).toBe(bytes.length);
  });
});
