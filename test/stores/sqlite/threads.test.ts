import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { describe, expect, test, vi } from 'vitest';
import { PACE } from '../../../src/platform/pace.js';
import { type AnyResource } from '../../../src/index.js';
import { SqliteStore } from '../../../src/sqlite.js';
import { R4, type Write } from '../../../src/store.js';
import { createRandom, PROJECT, put, randomResources, resourceOf } from '../../support/kit.js';
import { isLarge } from '../../../src/stores/sqlite/threads/text-writes.js';
import { THREAD_TUNING } from '../../../src/stores/sqlite/database/tuning.js';
import { assertSearches, skewedResources } from '../../../src/testing/suites/random-searches.js';
import { cases, SEED } from '../../support/chance.js';
import { until } from '../../support/until.js';
import { stopClock } from '../../support/stop-clock.js';
import { temporaryFolder } from '../temporary-folder.js';
import {
  countIn,
  databaseOf,
  deafen,
  errorOf,
  newStore,
  onceReady,
  onWorker,
  patient,
  patients,
  PATIENTS,
  storeInLoop,
  threadedStore,
  watchThreads,
  workers,
} from './thread-stores.js';

watchThreads();

/** Threads receive the parts of commits, but not their calls. @returns the parts, and a function that sends the calls */
function holdCalls(): { readonly parts: readonly unknown[]; release(): void } {
  const parts: unknown[] = [];
  const held: (() => void)[] = [];
  const send = Worker.prototype.postMessage;
  const spy = vi.spyOn(Worker.prototype, 'postMessage').mockImplementation(function (this: Worker, message: unknown) {
    if (!('part' in (message as object))) return void held.push(() => send.call(this, message));
    parts.push(message);
    send.call(this, message);
  });
  const release = (): void => {
    spy.mockRestore();
    for (const call of held) call();
  };
  return { parts, release };
}

/** Whether another connection has the lock of writers. */
function isLocked(database: Database.Database): boolean {
  try {
    database.exec('BEGIN IMMEDIATE; ROLLBACK');
    return false;
  } catch {
    return true;
  }
}

/** Settles when a thread has been sent a call, from now on. */
async function nextCall(): Promise<void> {
  const { mock } = vi.spyOn(Worker.prototype, 'postMessage');
  const before = mock.calls.length;
  const isCall = ([request]: readonly unknown[]): boolean => typeof request === 'object' && 'call' in request!;
  while (!mock.calls.slice(before).some(isCall)) await new Promise((resolve) => setImmediate(resolve));
}

const fileNamed = temporaryFolder();

describe('a thread answers like the event loop', () => {
  test(`random searches (seed ${SEED})`, async () => {
    const random = createRandom(SEED);
    const store = threadedStore();
    const resources = [...skewedResources(70, random), ...randomResources(random)];
    const results = await store.commit(resources.map((resource) => put(resource)));
    const stored = results.map((result) => (result.kind === 'put' ? result.resource : expect.fail()));
    const current = [...new Map(stored.map((one) => [`${one.resourceType}/${one.id}`, one])).values()];
    await assertSearches(store, PROJECT, current, random, cases(200, 25));
    // A reader and a writer.
    expect(workers).toHaveLength(2);
  });

  test('a commit gives the same results, resources and changes as in the event loop', async () => {
    const clock = (): Date => new Date('2024-05-06T07:08:09.010Z');
    const outcomes = [];
    for (const store of [newStore({ clock, readers: 0 }), threadedStore({ clock })]) {
      const { position } = await store.changes({ project: PROJECT });
      await store.commit([put(patient(1)), put(patient(2))]);
      const results = await store.commit([
        { ...put({ ...patient(1), gender: 'other' } as AnyResource), expect: { version: '1' } },
        { kind: 'delete', key: put(patient(2)).key },
        { kind: 'delete', key: put(patient(3)).key },
        {
          kind: 'assert-no-match',
          query: { ...PATIENTS, criteria: { kind: 'missing', parameter: 'active', missing: true } },
        },
        put(patient(4)),
      ]);
      const { changes } = await store.changes({ project: PROJECT, after: position });
      outcomes.push({
        results: results.map((result) => ({ ...result })),
        changes: changes.map(({ position: _, ...change }) => change),
        page: await store.search(PATIENTS),
      });
    }
    expect(outcomes[1]).toEqual(outcomes[0]);
    expect(outcomes[1]!.changes).toHaveLength(5);
  });

  test('errors have their code and details', async () => {
    const store = threadedStore();
    await store.commit([put(patient(1))]);
    const error = await errorOf(store.commit([put(patient(2)), { ...put(patient(1)), expect: { version: null } }]));
    expect(error).toMatchObject({ code: 'precondition-failed', details: { index: 1 } });
    expect((await store.search(PATIENTS)).total).toBe(1);
    const taken = await errorOf(store.commit([{ kind: 'assert-no-match', query: PATIENTS }]));
    expect(taken).toMatchObject({ code: 'conflict', details: { index: 0, holder: 'Patient/p1' } });
    const invalid = await errorOf(store.commit([{ ...put(patient(1)), resource: patient(2) }]));
    expect(invalid).toMatchObject({ code: 'invalid', details: { index: 0 } });
  });

  test('a caller reads its own writes', async () => {
    const store = threadedStore();
    for (let count = 1; count <= cases(30, 20); count++) {
      await store.commit([put(patient(count))]);
      const { matches, total } = await store.search(PATIENTS);
      expect([matches.length, total]).toEqual([count, count]);
    }
  });

  test('a page with its count shows one moment', async () => {
    const rounds = cases(20, 20);
    const store = threadedStore({ readers: 2 });
    await store.commit([put(patient(0))]);
    const writing = (async () => {
      for (let count = 1; count <= 2 * rounds; count++) await store.commit([put(patient(count))]);
    })();
    const pages = [];
    for (let round = 0; round < rounds; round++) {
      pages.push(...(await Promise.all([store.search(PATIENTS), store.search({ ...PATIENTS, limit: 100 })])));
    }
    await writing;
    for (const { matches, total } of pages) expect(matches).toHaveLength(total!);
  });

  test('a reindexing and a verification leave the event loop too', async () => {
    const store = threadedStore();
    await store.commit(patients(30).map((resource) => put(resource)));
    THREAD_TUNING.smallFile = 0;
    expect(await store.reindex()).toBe(30);
    expect(await store.verify()).toEqual({ resources: 30, problems: [] });
    expect((await store.search(PATIENTS)).total).toBe(30);
    expect(workers.length).toBeGreaterThanOrEqual(2);
  });
});

