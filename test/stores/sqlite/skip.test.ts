import Database from 'better-sqlite3';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { R4 } from '../../../src/fhir/r4.js';
import type { Criteria } from '../../../src/search/criteria/criteria.js';
import type { SearchQuery } from '../../../src/store/search-query.js';
import { COUNTING_SETS } from '../../../src/stores/sqlite/search/count-sets.js';
import { Connection } from '../../../src/stores/sqlite/connection.js';
import { TUNING } from '../../../src/stores/sqlite/scans/tuning.js';
import { SKIP_TUNING } from '../../../src/stores/sqlite/rows/skip-row.js';
import { Statements } from '../../../src/stores/sqlite/database/statements.js';
import { SqliteStore } from '../../../src/stores/sqlite/store.js';
import { THREAD_TUNING } from '../../../src/stores/sqlite/database/tuning.js';
import { keyOf, PROJECT } from '../../../src/testing/conformance-case.js';
import { until } from '../../support/until.js';
import { correlatedObservations } from '../correlated-observations.js';
import { temporaryFolder } from '../temporary-folder.js';
import { by, match, write } from '../queries.js';

const DEFAULTS = { ...TUNING };
const COUNTS = { ...COUNTING_SETS };
const [SKIPS, THREADS] = [{ ...SKIP_TUNING }, { ...THREAD_TUNING }];
// Few resources are many granules.
beforeAll(() => void Object.assign(SKIP_TUNING, { granule: 8, minGranules: 4, minHolders: 2, minLoad: 100 }));
afterEach(() => {
  Object.assign(TUNING, DEFAULTS);
  Object.assign(THREAD_TUNING, THREADS);
  const { maxLookedUp, maxTested, maxTied } = SKIPS;
  Object.assign(SKIP_TUNING, { maxLookedUp, maxTested, maxTied });
  vi.restoreAllMocks();
});

function connectionTo(database: Database.Database): Connection {
  return new Connection(R4, database, { cacheBytes: 0, clock: () => new Date(), ownsFile: false });
}

/** Makes all skip indexes. */
function buildAll(database: Database.Database): void {
  const { skipIndexes } = connectionTo(database);
  for (const collection of skipIndexes.listStale()) skipIndexes.write(skipIndexes.build(collection));
}

function countRows(database: Database.Database): number {
  return database.prepare('SELECT count(*) FROM skip').pluck().get() as number;
}

describe('skip indexes', () => {
  async function filled(): Promise<{ readonly database: Database.Database; readonly store: SqliteStore }> {
    const database = new Database(':memory:');
    const store = new SqliteStore(database);
    await write(store, correlatedObservations(200));
    buildAll(database);
    expect(countRows(database)).toBeGreaterThan(20);
    return { database, store };
  }

  test('of another moment are not taken from the cache', async () => {
    const { database, store } = await filled();
    Object.assign(COUNTING_SETS, { minRows: 0 });
    const criteria: Criteria = { kind: 'and', of: [match('status', 'final'), match('code', 'c1')] };
    const query: SearchQuery = { project: PROJECT, type: 'Observation', criteria, limit: 500, total: true };
    const { matches, total } = await store.search(query);
    await store.commit([{ kind: 'erase', key: keyOf('Observation', matches[0]!.resource.id!), reason: 'test' }]);
    buildAll(database);
    expect(countRows(database)).toBeGreaterThan(20);
    expect((await store.search({ ...query, limit: 0 })).total).toBe(total! - 1);
    Object.assign(COUNTING_SETS, COUNTS);
  });

  test('are deleted when a resource of the type is erased, and when the project is removed', async () => {
    const { database, store } = await filled();
    await store.commit([{ kind: 'erase', key: keyOf('Observation', 'o000000'), reason: 'test' }]);
    expect(countRows(database)).toBe(0);
    buildAll(database);
    expect(countRows(database)).toBeGreaterThan(20);
    await store.removal.removeProject(PROJECT);
    expect(countRows(database)).toBe(0);
  });

  test('that were built before an erasure are not written after it', async () => {
    const { database, store } = await filled();
    const { skipIndexes } = connectionTo(database);
    const collection = database.prepare('SELECT collection FROM skip').pluck().get() as number;
    const built = skipIndexes.build(collection);
    await store.commit([{ kind: 'erase', key: keyOf('Observation', 'o000000'), reason: 'test' }]);
    skipIndexes.write(built);
    expect(countRows(database)).toBe(0);
  });

  test('are deleted by reindex()', async () => {
    const { database, store } = await filled();
    await store.reindex();
    expect(countRows(database)).toBe(0);
    buildAll(database);
    await store.reindex({ project: PROJECT });
    expect(countRows(database)).toBe(0);
  });

  test('of other definitions are not used', async () => {
    const { database, store } = await filled();
    const get = vi.spyOn(Statements.prototype, 'get');
    const search = async (): Promise<string> => {
      get.mockClear();
      Object.assign(TUNING, { looks: [Infinity], skipFrom: 0, maxChunk: 16 });
      const query = { project: PROJECT, type: 'Observation', criteria: match('status', 'corrected'), limit: 3 };
      const { matches } = await store.search({ ...query, sort: [by('date', true)] });
      return JSON.stringify([matches.length, get.mock.calls.length]);
    };
    const used = await search();
    database.prepare("UPDATE meta SET value = value + 1 WHERE name = 'index_epoch'").run();
    const unused = await search();
    expect(JSON.parse(used)[0]).toBe(3);
    expect(JSON.parse(unused)[1]).toBeGreaterThan(2 * JSON.parse(used)[1]);
  });

  test('are verified', async () => {
    const { database, store } = await filled();
    expect((await store.verify()).problems).toEqual([]);
    const rows = database
      .prepare("SELECT sort, subject, value, data FROM skip WHERE typeof(data) = 'blob'")
      .raw()
      .all();
    const change = database.prepare('UPDATE skip SET data = ? WHERE sort = ? AND subject = ? AND value = ?');
    const some = rows.filter((_, index) => index % 7 === 0) as [number, number, string | number, Buffer][];
    expect(some.length).toBeGreaterThan(3);
    for (const [sort, subject, value, data] of some) {
      const other = Buffer.from(data);
      other[other.length - 1]! ^= 1;
      change.run(other, sort, subject, value);
      const { problems } = await store.verify();
      expect(problems, `${sort} ${subject} ${value}`).toEqual(['skip: rows that are wrong: 1']);
      change.run(data, sort, subject, value);
    }
  });
});

const inFolder = temporaryFolder();

describe('a store with threads', () => {
  test('builds skip indexes after a load when it closes, and otherwise after a search without them', async () => {
    const file = inFolder('skips.db');
    Object.assign(THREAD_TUNING, { smallFile: 0 });
    const first = new SqliteStore(file);
    await write(first, correlatedObservations(200));
    await first.close();
    const database = new Database(file);
    const made = countRows(database);
    expect(made).toBeGreaterThan(20);
    database.exec('DELETE FROM skip');
    Object.assign(TUNING, { looks: [Infinity], skipFrom: 0 });
    const second = new SqliteStore(file);
    const query = { project: PROJECT, type: 'Observation', criteria: match('status', 'corrected'), limit: 3 };
    await second.search({ ...query, sort: [by('date', true)] });
    await until(() => countRows(database) === made);
    await second.close();
    database.close();
  });
});
