import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import type { AnyResource } from '../../src/index.js';
import { type NodeSqliteDatabase, SqliteStore } from '../../src/sqlite.js';
import { storeConformance } from '../../src/testing.js';
import { createRandom, put } from '../support/kit.js';
import { assertSearches } from '../../src/testing/suites/random-searches.js';
import { cases, KIT_EFFORT, SEED } from '../support/chance.js';
import { syntheaResources } from './shared-data.js';
import { temporaryFolder } from './temporary-folder.js';

const fileNamed = temporaryFolder();
const KEY = { project: 'clinic', type: 'Patient', id: 'ann' };
const ANN = { resourceType: 'Patient', id: 'ann' };

describe('over node:sqlite', () => {
  storeConformance({ describe, test }, () => new SqliteStore(new DatabaseSync(':memory:')), {
    seed: SEED,
    effort: KIT_EFFORT,
  });

  test(`random searches equal the reference search (seed ${SEED})`, async () => {
    const store = new SqliteStore(new DatabaseSync(':memory:'));
    const current = new Map<string, AnyResource>();
    for (const result of await store.commit(syntheaResources(1).map((resource) => put(resource)))) {
      if (result.kind === 'put') current.set(`${result.resource.resourceType}/${result.resource.id!}`, result.resource);
    }
    await assertSearches(store, 'clinic', [...current.values()], createRandom(SEED), cases(300, 30));
    expect((await store.verify()).problems).toEqual([]);
  });

  test('both drivers can open the same file', async () => {
    const file = fileNamed('both.db');
    const database = new DatabaseSync(file);
    const store = new SqliteStore(database);
    await store.commit([{ kind: 'put', key: KEY, resource: ANN, unique: ['a@example.org'] }]);
    await store.close();
    expect(database.isOpen).toBe(true);
    database.close();

    const other = new SqliteStore(file, { readers: 0 });
    expect((await other.read([KEY]))[0]).toMatchObject({ status: 'found', resource: ANN });
    expect((await other.verify()).problems).toEqual([]);
    await other.close();
  });

  test('errors of SQLite have the same codes as with better-sqlite3', async () => {
    const file = fileNamed('locked.db');
    const [first, second] = [new DatabaseSync(file), new DatabaseSync(file)];
    const store = new SqliteStore(first, { busyTimeout: 0 });
    second.exec('BEGIN IMMEDIATE');
    await expect(store.commit([put(ANN)])).rejects.toMatchObject({ code: 'unavailable' });
    second.exec('ROLLBACK');
    await store.commit([put(ANN)]);
    first.close();
    await expect(store.read([KEY])).rejects.toMatchObject({ code: 'unavailable' });
    second.close();
  });

  test('the error for a version of Node.js without rows as arrays names the reason', () => {
    const database = new DatabaseSync(':memory:');
    const old: NodeSqliteDatabase = {
      isOpen: true,
      isTransaction: false,
      prepare: (text) => {
        const statement = database.prepare(text);
        return {
          run: (...values) => statement.run(...values),
          get: (...values) => statement.get(...values),
          all: (...values) => statement.all(...values),
        };
      },
      exec: (text) => database.exec(text),
      function: (name, options, implementation) => database.function(name, options, implementation),
      close: () => database.close(),
    };
    expect(() => new SqliteStore(old)).toThrow('SqliteStore over node:sqlite needs Node.js 22.16 or newer');
  });

  test.each([
    ['nothing', undefined],
    ['null', null],
    ['a number', 7],
    ['no database', {}],
    ['bun:sqlite, which has no pragma()', { prepare: () => 0, exec: () => 0, function: () => 0, query: () => 0 }],
  ])('%s in place of a database is invalid', (_, database) => {
    const open = (): SqliteStore => new SqliteStore(database as never);
    expect(open).toThrow(
      expect.objectContaining({
        code: 'invalid',
        message: 'SqliteStore takes the name of a file, or an open database of better-sqlite3 or node:sqlite',
      }),
    );
  });
});