describe('work that leaves the event loop', () => {
  test('a search that takes longer stops after its first rows and is repeated in a thread', async () => {
    const store = storeInLoop();
    await store.commit(patients(600).map((resource) => put(resource)));
    const before = workers.length;
    const query = { ...PATIENTS, limit: 3, sort: [{ parameter: 'active', descending: true }] };
    const inLoop = await store.search(query);
    expect(workers).toHaveLength(before);
    THREAD_TUNING.inlineMs = 0;
    const taken = await store.search(query);
    expect(workers).toHaveLength(before + 1);
    expect(taken).toEqual(inLoop);
    expect(taken.total).toBe(600);
  });

  test('a page without conditions and with a large offset leaves the event loop too', async () => {
    const store = storeInLoop();
    await store.commit(patients(600).map((resource) => put(resource)));
    const { total: _, ...query } = { ...PATIENTS, limit: 3, offset: 500 };
    const inLoop = await store.search(query);
    const before = workers.length;
    THREAD_TUNING.inlineMs = 0;
    expect(await store.search(query)).toEqual(inLoop);
    expect(workers).toHaveLength(before + 1);
    expect(inLoop.matches).toHaveLength(3);
  });

  test('a commit that takes longer is rolled back and repeated by a thread, once', async () => {
    const store = storeInLoop();
    THREAD_TUNING.inlineMs = 0;
    const results = await store.commit([put(patient(1))]);
    expect(results).toMatchObject([{ created: true, versionId: '1' }]);
    expect(workers).toHaveLength(1);
    expect(await store.history(put(patient(1)).key, { offset: 0, limit: 5 })).toMatchObject({ total: 1 });
  });

  test('large commits run in a thread, and later small commits follow them', async () => {
    const store = storeInLoop();
    const large = store.commit(patients(30).map((resource) => put(resource)));
    const small = store.commit([{ ...put(patient(3)), expect: { version: '1' } }]);
    expect((await large)[29]).toMatchObject({ versionId: '1' });
    expect(await small).toMatchObject([{ created: false, versionId: '2' }]);
    expect(workers).toHaveLength(1);
    await store.commit([put(patient(4))]);
    expect(workers).toHaveLength(1);
  });

  test('a thread writes the first part of a commit while the event loop prepares the others', async () => {
    const store = threadedStore();
    await store.commit([put(patient(0))]);
    const { parts, release } = holdCalls();
    const controller = new AbortController();
    const writes = patients(9).map((resource) => put(resource));
    const commit = errorOf(store.commit(writes, { signal: controller.signal }));
    await until(() => parts.length === 5);
    const other = new Database(databaseOf(store), { timeout: 0 });
    // It has the writer lock, and other connections see none of its writes.
    await until(() => isLocked(other));
    expect(other.prepare('SELECT count(*) FROM version').pluck().get()).toBe(1);
    controller.abort();
    expect(await commit).toMatchObject({ code: 'aborted' });
    release();
    await until(() => !isLocked(other));
    other.close();
    expect(await countIn(store)).toBe(1);
    expect(await store.commit(writes)).toMatchObject([
      { versionId: '2' },
      ...writes.slice(1).map(() => ({ created: true })),
    ]);
    expect(await store.verify()).toMatchObject({ problems: [] });
  });

  test('a part that fails rolls back the parts before it, and ignores those after it', async () => {
    const store = threadedStore();
    await store.commit([put(patient(3))]);
    const writes = patients(9).map((resource) => ({ ...put(resource), expect: { version: null } }));
    const error = await errorOf(store.commit(writes));
    expect(error).toMatchObject({ code: 'precondition-failed', details: { index: 3 } });
    expect(await countIn(store)).toBe(1);
    expect(await store.commit(writes.filter((_, index) => index !== 3))).toHaveLength(8);
    expect(await store.verify()).toMatchObject({ problems: [] });
  });

  test('a commit waits in a thread for another process that writes', async () => {
    const store = storeInLoop({ busyTimeout: 600_000 });
    // The first commit prepares the statements of all.
    await store.commit([put(patient(0))]);
    const other = new Database(databaseOf(store));
    other.exec('BEGIN IMMEDIATE');
    const clock = stopClock();
    const commit = store.commit([put(patient(1))]);
    const timed = errorOf(store.commit([put(patient(2))], { deadline: performance.now() + 150 }));
    await clock.pass(150);
    expect(await timed).toMatchObject({ code: 'aborted', details: { deadline: true } });
    other.exec('ROLLBACK');
    other.close();
    expect(await commit).toMatchObject([{ versionId: '1' }]);
  });

  test('rebuilding the rows of a project waits for another process, and other calls continue', async () => {
    const store = storeInLoop({ busyTimeout: 600_000 });
    await store.commit(patients(10).map((resource) => put(resource)));
    const other = new Database(databaseOf(store));
    other.exec('BEGIN IMMEDIATE');
    const reindexed = store.reindex({ project: PROJECT });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await store.search(PATIENTS)).total).toBe(10);
    other.exec('ROLLBACK');
    other.close();
    expect(await reindexed).toBe(10);
  });

  test('other work runs between consecutive calls', async () => {
    const store = storeInLoop();
    PACE.turnMs = 0;
    await store.commit([put(patient(1))]);
    let turns = 0;
    let counting = true;
    const count = (): void => {
      turns += 1;
      if (counting) setImmediate(count);
    };
    setImmediate(count);
    for (let call = 0; call < 10; call++) await store.read([put(patient(1)).key]);
    counting = false;
    expect(turns).toBeGreaterThanOrEqual(9);
  });

  test.each([
    ['in memory', () => new SqliteStore(':memory:')],
    ['that the host opened', () => new SqliteStore(new Database(fileNamed('host.db')))],
    ['without readers', () => new SqliteStore(fileNamed('none.db'), { readers: 0 })],
  ])('no call of a database %s', async (_, create) => {
    const store = create();
    Object.assign(THREAD_TUNING, { inlineMs: -1, smallFile: 0 });
    await store.commit(patients(40).map((resource) => put(resource)));
    expect((await store.search(PATIENTS)).total).toBe(40);
    expect((await store.verify()).problems).toEqual([]);
    expect(workers).toEqual([]);
    await store.close();
  });

  test.each([-1, 65, 1.5])('readers is a number from 0 to 64, not %s', (readers) => {
    expect(() => new SqliteStore(':memory:', { readers })).toThrow(/readers/);
  });
});

