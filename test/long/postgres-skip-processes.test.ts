import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PostgresAnswer, PostgresPool } from '../../src/stores/postgres/database/driver.js';
import { SKIP_TUNING, type SkipHeader } from '../../src/stores/postgres/rows/skip-row.js';
import { PostgresStore } from '../../src/stores/postgres/store.js';
import { keyOf, PROJECT } from '../../src/testing/conformance-case.js';
import { below, createRandom, oneOf } from '../../src/testing/random.js';
import { skewedResources } from '../../src/testing/skewed-resources.js';
import { assertSearches } from '../../src/testing/suites/random-searches.js';
import { buildSkips, rowsOf } from '../stores/postgres/skip-build.js';
import { World } from '../stores/postgres/skip-world.js';
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
  afterAll(() => server?.stop(), 60_000);
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

  /** Runs a builder that stops after some statements, and then is killed. @returns false if it had ended before */
  async function killedAt(
    stopAt: number,
    tuning: object,
    { silence = 60_000, meanwhile = async () => {} }: { silence?: number; meanwhile?: () => Promise<void> } = {},
  ): Promise<boolean> {
    const child = spawn(
      process.execPath,
      ['--import', LOADER, BUILDER, JSON.stringify([server.connection, tuning, stopAt, silence])],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const closed = once(child, 'close');
    const [said] = (await once(child.stdout, 'data')) as [Buffer];
    if (String(said).startsWith('stopped')) await meanwhile();
    child.kill('SIGKILL');
    const [, signal] = (await closed) as [number | null, string | null];
    return signal === 'SIGKILL' && String(said).startsWith('stopped');
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
    `a process killed while it writes %s leaves nothing of it, and another process does the work, seed ${SEED}`,
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
    `of builders that begin at the same time, one writes %s, seed ${SEED}`,
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
  ] as const)('a builder of %s that began before another builder ended %s writes nothing', async (own, other) => {
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

  test.each(Object.entries(KINDS))(
    'the server ends the build of a hanging process with %s, and no erasure waits for it',
    async (_, tuning) => {
      await world.change(10);
      const meanwhile = async (): Promise<void> => {
        await erase('erase', impatient);
        await untilAlone();
      };
      const hung = await killedAt(20, tuning, { silence: 1_000, meanwhile });
      expect(hung).toBe(true);
      expect(await countStored()).toEqual(NOTHING);
      await buildSkips(pool, ['Observation']);
      await assertRight();
    },
  );

  /** A pool that runs a function when a builder sends a statement, from its first statement with a snapshot on. */
  function beside(act: (place: number, text: string, run: () => Promise<unknown>) => Promise<unknown>): PostgresPool {
    let place = -1;
    return {
      async connect() {
        const client = await pool.connect();
        return {
          async query(statement) {
            if (place >= 0 || statement.text.includes('pg_try_advisory_xact_lock')) place++;
            let answer: Promise<PostgresAnswer> | undefined;
            const run = (): Promise<unknown> => (answer ??= client.query(statement));
            if (place >= 0) await act(place, statement.text, run);
            return answer ?? client.query(statement);
          },
          release: (broken) => client.release(broken),
        };
      },
    };
  }

  const erasures = ['erase', 'purge', 'remove'] as const;

  /** Permanently removes a resource that a skip index can contain. */
  async function erase(how: (typeof erasures)[number], by: PostgresStore): Promise<void> {
    const [name, { id }] = oneOf(
      [...world.current].filter(([, { resourceType }]) => resourceType === 'Observation'),
      random,
    ) as [string, { id: string }];
    if (how === 'erase') {
      await by.commit([{ kind: 'erase', key: keyOf('Observation', id), reason: 'test' }]);
      world.current.delete(name);
    } else if (how === 'purge') {
      const replacedBefore = new Date(Date.now() + 60_000).toISOString();
      await by.removal.purgeHistory({ project: PROJECT, keep: 1, replacedBefore });
    } else {
      while (!(await by.removal.removeProject(PROJECT)).done);
      world.current.clear();
    }
  }

  const NOTHING = { fhirgraph_skip: 0, fhirgraph_skip_key: 0, fhirgraph_skip_type: 0, fhirgraph_skip_written: 0 };
  const countStored = async (): Promise<typeof NOTHING> => {
    const counts = Object.keys(NOTHING).map(async (table) => [
      table,
      (await rowsOf(pool, `SELECT 1 FROM ${table}`)).length,
    ]);
    return Object.fromEntries(await Promise.all(counts)) as typeof NOTHING;
  };

  /** A store with calls that fail if they wait for a lock. */
  let impatient: PostgresStore;
  beforeEach(() => {
    const hurried = new pg.Pool({ ...server.connection, max: 1, options: '-c lock_timeout=200' });
    impatient = new PostgresStore(hurried);
    return async () => {
      await impatient.close();
      await hurried.end();
    };
  });

  test.each(Object.entries(KINDS))(
    `erasures wait for no builder of %s, and nothing of it is left, seed ${SEED}`,
    async (_, tuning) => {
      Object.assign(SKIP_TUNING, tuning);
      let statements = 60;
      for (let trial = 0; trial < 6; trial++) {
        const how = erasures[trial % 3]!;
        const at = below(statements, random);
        let last = 0;
        let erased = 0;
        const erasing = beside(async (place) => {
          last = place;
          if (place !== at) return;
          await erase(how, impatient);
          erased++;
        });
        await world.change(10);
        await buildSkips(erasing, ['Observation']);
        if (erased === 0) statements = last;
        else {
          expect(await countStored(), `${how} at ${at} of ${last}`).toEqual(NOTHING);
          tally.addTrials(1);
        }
        if (how === 'remove') await world.write(skewedResources(200, random));
        await buildSkips(pool, ['Observation']);
        expect((await countStored()).fhirgraph_skip).toBeGreaterThan(20);
      }
      await assertRight();
    },
  );

  test.each(Object.entries(KINDS))(
    `erasures at the moment when %s is published leave nothing of it, seed ${SEED}`,
    async (_, tuning) => {
      Object.assign(SKIP_TUNING, tuning);
      for (const how of erasures) {
        let races = 0;
        const racing = beside(async (_place, text, run) => {
          if (!text.includes('UPDATE fhirgraph_skip_type')) return;
          races++;
          await Promise.all([run().catch(() => {}), erase(how, store)]);
        });
        await world.change(10);
        await buildSkips(racing, ['Observation']);
        expect([races, await countStored()], how).toEqual([1, NOTHING]);
        tally.addTrials(1);
        if (how === 'remove') await world.write(skewedResources(200, random));
        await buildSkips(pool, ['Observation']);
      }
      await assertRight();
    },
  );
});
