import Database from 'better-sqlite3';
import { copyFileSync, rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { SCHEMA_VERSION } from '../../src/stores/sqlite/schema/prepare-schema.js';
import { SqliteStore } from '../../src/sqlite.js';
import { createRandom, put } from '../support/kit.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { SEED } from '../support/chance.js';
import { markedResource } from '../support/crash/transactions.js';
import { runAndKill } from '../support/crash/trials.js';
import { tallyOf } from '../support/long-report.js';
import { copyAsSchema1 } from '../support/sqlite-schema-1.js';

const fileNamed = temporaryFolder();
const tally = tallyOf('killed migrations, SQLite');

test('a killed migration has happened as a whole or not at all', async () => {
  const [present, old, file] = [fileNamed('present.db'), fileNamed('old.db'), fileNamed('killed.db')];
  const store = new SqliteStore(present);
  const count = 10_000;
  for (let start = 0; start < count; start += 1_000) {
    const ids = Array.from({ length: 1_000 }, (_, index) => `o${start + index}`);
    await store.commit(ids.map((id) => put(markedResource({ type: 'Observation', id, mark: 'm' }))));
  }
  await store.close();
  copyAsSchema1(present, old);
  const random = createRandom(SEED);
  const found = { before: 0, after: 0 };
  // A busy machine migrates at a fraction of the speed: kills come about as often before its end as after it.
  let longest = 150;
  for (let kill = 1; kill <= 40; kill++) {
    await tally.trial(async () => {
      tally.addFaults();
      for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
      copyFileSync(old, file);
      await runAndKill(file, 'w', kill, { kind: 'opening', count: 1, milliseconds: random() * longest });
      const version = stateOf(file, count);
      found[version === 1 ? 'before' : 'after'] += 1;
      longest *= version === 1 ? 1.5 : 0.7;
      const reopened = new SqliteStore(file, { takeOver: true });
      expect((await reopened.verify()).problems).toEqual([]);
      await reopened.close();
      expect(stateOf(file, count)).toBe(SCHEMA_VERSION);
    });
  }
  console.log(`killed migrations: ${JSON.stringify(found)}`);
  expect(found.before).toBeGreaterThan(0);
  expect(found.after).toBeGreaterThan(0);
});

/** The schema version, after a check that everything else has that version. */
function stateOf(file: string, count: number): number {
  const database = new Database(file);
  const version = database.pragma('user_version', { simple: true }) as number;
  const columns = database.prepare("SELECT name FROM pragma_table_info('version')").pluck().all();
  expect(columns.includes('sum')).toBe(version === SCHEMA_VERSION);
  const whole = version === 1 ? 'text IS NOT NULL' : 'sum IS NOT NULL';
  const rows = database.prepare(`SELECT count(*) FROM version WHERE ${whole}`).pluck().get();
  expect(rows).toBeGreaterThanOrEqual(count);
  database.close();
  return version;
}