describe('calls end', () => {
  test('at their deadline, even if the thread does not notice', async () => {
    const store = threadedStore();
    await store.commit([put(patient(1))]);
    const clock = stopClock();
    const hear = deafen();
    const sent = nextCall();
    const error = errorOf(store.search(PATIENTS, { deadline: performance.now() + 1_000 }));
    await sent;
    await clock.pass(1_000 + THREAD_TUNING.graceMs);
    expect(await error).toMatchObject({ code: 'aborted', details: { deadline: true } });
    hear();
    // The thread was abandoned: another one runs the next call.
    expect((await store.search(PATIENTS)).total).toBe(1);
  });

  test('while they wait for a thread', async () => {
    const store = threadedStore();
    await store.commit([put(patient(1))]);
    const hear = deafen();
    const first = errorOf(store.search(PATIENTS));
    const controller = new AbortController();
    const second = errorOf(store.search(PATIENTS, { signal: controller.signal }));
    const clock = stopClock();
    const third = errorOf(store.search(PATIENTS, { deadline: performance.now() + 10 }));
    await clock.pass(10);
    clock.start();
    expect(await third).toMatchObject({ code: 'aborted', details: { deadline: true } });
    controller.abort();
    expect(await second).toMatchObject({ code: 'aborted' });
    hear();
    await store.close();
    expect(await first).toMatchObject({ code: 'unavailable' });
  });

  test('by their signal, and the thread continues with the next call', async () => {
    const store = threadedStore();
    await store.commit(patients(30).map((resource) => put(resource)));
    const controller = new AbortController();
    const sent = nextCall();
    const search = errorOf(store.search(PATIENTS, { signal: controller.signal }));
    await sent;
    // The thread ends it by itself.
    THREAD_TUNING.graceMs = 600_000;
    const reason = new Error('The user has left');
    controller.abort(reason);
    expect(await search).toMatchObject({ code: 'aborted', cause: reason });
    expect((await store.search(PATIENTS)).total).toBe(30);
  });

  test('at their deadline, which the thread receives before its own clock reaches it', async () => {
    const store = storeInLoop({ busyTimeout: 600_000 });
    await store.commit([put(patient(1))]);
    const other = new Database(databaseOf(store));
    other.exec('BEGIN IMMEDIATE');
    const clock = stopClock();
    const sent = nextCall();
    const error = errorOf(store.commit([put(patient(2))], { deadline: performance.now() + 600_000 }));
    await sent;
    await clock.pass(600_000);
    expect(await error).toMatchObject({ code: 'aborted', details: { deadline: true } });
    other.close();
    expect((await store.search(PATIENTS)).total).toBe(1);
  });

  test('when the store closes, even if a thread runs them', async () => {
    const store = threadedStore();
    await store.commit(patients(30).map((resource) => put(resource)));
    const sent = nextCall();
    const search = errorOf(store.search(PATIENTS));
    await sent;
    THREAD_TUNING.graceMs = 600_000;
    await store.close();
    expect(await search).toMatchObject({ code: 'unavailable' });
  });

  test('when the store closes: commits are finished, searches rejected', async () => {
    const store = threadedStore({ readers: 2 });
    const file = databaseOf(store);
    const commit = store.commit(patients(30).map((resource) => put(resource)));
    const search = errorOf(store.search(PATIENTS));
    const waiting = store.commit([put(patient(40))]);
    await Promise.resolve();
    await store.close();
    expect(await commit).toHaveLength(30);
    expect(await search).toMatchObject({ code: 'unavailable' });
    expect(await waiting).toHaveLength(1);
    expect(await errorOf(store.commit([put(patient(41))]))).toMatchObject({ code: 'unavailable' });
    const again = new SqliteStore(file);
    expect((await again.search(PATIENTS)).total).toBe(31);
    await again.close();
  });
});

