import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { PostgresPool } from '../../../src/stores/postgres/database/driver.js';
import { projectKey } from '../../../src/stores/postgres/rows/keys.js';
import { TUNING } from '../../../src/stores/postgres/scans/tuning.js';
import { FORMAT, SKIP_TUNING } from '../../../src/stores/postgres/rows/skip-row.js';
import { COPY } from '../../../src/stores/postgres/database/copy-text.js';
import { PostgresStore } from '../../../src/stores/postgres/store.js';
import { keyOf, PROJECT, queryOf } from '../../../src/testing/conformance-case.js';
import { until } from '../../support/until.js';
import { correlatedObservations } from '../correlated-observations.js';
import { postgresPool, through } from './pool.js';
import { buildSkips, rowsOf } from './skip-build.js';
import { by, match, write } from '../queries.js';

const DEFAULTS = { ...TUNING };
const SKIPS = { ...SKIP_TUNING };
// Few resources are many parts.
beforeAll(() => void Object.assign(SKIP_TUNING, { granule: 8, minGranules: 4, minHolders: 2 }));
afterEach(() => void Object.assign(TUNING, DEFAULTS));

async function countRows(pool: PostgresPool, table = 'fhirgraph_skip'): Promise<number> {
  return Number((await rowsOf(pool, `SELECT count(*) FROM ${table}`))[0]![0]);
}

