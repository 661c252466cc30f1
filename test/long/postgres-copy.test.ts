import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { PostgresStore } from '../../src/postgres.js';
import type { Write } from '../../src/store.js';
import { storeConformance } from '../../src/testing.js';
import { createRandom, put, putAll, queryOf, resourceOf } from '../support/kit.js';
import { COPY } from '../../src/stores/postgres/database/copy-text.js';
import { KIT_EFFORT, SEED } from '../support/chance.js';
import { findPostgres, type PostgresServer, startPostgres } from '../support/postgres-server.js';

const PROGRAMS = findPostgres();
if (PROGRAMS === undefined) console.warn('Nothing is written by COPY to a real PostgreSQL: no server here');

const DEFAULTS = { ...COPY };
const SIZE = 2_000;

describe.skipIf(PROGRAMS === undefined)('commits by COPY to a real PostgreSQL server', () => {
  let server: PostgresServer;
  let pool: pg.Pool;
  let admin: pg.Client;
  beforeAll(async () => {
    server = await startPostgres(PROGRAMS!);
    admin = new pg.Client(server.connection);
    await admin.connect();
  });
  afterAll(async () => {
    await admin?.end();
    await server?.stop();
  });
  beforeEach(async () => {
    await admin.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    COPY.fromRows = 1;
    pool = new pg.Pool({ ...server.connection, max: 10 });
    return () => pool.end();
  });
  afterEach(() => void Object.assign(COPY, DEFAULTS));

  describe('the conformance kit', () => {
    storeConformance({ describe, test }, () => new PostgresStore(pool), { seed: SEED, effort: KIT_EFFORT });
  });

  const bulk = (name: string, size = SIZE): readonly Write[] =>
    Array.from({ length: size }, (_, n) =>
      put(resourceOf('Patient', `${name}-${n}`, { active: true, name: [{ family: `\\N ${n}\t'"` }] })),
    );
  const total = async (store: PostgresStore): Promise<number> =>
    (await store.search(queryOf('Patient', undefined, { limit: 0, total: true }))).total!;

  test('of the same new resources at the same time all succeed, one after the other', async () => {
    const store = new PostgresStore(pool, { connectionWait: 600_000 });
    await Promise.all(Array.from({ length: 8 }, () => store.commit(bulk('same', 300))));
    const rows = await admin.query<{ n: number; version: number }>(
      'SELECT count(*)::int AS n, version FROM resource GROUP BY version',
    );
    expect(rows.rows).toEqual([{ n: 300, version: 8 }]);
    expect((await store.verify()).problems).toEqual([]);
    await store.close();
  });

  /** Settles when no connection is in a transaction: a search does not wait for the end of its own. */
  const untilIdle = async (): Promise<void> => {
    const busy =
      "SELECT 1 FROM pg_stat_activity WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid() AND backend_type = 'client backend'";
    while ((await admin.query(busy)).rows.length > 0) await sleep(5);
  };

  test(`ended by their deadline at any moment have no effect, seed ${SEED}`, async () => {
    const random = createRandom(SEED);
    const store = new PostgresStore(pool);
    await putAll(store, resourceOf('Patient', 'one'));
    let expected = 1;
    let ended = 0;
    for (let n = 0; n < 60; n++) {
      const deadline = performance.now() + 5 + random() * 400;
      await store.commit(bulk(`d${n}`), { deadline }).then(
        () => (expected += SIZE),
        async (error: { code: string; details?: { deadline?: boolean; unknown?: boolean } }) => {
          expect([error.code, error.details?.deadline]).toEqual(['aborted', true]);
          ended++;
          // The deadline came while the server committed: there is all of it or nothing.
          if (error.details?.unknown !== true) return;
          await untilIdle();
          if ((await total(store)) !== expected) expected += SIZE;
        },
      );
      expect(await total(store)).toBe(expected);
    }
    expect(ended).toBeGreaterThan(5);
    await untilIdle();
    expect((await store.verify()).problems).toEqual([]);
    await store.close();
  });

  test(`with connections cut at any moment are complete or absent, seed ${SEED}`, async () => {
    const random = createRandom(SEED);
    const store = new PostgresStore(pool);
    await putAll(store, resourceOf('Patient', 'one'));
    let before = 1;
    let cut = 0;
    for (let n = 0; n < 30; n++) {
      const committing = store.commit(bulk(`c${n}`)).then(
        () => true,
        (error: { code: string; details?: { unknown?: boolean } }) => {
          expect(error.code).toBe('unavailable');
          cut++;
          return error.details?.unknown === true ? undefined : false;
        },
      );
      await sleep(20 + random() * 200);
      await admin.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
      );
      const done = await committing;
      const after = await total(store).catch(() => total(store));
      const written = after - before;
      expect(done === undefined ? [0, SIZE] : [done ? SIZE : 0]).toContain(written);
      before = after;
    }
    expect(cut).toBeGreaterThan(3);
    expect((await store.verify()).problems).toEqual([]);
    await store.close();
  });
});
