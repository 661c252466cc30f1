import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { PostgresPool } from '../../../src/stores/postgres/database/driver.js';
import { TUNING } from '../../../src/stores/postgres/scans/tuning.js';
import { SKIP_TUNING, type SkipHeader } from '../../../src/stores/postgres/rows/skip-row.js';
import { PostgresStore } from '../../../src/stores/postgres/store.js';
import { createRandom } from '../../../src/testing/random.js';
import { skewedResources } from '../../../src/testing/skewed-resources.js';
import { SEED } from '../../support/chance.js';
import { postgresPool, through } from './pool.js';
import { buildSkips, rowsOf } from './skip-build.js';
import { World } from './skip-world.js';

const DEFAULTS = { ...TUNING };
const SKIPS = { ...SKIP_TUNING };
// Few resources are many parts, and each build takes all in.
const SMALL = { granule: 8, minGranules: 4, minHolders: 2, maxFresh: 0, maxLayered: 100 };
beforeAll(() => void Object.assign(SKIP_TUNING, SMALL));
afterEach(() => {
  Object.assign(TUNING, DEFAULTS);
  Object.assign(SKIP_TUNING, SKIPS, SMALL);
});

async function layersOf(pool: PostgresPool): Promise<SkipHeader['layers']> {
  const rows = await rowsOf(
    pool,
    `SELECT data FROM fhirgraph_skip WHERE type = 'Observation' AND value = '' AND sort = 0`,
  );
  return rows.flatMap(([data]) => (JSON.parse(data as string) as SkipHeader).layers);
}

describe('layers', () => {
  async function filled(
    rounds: number,
  ): Promise<{ readonly pool: PostgresPool; readonly store: PostgresStore; readonly world: World }> {
    const random = createRandom(SEED);
    const pool = await postgresPool();
    const store = new PostgresStore(pool);
    const world = new World(store, random);
    Object.assign(SKIP_TUNING, { layerGrowth: 0 });
    await world.write(skewedResources(100, random));
    await buildSkips(pool, ['Observation']);
    for (let round = 0; round < rounds; round++) {
      await world.change(8);
      await buildSkips(pool, ['Observation']);
    }
    return { pool, store, world };
  }

  test('with wrong rows are reported by verify', async () => {
    const { pool, store } = await filled(2);
    const wrong = async (): Promise<number> => {
      const { problems } = await store.verify();
      return Number(/rows that are wrong: (\d+)/.exec(problems.join())?.[1] ?? 0);
    };
    expect(await wrong()).toBe(0);
    const [first, second] = (await layersOf(pool)).map(({ mark }) => mark);
    const damages = [
      `UPDATE fhirgraph_skip SET data = 'AA==' WHERE value LIKE '${second}v%'`,
      `DELETE FROM fhirgraph_skip WHERE value LIKE '${first}p'`,
      `UPDATE fhirgraph_skip SET data = (data::jsonb || '{"lists":"AQAAAAA="}')::text WHERE value LIKE '${second}o' AND subject = 0`,
      `UPDATE fhirgraph_skip SET data = '' WHERE value LIKE '${first}0' AND subject = 2`,
      `UPDATE fhirgraph_skip SET data = 'AA==' WHERE value LIKE '${second}d'`,
    ];
    for (const damage of damages) {
      await rowsOf(pool, 'CREATE TABLE kept AS SELECT * FROM fhirgraph_skip');
      expect((await rowsOf(pool, `${damage} RETURNING 1`)).length).toBeGreaterThan(0);
      expect(await wrong()).toBeGreaterThan(0);
      await rowsOf(pool, 'DELETE FROM fhirgraph_skip');
      await rowsOf(pool, 'INSERT INTO fhirgraph_skip SELECT * FROM kept');
      await rowsOf(pool, 'DROP TABLE kept');
    }
    expect(await wrong()).toBe(0);
    await store.close();
  });

  test('that a process abandons in the middle change nothing', async () => {
    const { pool, store, world } = await filled(1);
    await world.change(8);
    const before = await rowsOf(pool, 'SELECT * FROM fhirgraph_skip ORDER BY type, sort, subject, value');
    const pending = await rowsOf(pool, 'SELECT * FROM fhirgraph_skip_written ORDER BY resource');
    for (let failing = 1; failing < 200; failing += 13) {
      let left = failing;
      const interrupted = through(pool, async (statement, client) => {
        if (!/^ROLLBACK/.test(statement.text) && --left === 0) throw new Error('interrupted');
        return client.query(statement);
      });
      await buildSkips(interrupted, ['Observation']);
      if (left > 0) break;
      expect(await rowsOf(pool, 'SELECT * FROM fhirgraph_skip ORDER BY type, sort, subject, value')).toEqual(before);
      expect(await rowsOf(pool, 'SELECT * FROM fhirgraph_skip_written ORDER BY resource')).toEqual(pending);
    }
    expect(await rowsOf(pool, 'SELECT * FROM fhirgraph_skip_written')).toEqual([]);
    expect((await store.verify()).problems).toEqual([]);
    await store.close();
  });
});
