import { PGlite } from '@electric-sql/pglite';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AnyResource } from '../../src/index.js';
import { pglitePool, PostgresStore } from '../../src/postgres.js';
import { keyOf, put, resourceOf } from '../support/kit.js';
import { temporaryFolder } from '../stores/temporary-folder.js';

const folderNamed = temporaryFolder();

/** The files of a database that say the word, relative to it. */
function filesSaying(folder: string, word: RegExp): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && word.test(readFileSync(join(entry.parentPath, entry.name), 'latin1')))
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length));
}

async function fileOf(database: PGlite, table: string): Promise<string> {
  const { rows } = await database.query<{ path: string }>(`SELECT '/' || pg_relation_filepath('${table}') AS path`);
  return rows[0]!.path;
}

function secret(version: number): AnyResource {
  return resourceOf('Patient', 'a', {
    name: [{ family: `Zyzzyva${version}` }],
    identifier: [{ system: 'urn:zyzzyva', value: 'zyzzyva' }],
  });
}

test('after VACUUM FULL only the write-ahead log has bytes of an erased resource', async () => {
  const folder = folderNamed('data');
  const database = await PGlite.create(folder);
  const store = new PostgresStore(pglitePool(database));
  for (let version = 0; version < 3; version++) await store.commit([put(secret(version))]);
  await store.commit([put(resourceOf('Patient', 'b', { name: [{ family: 'Kept' }] }))]);
  // Statistics have the most common values.
  for (let copy = 0; copy < 30; copy++) await store.commit([put({ ...secret(3), id: `copy-${copy}` })]);
  await database.exec('ANALYZE');
  await database.exec('CHECKPOINT');
  expect(filesSaying(folder, /zyzzyva/i)).toContain(await fileOf(database, 'pg_statistic'));
  expect(filesSaying(folder, /zyzzyva/i).length).toBeGreaterThan(3);
  const ids = ['a', ...Array.from({ length: 30 }, (_, copy) => `copy-${copy}`)];
  await store.commit(ids.map((id) => ({ kind: 'erase', key: keyOf('Patient', id), reason: 'other' })));
  await store.removal.scrub();
  await store.vacuum({ full: true });
  await database.exec('CHECKPOINT');
  expect(filesSaying(folder, /zyzzyva/i).filter((file) => !file.startsWith('/pg_wal/'))).toEqual([]);
  expect((await store.verify()).problems).toEqual([]);
  await store.close();
  await database.close();
}, 60_000);
