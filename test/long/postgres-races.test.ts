import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { FhirError } from '../../src/index.js';
import { PostgresStore, type PostgresStoreOptions } from '../../src/postgres.js';
import type { Write } from '../../src/store.js';
import { storeConformance } from '../../src/testing.js';
import { createRandom, keyOf, put, putAll, queryOf, resourceOf } from '../support/kit.js';
import { KIT_EFFORT, SEED } from '../support/chance.js';
import { findPostgres, type PostgresServer, startPostgres } from '../support/postgres-server.js';

/** Hundreds of calls at once wait for ten connections; how long that takes is the machine's affair. */
const PATIENT = { connectionWait: 600_000 };

const programs = findPostgres();
if (programs === undefined) console.warn('There is no PostgreSQL on this machine: tests on a real server are skipped.');

describe.skipIf(programs === undefined)('on a real PostgreSQL server', () => {
  let server: PostgresServer;
  let pool: pg.Pool;

  beforeAll(async () => {
    server = await startPostgres(programs!);
    pool = new pg.Pool({ ...server.connection, max: 10 });
  });
  afterAll(async () => {
    await pool.end();
    await server.stop();
  });
  beforeEach(async () => {
    await pool.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
  });

  /** Its background work ends with the test, because the next test drops the tables. */
  const open = (options: PostgresStoreOptions = PATIENT): PostgresStore => {
    const store = new PostgresStore(pool, options);
    onTestFinished(() => store.close());
    return store;
  };

  describe.each([0, 4])('with %i partitions', (partitions) => {
    storeConformance({ describe, test }, () => new PostgresStore(pool, { ...PATIENT, partitions }), {
      seed: SEED,
      effort: KIT_EFFORT,
    });
  });

  test('processes that start at the same time prepare the database once', async () => {
    const stores = Array.from({ length: 12 }, () => new PostgresStore(pool, PATIENT));
    await Promise.all(stores.map((store, index) => putAll(store, resourceOf('Patient', `p${index}`))));
    expect((await stores[0]!.search(queryOf('Patient', undefined, { limit: 0, total: true }))).total).toBe(12);
    for (const store of stores) await store.close();
    expect(pool.listenerCount('error')).toBe(0);
  });

  test('200 concurrent commits of the same resources all succeed, one after the other', async () => {
    const store = open();
    const resources = [resourceOf('Patient', 'a'), resourceOf('Patient', 'b')];
    await Promise.all(Array.from({ length: 200 }, () => putAll(store, ...resources)));
    for (const id of ['a', 'b']) {
      const { entries, total } = await store.history(keyOf('Patient', id), { offset: 0, limit: 500 });
      expect(total).toBe(200);
      expect(entries.map(({ versionId }) => Number(versionId))).toEqual(Array.from({ length: 200 }, (_, n) => 200 - n));
    }
    expect((await store.verify()).problems).toEqual([]);
  });

  test('of commits that expect the same version one succeeds', async () => {
    const store = open();
    await putAll(store, resourceOf('Patient', 'a'));
    const write = put(resourceOf('Patient', 'a'), { expect: { version: '1' } });
    const codes = await codesOf(Array.from({ length: 40 }, () => store.commit([write])));
    expect(codes).toEqual({ done: 1, 'precondition-failed': 39 });
  });

  test('of conditional creates with the same condition one succeeds, with different conditions all', async () => {
    const store = open({ ...PATIENT, attempts: 100 });
    const create = (id: string, value: string): Promise<unknown> => store.commit(conditional(id, value));
    const same = await codesOf(Array.from({ length: 50 }, (_, index) => create(`a${index}`, 'x')));
    expect(same).toEqual({ done: 1, conflict: 49 });
    const different = await codesOf(Array.from({ length: 200 }, (_, index) => create(`b${index}`, `y${index}`)));
    expect(different).toEqual({ done: 200 });
    expect((await store.search(queryOf('Patient', undefined, { limit: 0, total: true }))).total).toBe(201);
  });

  test('of resources that claim the same unique text one gets it, and the others are told which', async () => {
    const store = open({ ...PATIENT, attempts: 100 });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, index) => store.commit([put(resourceOf('User', `u${index}`), { unique: ['x'] })])),
    );
    const winner = outcomes.findIndex(({ status }) => status === 'fulfilled');
    for (const [index, outcome] of outcomes.entries()) {
      if (index === winner) continue;
      const { code, details } = (outcome as PromiseRejectedResult).reason as FhirError;
      expect([code, details?.['holder']]).toEqual(['conflict', `User/u${winner}`]);
    }
    expect((await store.verify()).problems).toEqual([]);
  });

  test('commits over the same resources in any order, also across projects, all succeed', async () => {
    const store = open({ ...PATIENT, attempts: 100 });
    const random = createRandom(SEED);
    const ids = Array.from({ length: 20 }, (_, index) => `r${index}`);
    const expected = new Map<string, number>();
    const commits = Array.from({ length: 150 }, () => {
      const chosen = ids.filter(() => random() < 0.4).sort(() => random() - 0.5);
      const writes: Write[] = chosen.map((id) => {
        const project = random() < 0.5 ? 'clinic' : 'ward';
        expected.set(`${project}/${id}`, (expected.get(`${project}/${id}`) ?? 0) + 1);
        return put(resourceOf('Patient', id), random() < 0.3 ? { unique: [`key of ${id}`] } : {}, project);
      });
      return store.commit(writes);
    });
    expect(await codesOf(commits)).toEqual({ done: 150 });
    for (const [name, versions] of expected) {
      const [project, id] = name.split('/') as [string, string];
      expect((await store.history(keyOf('Patient', id, project), { offset: 0, limit: 1 })).total).toBe(versions);
    }
    expect((await store.verify()).problems).toEqual([]);
  });

  test('a signal ends statements on the server, and their connections return to the pool', async () => {
    const store = open();
    await putAll(store, resourceOf('Patient', 'a'));
    const locking = await pool.connect();
    await locking.query('BEGIN; LOCK TABLE resource IN ACCESS EXCLUSIVE MODE');
    const waiting = async (): Promise<number> => {
      // A transaction knows only the connections that were there when it first looked.
      await locking.query('SELECT pg_stat_clear_snapshot()');
      const { rows } = await locking.query<{ n: number }>(
        "SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
      );
      return rows[0]!.n;
    };
    for (const call of [
      (signal: AbortSignal) => store.read([keyOf('Patient', 'a')], { signal }),
      (signal: AbortSignal) => store.search(queryOf('Patient', undefined, { limit: 1, total: true }), { signal }),
      (signal: AbortSignal) => putAllWith(store, signal),
    ]) {
      const controller = new AbortController();
      const outcome = codesOf([call(controller.signal)]);
      while ((await waiting()) === 0) await sleep(5);
      controller.abort();
      expect(await outcome).toEqual({ aborted: 1 });
      while ((await waiting()) > 0) await sleep(5);
      while (pool.totalCount - pool.idleCount > 1) await sleep(5);
    }
    await locking.query('ROLLBACK');
    locking.release();
    expect((await store.history(keyOf('Patient', 'a'), { offset: 0, limit: 9 })).total).toBe(1);
  });

  test('connections ended by an administrator make calls unavailable, and nothing is half written', async () => {
    const store = open();
    const acknowledged: string[] = [];
    let ended = false;
    const writers = Array.from({ length: 6 }, async (_, writer) => {
      const codes = new Set<string>();
      for (let n = 0; !ended; n++) {
        const id = `w${writer}-${n}`;
        const [code] = Object.keys(await codesOf([putAll(store, resourceOf('Patient', id), resourceOf('Person', id))]));
        if (code === 'done') acknowledged.push(id);
        else codes.add(code!);
      }
      return [...codes];
    });
    const admin = new pg.Client(server.connection);
    await admin.connect();
    for (let round = 0; round < 40; round++) {
      await sleep(40);
      await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE pid <> pg_backend_pid() AND backend_type = 'client backend' ORDER BY random() LIMIT 2`);
    }
    ended = true;
    const codes = new Set((await Promise.all(writers)).flat());
    await admin.end();
    expect([...codes]).toEqual(['unavailable']);
    const reads = await store.read(acknowledged.flatMap((id) => [keyOf('Patient', id), keyOf('Person', id)]));
    expect(reads.filter(({ status }) => status !== 'found')).toEqual([]);
    const [patients, persons] = await Promise.all(['Patient', 'Person'].map((type) => store.search(queryOf(type))));
    const idsOf = (page: typeof patients): unknown[] => page!.matches.map(({ resource }) => resource.id);
    expect(idsOf(patients)).toEqual(idsOf(persons));
    expect((await store.verify()).problems).toEqual([]);
  });

  test('a call waits for a free connection no longer than its limit', async () => {
    const store = open({ connectionWait: 100 });
    await putAll(store, resourceOf('Patient', 'a'));
    const held = await Promise.all(Array.from({ length: 10 }, () => pool.connect()));
    const calls = Array.from({ length: 30 }, () => store.read([keyOf('Patient', 'a')]));
    expect(await codesOf(calls)).toEqual({ unavailable: 30 });
    for (const client of held) client.release();
    expect(await codesOf([store.read([keyOf('Patient', 'a')])])).toEqual({ done: 1 });
  });
});

function conditional(id: string, value: string): Write[] {
  const test = { kind: 'token', code: value } as const;
  return [
    { kind: 'assert-no-match', query: queryOf('Patient', { kind: 'match', parameter: 'identifier', test }) },
    put(resourceOf('Patient', id, { identifier: [{ value }] })),
  ];
}

function putAllWith(store: PostgresStore, signal: AbortSignal): Promise<unknown> {
  return store.commit([put(resourceOf('Patient', 'a'))], { signal });
}

/** How many of the calls ended how. */
async function codesOf(calls: readonly Promise<unknown>[]): Promise<{ readonly [code: string]: number }> {
  const counts: { [code: string]: number } = {};
  for (const outcome of await Promise.allSettled(calls)) {
    if (outcome.status === 'rejected' && !(outcome.reason instanceof FhirError)) throw outcome.reason;
    const code = outcome.status === 'fulfilled' ? 'done' : (outcome.reason as FhirError).code;
    counts[code] = (counts[code] ?? 0) + 1;
  }
  return counts;
}
