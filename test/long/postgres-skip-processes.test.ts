import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PostgresPool } from '../../src/stores/postgres/driver.js';
import { SKIP_TUNING, type SkipHeader } from '../../src/stores/postgres/skip/skip-row.js';
import { PostgresStore } from '../../src/stores/postgres/store.js';
import { PROJECT } from '../../src/testing/conformance-case.js';
import { below, createRandom } from '../../src/testing/random.js';
import { skewedResources } from '../../src/testing/skewed-resources.js';
import { assertSearches } from '../../src/testing/suites/random-searches.js';
import { buildSkips, rowsOf } from '../stores/postgres-skip-build.js';
import { World } from '../stores/postgres-skip-world.js';
import { SEED } from '../support/chance.js';
import { LOADER } from '../support/load-typescript.js';
import { tallyOf } from '../support/long-report.js';
import { findPostgres, type PostgresServer, startPostgres } from '../support/postgres-server.js';

const PROGRAMS = findPostgres();
if (PROGRAMS === undefined) console.warn('Builders of skip indexes are not killed: no PostgreSQL server here');

const BUILDER = fileURLToPath(new URL('../support/skip-builder.ts', import.meta.url));
const DEFAULTS = { ...SKIP_TUNING };
// Few resources are many parts, and each build takes all in.
const SMALL = { granule: 8, minGranules: 4, minHolders: 2, maxFresh: 0 };
const KINDS = { 'a layer': { ...SMALL, maxLayered: 100 }, 'all of it': { ...SMALL, maxLayered: 0 } } as const;

describe.skipIf(PROGRAMS === undefined)('skip indexes on a real PostgreSQL server', () => {
  const tally = tallyOf('builders of skip indexes, PostgreSQL');
  let server: PostgresServer;
  let pool: pg.Pool;
  let store: PostgresStore;
  let world: World;
  let random: () => number;
  beforeAll(async () => {
    server = await startPostgres(PROGRAMS!);
  }, 60_000);
  afterAll(() => server?.stop());
  beforeEach(async () => {
    random = createRandom(SEED);
    pool = new pg.Pool({ ...server.connection, max: 8 });
    await pool.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    // Over one connection the store builds nothing itself.
    const single = new pg.Pool({ ...server.connection, max: 1 });
    store = new PostgresStore(single);
    world = new World(store, random);
    Object.assign(SKIP_TUNING, SMALL);
    await world.write(skewedResources(200, random));
    await buildSkips(pool, ['Observation']);
    return async () => {
      await store.close();
      await single.end();
      await pool.end();
    };
  }, 60_000);
  afterEach(() => void Object.assign(SKIP_TUNING, DEFAULTS));

  const headers = async (): Promise<readonly SkipHeader[]> =>
    (await rowsOf(pool, "SELECT data FROM fhirgraph_skip WHERE value = '' AND sort = 0")).map(
      ([data]) => JSON.parse(data as string) as SkipHeader,
    );
  const pending = async (): Promise<number> => (await rowsOf(pool, 'SELECT 1 FROM fhirgraph_skip_written')).length;

  async function assertRight(): Promise<void> {
    await assertSearches(store, PROJECT, world.all, random, 6);
    expect((await store.verify()).problems).toEqual([]);
    const [header, ...others] = await headers();
    expect(others).toEqual([]);
    const marks = header!.layers.map(({ mark }) => mark);
    expect(new Set(marks).size).toBe(marks.length);
  }

  /** Runs a builder that stops after some statements, and kills it. @returns false if it had ended before */
  async function killedAt(stopAt: number, tuning: object): Promise<boolean> {
    const child = spawn(
      process.execPath,
      ['--import', LOADER, BUILDER, JSON.stringify([server.connection, tuning, stopAt])],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    let said = '';
    child.stdout.on('data', (chunk) => {
      said += String(chunk);
      if (said.startsWith('stopped')) child.kill('SIGKILL');
    });
    const [, signal] = (await once(child, 'close')) as [number | null, string | null];
    return signal === 'SIGKILL';
  }

  /** The server notices the end of a process, and ends its transaction. */
  async function untilAlone(): Promise<void> {
    for (;;) {
      const others = await rowsOf(pool, "SELECT 1 FROM pg_locks WHERE locktype = 'advisory'");
      if (others.length === 0) return;
      await sleep(5);
    }
  }

  test.each(Object.entries(KINDS))(
    `a process killed while it writes %s leaves nothing of it, and another one does the work, seed ${SEED}`,
    async (_, tuning) => {
      Object.assign(SKIP_TUNING, tuning);
      let killed = 0;
      for (let last = 80, trial = 0; trial < 5; trial++) {
        await world.change(10);
        const [before] = await headers();
        const work = await pending();
        const stopAt = 1 + below(last, random);
        if (!(await killedAt(stopAt, tuning))) {
          last = stopAt;
          continue;
        }
        killed += 1;
        tally.addFaults();
        tally.addTrials(1);
        await untilAlone();
        const [after] = await headers();
        const isWhole = JSON.stringify(before) !== JSON.stringify(after);
        // The server may have carried out the last statement, the commit.
        expect(await pending()).toBe(isWhole ? 0 : work);
        await assertRight();
        await world.change(3);
        await buildSkips(pool, ['Observation']);
        expect(await pending()).toBe(0);
        expect((await headers())[0]).not.toEqual(after);
        await assertRight();
      }
      expect(killed).toBeGreaterThan(1);
    },
  );

  test.each(Object.entries(KINDS))(
    `of builders that begin at the same time one writes %s, seed ${SEED}`,
    async (_, tuning) => {
      const pools = Array.from({ length: 3 }, () => new pg.Pool({ ...server.connection, max: 2 }));
      Object.assign(SKIP_TUNING, tuning);
      for (let round = 0; round < 4; round++) {
        await world.change(10);
        const [before] = await headers();
        const writing = world.change(6);
        await Promise.all(pools.map((one) => buildSkips(one, ['Observation'])));
        await writing;
        const [after] = await headers();
        expect(after).not.toEqual(before);
        await assertRight();
        tally.addTrials(1);
      }
      await Promise.all(pools.map((one) => one.end()));
    },
  );

  test.each([
    ['a layer', 'a layer'],
    ['a layer', 'all of it'],
    ['all of it', 'a layer'],
    ['all of it', 'all of it'],
  ] as const)('a builder of %s that began before another one ended %s writes nothing', async (own, other) => {
    await world.change(10);
    let hasEnded = false;
    const late: PostgresPool = {
      async connect() {
        const client = await pool.connect();
        return {
          async query(statement) {
            if (!hasEnded && statement.text.includes('pg_try_advisory_xact_lock')) {
              hasEnded = true;
              Object.assign(SKIP_TUNING, KINDS[other]);
              await buildSkips(pool, ['Observation']);
              Object.assign(SKIP_TUNING, KINDS[own]);
            }
            return client.query(statement);
          },
          release: (broken) => client.release(broken),
        };
      },
    };
    await buildSkips(late, ['Observation']);
    expect(hasEnded).toBe(true);
    const [header] = await headers();
    expect(header!.layers.length).toBe(other === 'a layer' ? 1 : 0);
    expect(await pending()).toBe(0);
    await assertRight();
    await world.change(5);
    await buildSkips(pool, ['Observation']);
    await assertRight();
  });
});
