import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { AnyResource } from '../../src/index.js';
import { type PostgresAnswer, type PostgresPool, PostgresStore } from '../../src/postgres.js';
import { R4 } from '../../src/store.js';
import { below, createRandom, keyOf, oneOf, PROJECT, put } from '../support/kit.js';
import { Connections } from '../../src/stores/postgres/database/connections.js';
import { COPY } from '../../src/stores/postgres/database/copy-text.js';
import { IndexStatus } from '../../src/stores/postgres/schema/index-status.js';
import { NO_WORK } from '../../src/stores/sql/segment-refresh.js';
import { SEGMENT_TUNING } from '../../src/stores/segments/upkeep.js';
import { TUNING } from '../../src/stores/postgres/scans/tuning.js';
import { search } from '../../src/stores/postgres/search/search.js';
import { PostgresSegments } from '../../src/stores/postgres/segments/segments.js';
import { RandomQueries } from '../../src/testing/random-queries.js';
import { ReferenceSearch } from '../../src/testing/reference-search.js';
import { assertSearches, skewedResources } from '../../src/testing/suites/random-searches.js';
import { buildSegments, rowsOf } from '../stores/postgres/build-segments.js';
import { through } from '../stores/postgres/pool.js';
import { World } from '../stores/postgres/world.js';
import { cases, SEED } from '../support/chance.js';
import { LOADER } from '../support/load-typescript.js';
import { tallyOf } from '../support/long-report.js';
import { findPostgres, type PostgresServer, startPostgres } from '../support/postgres-server.js';

const PROGRAMS = findPostgres();
if (PROGRAMS === undefined) console.warn('Builders of segments are not killed: no PostgreSQL server here');

const BUILDER = fileURLToPath(new URL('../support/segment-builder.ts', import.meta.url));
const USUAL = [SEGMENT_TUNING, TUNING, COPY].map((tuning) => [tuning, { ...tuning }] as const);
// Few resources are many segments, which every search asks.
const SMALL = { size: 60, minSize: 5 };
const TYPES = ['Observation', 'Patient'];