test('a commit that waits for its turn when the store closes is completed', async () => {
  const store = storeInLoop();
  PACE.turnMs = 0;
  await store.commit([put(patient(1))]);
  const waiting = store.commit([put(patient(2))]);
  await store.close();
  expect(await waiting).toHaveLength(1);
});

test('an idle thread does not keep the process alive', async () => {
  const unref = vi.fn();
  onWorker((worker) => void vi.spyOn(worker, 'unref').mockImplementation(unref));
  const store = threadedStore();
  await store.commit([put(patient(1))]);
  expect(unref).toHaveBeenCalled();
});

test('the definitions of a thread equal those of its store', () => {
  const { texts, fingerprint } = R4.definitions;
  expect(fingerprint).not.toBe('');
  expect(structuredClone(texts)).toEqual(texts);
});

test('a resource with a long text goes to the thread, like a resource with many values', () => {
  const binary = (length: number): Write => put(resourceOf('Binary', 'b', { data: 'A'.repeat(length) }));
  expect([isLarge(binary(150_000)), isLarge(binary(170_000))]).toEqual([false, true]);
});

test('the death of a thread costs a search only time', async () => {
  const store = threadedStore();
  await store.commit([put(patient(1))]);
  const hear = deafen();
  onWorker((worker) => {
    onWorker(() => undefined);
    onceReady(worker, () => {
      hear();
      void worker.terminate();
    });
  });
  expect((await store.search(PATIENTS)).total).toBe(1);
});
