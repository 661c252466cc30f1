import { DatabaseSync } from 'node:sqlite';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { SqliteStore } from 'fhirgraph/sqlite';
import { keyOf, put, resourceOf } from '../../support/kit.js';
import { temporaryFolder } from '../temporary-folder.js';
import { joinedSuite } from './joined-suite.js';

const fileNamed = temporaryFolder();
let files = 0;

describe.each([
  ['better-sqlite3', (file: string) => new Database(file)],
  ['node:sqlite', (file: string) => new DatabaseSync(file)],
])('on the handle of %s', (_, openHandle) => {
  joinedSuite(async () => {
    const database = openHandle(fileNamed(`joined-${files++}.db`));
    const store = new SqliteStore(database);
    database.exec('CREATE TABLE appointment (text TEXT)');
    const run = async (text: string): Promise<void> => void database.exec(text);
    return {
      store,
      begin: async () => {
        database.exec('BEGIN IMMEDIATE');
        return store.join();
      },
      commit: () => run('COMMIT'),
      rollBack: () => run('ROLLBACK'),
      mark: () => run('SAVEPOINT host'),
      undo: () => run('ROLLBACK TO host; RELEASE host'),
      insert: async (text) => void database.prepare('INSERT INTO appointment VALUES (?)').run(text),
      rows: async () =>
        (database.prepare('SELECT text FROM appointment').all() as { text: string }[]).map(({ text }) => text),
      problems: async () => (await store.verify()).problems,
      close: async () => {
        await store.close();
        database.close();
      },
    };
  });
});

test('a store does not join by itself: its own commits wait for the end of the transaction', async () => {
  const database = new Database(fileNamed('alone.db'));
  const store = new SqliteStore(database);
  expect(() => store.join()).toThrow(expect.objectContaining({ code: 'invalid' }) as Error);
  database.exec('BEGIN IMMEDIATE');
  await expect(store.commit([put(resourceOf('Patient', 'ann'))])).rejects.toMatchObject({ code: 'unavailable' });
  const joined = store.join();
  database.exec('ROLLBACK');
  await expect(joined.commit([put(resourceOf('Patient', 'ann'))])).rejects.toMatchObject({ code: 'invalid' });
  await store.commit([put(resourceOf('Patient', 'ann'))]);
  expect((await store.read([keyOf('Patient', 'ann')]))[0]!.status).toBe('found');
  await store.close();
  database.close();
  const own = new SqliteStore(fileNamed('own.db'));
  expect(() => own.join()).toThrow(expect.objectContaining({ code: 'unsupported' }) as Error);
  await own.close();
});