describe.skipIf(PROGRAMS === undefined)('segments on a real PostgreSQL server', () => {
  const tally = tallyOf('builders of segments, PostgreSQL');
  let server: PostgresServer;
  let pool: pg.Pool;
  let store: PostgresStore;
  let world: World;
  let random: () => number;
  beforeAll(async () => {
    server = await startPostgres(PROGRAMS!, { fsync: 'off' });
  }, 60_000);
  afterAll(() => server?.stop(), 60_000);
  beforeEach(async () => {
    random = createRandom(SEED);
    pool = new pg.Pool({ ...server.connection, max: 8 });
    await pool.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    Object.assign(SEGMENT_TUNING, SMALL);
    Object.assign(TUNING, { look: 0 });
    store = new PostgresStore(pool);
    world = new World(store, random);
    await world.write(skewedResources(200, random));
    await buildSegments(pool, TYPES);
    return async () => {
      await store.close();
      await pool.end();
    };
  }, 60_000);
  afterEach(() => USUAL.forEach(([tuning, usual]) => Object.assign(tuning, usual)));

  const removeAll = async (): Promise<void> => {
    for (const name of ['list', 'row']) await rowsOf(pool, `DELETE FROM fhirgraph_segment_${name}`);
  };
  const countOf = async (rows: string): Promise<number> => (await rowsOf(pool, `SELECT 1 FROM ${rows}`)).length;

  async function assertRight(): Promise<void> {
    await assertSearches(store, PROJECT, world.all, random, 6);
    expect((await store.verify()).problems).toEqual([]);
  }

  test(`concurrent writers, builders and readers: segments answer as SQL does in the same snapshot, seed ${SEED}`, async () => {
    const pools = Array.from({ length: 4 }, () => new pg.Pool({ ...server.connection, max: 3 }));
    const expected = new Map<string, AnyResource>();
    for (const one of world.all) expected.set(`${one.resourceType}/${one.id!}`, one);
    const [end, rounds] = [{ isReached: false }, cases(400, 100)];
    /** Statements of a transaction are apart from each other. */
    const slow = (one: pg.Pool): PostgresPool =>
      through(one, async (statement, client) => {
        if (random() < 0.3) await sleep(below(15, random));
        return client.query(statement);
      });
    const writer = async (number: number): Promise<void> => {
      const own = new PostgresStore(slow(pools[number]!));
      const ids = Array.from({ length: 60 }, (_, index) => `w${number}-${index}`);
      for (let round = 0; round < rounds; round++) {
        COPY.fromRows = oneOf([1, 1_000], random);
        const some = skewedResources(12, random)
          .filter(({ resourceType }) => resourceType === 'Observation')
          .map((one) => ({ ...one, id: oneOf(ids, random) }));
        const unique = [...new Map(some.map((one) => [one.id, one])).values()];
        const gone = unique.filter(() => random() < 0.2).map(({ id }) => id);
        const results = await own.commit(
          unique.map((one) =>
            gone.includes(one.id) ? { kind: 'delete', key: keyOf('Observation', one.id) } : put(one),
          ),
        );
        for (const [index, one] of results.entries()) {
          const name = `Observation/${unique[index]!.id}`;
          if (one.kind === 'put') expected.set(name, one.resource);
          else expected.delete(name);
        }
      }
      await own.close();
    };
    const builder = async (): Promise<void> => {
      while (!end.isReached) {
        // Lists that are removed are made again while commits are on their way.
        const way = below(6, random);
        if (way === 0) await store.reindex();
        else if (way === 1) await removeAll();
        await buildSegments(slow(pools[2]!), TYPES);
        await sleep(below(20, random));
      }
    };
    let answered = 0;
    let asked = 0;
    const reader = async (): Promise<void> => {
      const connections = new Connections(pools[3]!, { connectionWait: 600_000, cancelWait: 2_000 });
      const status = new IndexStatus(connections, R4);
      const segments = new PostgresSegments(R4);
      const counting = {
        haveAnswered: () => false,
        search: async (...given: Parameters<PostgresSegments['search']>) => {
          const page = await segments.search(...given);
          if (page !== undefined) answered++;
          return page;
        },
      } as unknown as PostgresSegments;
      const none = { haveAnswered: () => false, search: async () => undefined } as unknown as PostgresSegments;
      while (!end.isReached) {
        const { epoch, pending } = await status.load();
        if (Object.keys(pending).length > 0) continue;
        const queries = new RandomQueries(PROJECT, new ReferenceSearch(R4, [...expected.values()]), random);
        const query = { ...queries.search(), total: true };
        asked++;
        const found = await connections
          .snapshot(async (run) => {
            const index = {
              run,
              snapshot: <Result>(work: (one: typeof run) => Promise<Result>) => work(run),
              epoch,
              work: NO_WORK,
            };
            return [
              await search(R4, query, { ...index, segments: counting }),
              await search(R4, query, { ...index, segments: none }),
            ];
          })
          // The index changed meanwhile.
          .catch(() => undefined);
        if (found === undefined) continue;
        const [one, other] = found.map(({ matches, total }) => [matches.map(({ resource }) => resource.id), total]);
        expect([query, one]).toEqual([query, other]);
      }
    };
    const reading = reader();
    const building = builder();
    try {
      await Promise.race([Promise.all([writer(0), writer(1)]), reading]);
    } finally {
      end.isReached = true;
      await Promise.allSettled([reading, building]);
    }
    await reading;
    await building;
    expect(answered).toBeGreaterThan(10);
    tally.addTrials(asked);
    await buildSegments(pool, TYPES);
    await assertSearches(store, PROJECT, [...expected.values()], random, 20);
    expect((await store.verify()).problems).toEqual([]);
    await Promise.all(pools.map((one) => one.end()));
  }, 600_000);

  test('a list that is made while a commit is on its way has its write', async () => {
    await removeAll();
    const [one] = world.all.filter(({ resourceType }) => resourceType === 'Observation') as [AnyResource];
    const locking = await pool.connect();
    await locking.query('BEGIN');
    await locking.query('SELECT 1 FROM resource WHERE id = $1 FOR UPDATE', [one.id]);
    // Its statement has its snapshot, and waits for the row.
    const writing = world.write([{ ...one, status: 'entered-in-error' } as never]);
    const isWaiting = async (): Promise<boolean> =>
      (await countOf("pg_stat_activity WHERE wait_event_type = 'Lock'")) > 0;
    while (!(await isWaiting())) await sleep(5);
    const building = buildSegments(pool, TYPES);
    while ((await countOf('fhirgraph_segment_list')) === 0) await sleep(5);
    // A builder that did not wait would have read the resources by now.
    await sleep(300);
    await locking.query('ROLLBACK');
    locking.release();
    await Promise.all([writing, building]);
    expect(await countOf('fhirgraph_segment_list WHERE complete')).toBe(TYPES.length);
    await assertRight();
  });

  test('a list is made while others read for long', async () => {
    await removeAll();
    const dump = await pool.connect();
    await dump.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    for (const table of ['writer', 'segment_list', 'segment_row', 'segment_written'])
      await dump.query(`SELECT count(*) FROM fhirgraph_${table}`);
    await buildSegments(pool, TYPES);
    expect(await countOf('fhirgraph_segment_list WHERE complete')).toBe(TYPES.length);
    await dump.query('ROLLBACK');
    dump.release();
    await assertRight();
  });

  test('a list that is made beside a joined transaction has its later writes', async () => {
    await removeAll();
    const [one] = world.all.filter(({ resourceType }) => resourceType === 'Observation') as [AnyResource];
    const client = await pool.connect();
    await client.query('BEGIN');
    const joined = await store.join(client as never);
    // Fixes what the transaction sees.
    await joined.read([keyOf('Observation', one.id!)]);
    let polls = 0;
    let hasRead = false;
    const noting = through(pool, (statement, own) => {
      if (statement.text.includes('pg_locks')) polls++;
      if (statement.text.includes('ORDER BY r.id')) hasRead = true;
      return own.query(statement);
    });
    const building = buildSegments(noting, TYPES);
    while (polls < 5 && !hasRead) await sleep(5);
    const changed = { ...one, status: 'entered-in-error' } as unknown as AnyResource;
    const [written] = await joined.commit([put(changed)]);
    await client.query('COMMIT');
    client.release();
    joined.committed();
    if (written?.kind === 'put') world.current.set(`Observation/${one.id!}`, written.resource);
    await building;
    expect(await countOf('fhirgraph_segment_list WHERE complete')).toBe(TYPES.length);
    await assertRight();
  });

  /** Runs a builder that stops after some statements, and then is killed. @returns false if it had ended before */
  async function killedAt(stopAt: number): Promise<boolean> {
    const child = spawn(
      process.execPath,
      ['--import', LOADER, BUILDER, JSON.stringify([server.connection, SMALL, stopAt, 60_000])],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const closed = once(child, 'close');
    const [said] = (await once(child.stdout, 'data')) as [Buffer];
    child.kill('SIGKILL');
    const [, signal] = (await closed) as [number | null, string | null];
    return signal === 'SIGKILL' && String(said).startsWith('stopped');
  }

  test(`a killed builder leaves segments that answer, and another process continues, seed ${SEED}`, async () => {
    let killed = 0;
    for (let last = 80, trial = 0; trial < 6; trial++) {
      if (trial % 3 === 0) await removeAll();
      await world.change(10);
      const stopAt = 1 + below(last, random);
      if (!(await killedAt(stopAt))) {
        last = stopAt;
        continue;
      }
      killed += 1;
      tally.addFaults();
      tally.addTrials(1);
      await assertRight();
      await world.change(3);
      // Others would wait a minute for it.
      await rowsOf(pool, 'UPDATE fhirgraph_segment_list SET busy = NULL');
      await buildSegments(pool, TYPES);
      expect(await countOf('fhirgraph_segment_written')).toBe(0);
      expect(await countOf('fhirgraph_segment_list WHERE complete')).toBe(TYPES.length);
      await assertRight();
    }
    expect(killed).toBeGreaterThan(1);
  });

  test(`builders that begin at the same time work one after the other, seed ${SEED}`, async () => {
    const pools = Array.from({ length: 3 }, () => new pg.Pool({ ...server.connection, max: 2 }));
    for (let round = 0; round < 4; round++) {
      await world.change(10);
      if (round === 2) await removeAll();
      const writing = world.change(6);
      await Promise.all(pools.map((one) => buildSegments(one as never, TYPES)));
      await writing;
      await assertRight();
      tally.addTrials(1);
    }
    await Promise.all(pools.map((one) => one.end()));
  });

  test(`erasures beside builders leave nothing of what they erased, seed ${SEED}`, async () => {
    const SECRET = 'Only this one says so';
    let statements = 60;
    for (let trial = 0; trial < 12; trial++) {
      const id = `secret${trial}`;
      const secret = {
        resourceType: 'Observation',
        id,
        status: 'final',
        code: { text: SECRET, coding: [{ code: SECRET }] },
      };
      await world.write([secret]);
      await world.change(10);
      if (trial % 4 === 0) await removeAll();
      const at = below(statements, random);
      let place = 0;
      let erasure: Promise<unknown> | undefined;
      const erase = (): Promise<unknown> =>
        store.commit([{ kind: 'erase', key: keyOf('Observation', id), reason: 'test' }]);
      const erasing = through(pool, async (statement, client): Promise<PostgresAnswer> => {
        if (place++ === at) {
          // A builder that is about to commit has locked the list.
          erasure = erase();
          await Promise.race([erasure, sleep(500)]);
        }
        return client.query(statement);
      });
      await buildSegments(erasing, TYPES);
      if (erasure === undefined) statements = place;
      await (erasure ?? erase());
      world.current.delete(`Observation/${id}`);
      const holders = `fhirgraph_segment_row WHERE position('${SECRET}'::bytea IN data) > 0`;
      expect(await countOf(holders), `${at} of ${place}`).toBe(0);
      tally.addTrials(1);
      await buildSegments(pool, TYPES);
      expect(await countOf(holders)).toBe(0);
      await assertRight();
    }
  });
});
