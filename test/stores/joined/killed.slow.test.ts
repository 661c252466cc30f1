import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { SqliteStore } from 'fhirgraph/sqlite';
import { put, queryOf, resourceOf } from '../../support/kit.js';
import { LOADER } from '../../support/load-typescript.js';
import { temporaryFolder } from '../temporary-folder.js';

const SCRIPT = fileURLToPath(new URL('write-and-wait.ts', import.meta.url));
const fileNamed = temporaryFolder();

test('a process that is killed in a transaction of the host leaves nothing of either side', async () => {
  const file = fileNamed('killed.db');
  const database = new Database(file);
  const store = new SqliteStore(database);
  database.exec('CREATE TABLE appointment (text TEXT)');
  await store.commit([put(resourceOf('Patient', 'ann'))]);
  const child = spawn(process.execPath, ['--import', LOADER, SCRIPT, file], { stdio: ['ignore', 'pipe', 'inherit'] });
  expect(String((await once(child.stdout, 'data'))[0])).toBe('written\n');
  child.kill('SIGKILL');
  await once(child, 'exit');
  const { matches } = await store.search(queryOf('Patient'));
  expect(matches.map(({ resource }) => resource.id)).toEqual(['ann']);
  expect(database.prepare('SELECT text FROM appointment').all()).toEqual([]);
  await store.commit([put(resourceOf('Patient', 'ben'))]);
  expect((await store.verify()).problems).toEqual([]);
  await store.close();
  database.close();
});
