import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { SqliteStore } from '../../../src/sqlite.js';
import { PROJECT, put, queryOf, resourceOf } from '../../support/kit.js';
import { SEED } from '../../support/chance.js';
import { countTogether } from '../../support/crash/count-together.js';
import { readBesideWriter } from '../../support/crash/read-beside.js';
import { until } from '../../support/until.js';
import { temporaryFolder } from '../temporary-folder.js';

const fileNamed = temporaryFolder();

test('two processes that update the same resources by version lose no update', async () => {
  const { overtaken } = await countTogether(fileNamed('two.db'), { processes: 2, times: 60, seed: SEED });
  expect(overtaken).toBeGreaterThan(0);
});

test('a new file opens while another process creates the store in it', async () => {
  let calls = Infinity;
  for (let at = 0; at < calls; at++) {
    const file = fileNamed(`meanwhile-${at}.db`);
    const database = new Database(file);
    let first: SqliteStore | undefined;
    calls = 0;
    const second = new SqliteStore(
      announcing(database, () => {
        if (calls++ === at) first = new SqliteStore(file, { readers: 0 });
      }),
    );
    await second.commit([put(resourceOf('Device', 'd1'))]);
    expect((await first!.search(queryOf('Device'))).matches).toHaveLength(1);
    for (const each of [second, first!, database]) await each.close();
  }
});

test('a reader beside a writing process sees whole commits in every call', async () => {
  expect(await readBesideWriter(fileNamed('beside.db'), 200)).toBeGreaterThanOrEqual(20);
});

test('a current file opens and answers while another process writes', async () => {
  const file = fileNamed('writing.db');
  const first = new SqliteStore(file);
  await first.commit([put(resourceOf('Device', 'd1'))]);
  const writer = new Database(file);
  writer.exec('BEGIN IMMEDIATE');
  const second = new SqliteStore(file, { busyTimeout: 0 });
  const { matches } = await second.search(queryOf('Device'));
  expect(matches.map(({ resource }) => resource.id)).toEqual(['d1']);
  writer.exec('ROLLBACK');
  writer.close();
  await second.close();
  await first.close();
});

test('a file with pending index rows opens while another process writes, and builds them afterwards', async () => {
  const file = fileNamed('pending.db');
  const first = new SqliteStore(file);
  await first.commit([put(resourceOf('Device', 'd1'))]);
  await first.close();
  const writer = new Database(file);
  writer.exec("UPDATE meta SET value = '1' WHERE name = 'index_version'");
  await new SqliteStore(file, { reindex: 'manual', takeOver: true }).close();
  writer.exec('BEGIN IMMEDIATE');
  const second = new SqliteStore(file, { busyTimeout: 0 });
  const pending = (await second.pendingParameters(PROJECT)).length;
  writer.exec('ROLLBACK');
  writer.close();
  expect(pending).toBeGreaterThan(0);
  await until(async () => (await second.pendingParameters(PROJECT)).length === 0);
  await second.close();
});

/** Announces each call outside of a transaction. */
function announcing(database: Database.Database, announce: () => void): Database.Database {
  return new Proxy(database, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...values: unknown[]): unknown => {
        if (!target.inTransaction) announce();
        return Reflect.apply(value, target, values);
      };
    },
  });
}