describe('skip indexes', () => {
  async function filled(): Promise<{ readonly pool: PostgresPool; readonly store: PostgresStore }> {
    const pool = await postgresPool();
    const store = new PostgresStore(pool);
    await write(store, correlatedObservations(100));
    await buildSkips(pool, ['Observation']);
    expect(await countRows(pool)).toBeGreaterThan(20);
    return { pool, store };
  }

  test('are deleted when a resource of the type is erased, and when the project is removed', async () => {
    const { pool, store } = await filled();
    await store.commit([{ kind: 'erase', key: keyOf('Observation', 'o000000'), reason: 'test' }]);
    expect(await countRows(pool)).toBe(0);
    await buildSkips(pool, ['Observation']);
    expect(await countRows(pool)).toBeGreaterThan(20);
    await store.removal.removeProject(PROJECT);
    expect(await countRows(pool)).toBe(0);
    expect(await countRows(pool, 'fhirgraph_skip_type')).toBe(0);
  });

  test('are deleted when a version is purged that they can contain', async () => {
    const { pool, store } = await filled();
    const replacedBefore = new Date(Date.now() + 60_000).toISOString();
    await store.removal.purgeHistory({ project: PROJECT, keep: 1, replacedBefore });
    expect(await countRows(pool)).toBeGreaterThan(20);
    await write(store, correlatedObservations(1));
    await store.removal.purgeHistory({ project: PROJECT, keep: 1, replacedBefore });
    expect(await countRows(pool)).toBe(0);
  });

  test('with wrong rows are reported by verify, and rebuilt after reindex()', async () => {
    const { pool, store } = await filled();
    const ask = async (): Promise<readonly string[]> => (await store.verify()).problems;
    const wrong = (rows: number): string[] => [
      `The skip index of Observation in ${PROJECT}: rows that are wrong: ${rows}`,
    ];
    expect(await ask()).toEqual([]);
    const damages = [
      "UPDATE fhirgraph_skip SET data = 'AQAA' WHERE value = 'vfinal'",
      "DELETE FROM fhirgraph_skip WHERE value = 'vc1'",
      "INSERT INTO fhirgraph_skip SELECT project, type, sort, subject, 'vc9', data FROM fhirgraph_skip WHERE value = 'vc2'",
      'UPDATE fhirgraph_skip_key SET keys = (SELECT array_agg(k ORDER BY k DESC) FROM unnest(keys) k)',
    ];
    let rows = 0;
    for (const damage of damages) {
      const damaged = (await rowsOf(pool, `${damage} RETURNING 1`)).length;
      expect(damaged).toBeGreaterThan(0);
      expect(await ask()).toEqual(wrong((rows += damaged)));
    }
    // The index does not include later writes.
    await write(store, correlatedObservations(1));
    expect(await ask()).toEqual([]);
    await rowsOf(pool, 'DELETE FROM fhirgraph_skip_written');
    await rowsOf(pool, `UPDATE fhirgraph_skip SET data = '{' WHERE value = '' AND sort = 0`);
    expect(await ask()).toEqual(['The skip index of Observation cannot be read']);
    await store.reindex();
    expect(await ask()).toEqual([]);
    await buildSkips(pool, ['Observation']);
    expect([await ask(), (await countRows(pool)) > 20]).toEqual([[], true]);
    await store.close();
  });

  test('are deleted by reindex()', async () => {
    const { pool, store } = await filled();
    await store.reindex();
    expect(await countRows(pool)).toBe(0);
  });

  test.each([1, Infinity])('include later writes, until they are rebuilt (COPY from %i rows)', async (fromRows) => {
    const { pool, store } = await filled();
    const before = COPY.fromRows;
    COPY.fromRows = fromRows;
    expect(await countRows(pool, 'fhirgraph_skip_written')).toBe(0);
    Object.assign(SKIP_TUNING, { maxFresh: 2 });
    await write(store, correlatedObservations(3));
    expect(await countRows(pool, 'fhirgraph_skip_written')).toBe(3);
    COPY.fromRows = before;
    await buildSkips(pool, ['Observation']);
    Object.assign(SKIP_TUNING, { maxFresh: SKIPS.maxFresh });
    expect(await countRows(pool, 'fhirgraph_skip_written')).toBe(0);
  });

  test('are built after a load, when the store closes', async () => {
    const pool = await postgresPool();
    const store = new PostgresStore(pool);
    Object.assign(SKIP_TUNING, { minLoad: 100 });
    await write(store, correlatedObservations(100));
    await store.close();
    Object.assign(SKIP_TUNING, { minLoad: SKIPS.minLoad });
    expect(await countRows(pool)).toBeGreaterThan(20);
  });

  test('are built after a search without them, if the pool has another connection', async () => {
    const pool = await postgresPool();
    const store = new PostgresStore({ ...pool, options: {} });
    await write(store, correlatedObservations(100));
    Object.assign(TUNING, { looks: [Infinity], stretch: 5 });
    await store.search(queryOf('Observation', match('status', 'corrected'), { sort: [by('date', true)], limit: 10 }));
    await until(async () => (await countRows(pool)) > 20);
    await store.close();
  });

  test('are built before a store closes if its search started the build', async () => {
    const pool = await postgresPool();
    await write(new PostgresStore(pool), correlatedObservations(100));
    const store = new PostgresStore({ ...pool, options: {} });
    Object.assign(TUNING, { looks: [Infinity], stretch: 5 });
    Object.assign(SKIP_TUNING, { lastWait: 600_000 });
    await store.search(queryOf('Observation', match('status', 'corrected'), { sort: [by('date', true)], limit: 10 }));
    await store.close();
    expect(await countRows(pool)).toBeGreaterThan(20);
  });

  test('of other definitions are not used, and of few resources not built', async () => {
    const { pool, store } = await filled();
    await rowsOf(pool, 'UPDATE fhirgraph_skip SET data = replace(data, \'"epoch":"\', \'"epoch":"0\')');
    // Were they used, all would be without a match.
    await rowsOf(pool, "UPDATE fhirgraph_skip SET data = 'AA==' WHERE sort = 0 AND value <> ''");
    Object.assign(TUNING, { looks: [Infinity], stretch: 5 });
    const page = queryOf('Observation', match('status', 'corrected'), { sort: [by('date', true)], limit: 10 });
    expect((await store.search(page)).matches.length).toBe(10);
    await store.removal.removeProject(PROJECT);
    await write(store, correlatedObservations(31));
    await buildSkips(pool, ['Observation']);
    expect(await countRows(pool)).toBe(0);
  });

  test('of a newer version are left to that version, while it keeps them current', async () => {
    const { pool, store } = await filled();
    await rowsOf(
      pool,
      `UPDATE fhirgraph_skip SET data = replace(data, '"format":${FORMAT}', '"format":${FORMAT + 1}')`,
    );
    const stored = 'SELECT * FROM fhirgraph_skip ORDER BY sort, subject, value';
    const before = await rowsOf(pool, stored);
    Object.assign(SKIP_TUNING, { maxFresh: 0, abandoned: 6 });
    const page = queryOf('Observation', match('status', 'corrected'), { sort: [by('date', true)], limit: 10 });
    for (const written of [0, 6]) {
      await write(store, correlatedObservations(written));
      await buildSkips(pool, ['Observation']);
      expect([await rowsOf(pool, stored), await countRows(pool, 'fhirgraph_skip_written')]).toEqual([before, written]);
      expect((await store.search(page)).matches.length).toBe(10);
    }
    await write(store, correlatedObservations(1));
    await buildSkips(pool, ['Observation']);
    Object.assign(SKIP_TUNING, { maxFresh: SKIPS.maxFresh, abandoned: SKIPS.abandoned });
    expect(await countRows(pool, 'fhirgraph_skip_written')).toBe(0);
    expect((await store.verify()).problems).toEqual([]);
    await store.close();
  });

  test('have their tables in databases that were created before them', async () => {
    const { pool, store } = await filled();
    await store.close();
    for (const name of ['', '_type', '_written', '_key']) await rowsOf(pool, `DROP TABLE fhirgraph_skip${name}`);
    await rowsOf(pool, "UPDATE fhirgraph_meta SET value = '6' WHERE name = 'schema_version'");
    const later = new PostgresStore(pool, { takeOver: true });
    await write(later, correlatedObservations(1));
    await buildSkips(pool, ['Observation']);
    expect(await countRows(pool)).toBeGreaterThan(20);
    await later.close();
  });

  test('whose build overlaps an erasure are discarded', async () => {
    const { pool, store } = await filled();
    const [[project]] = (await rowsOf(pool, 'SELECT DISTINCT project FROM fhirgraph_skip_type')) as [[string]];
    expect(project.replaceAll('-', '')).toBe(projectKey(PROJECT));
    let erased = false;
    const interrupted = through(pool, async (statement, client) => {
      // As if another process had erased it meanwhile: its mark is gone.
      if (!erased && /UPDATE fhirgraph_skip_type/.test(statement.text)) {
        erased = true;
        await client.query({ text: 'DELETE FROM fhirgraph_skip_type', values: [], rowMode: 'array' });
      }
      return client.query(statement);
    });
    await rowsOf(pool, 'DELETE FROM fhirgraph_skip');
    await buildSkips(interrupted, ['Observation']);
    expect(erased).toBe(true);
    expect(await countRows(pool)).toBe(0);
    await store.close();
  });
});
