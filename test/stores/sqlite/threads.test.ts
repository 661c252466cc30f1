import { randomUUID } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { PACE } from '../../../src/platform/pace.js';
import { type AnyResource, FhirError } from '../../../src/index.js';
import { SqliteStore, type SqliteStoreOptions } from '../../../src/sqlite.js';
import { type CallOptions, R4, type SearchQuery, type Write } from '../../../src/store.js';
import { createRandom, PROJECT, put, randomResources, resourceOf } from '../../support/kit.js';
import { indexNeedsFhirPath, prepareModel } from '../../../src/search/index/prepare-model.js';
import type { WritePart } from '../../../src/stores/sqlite/threads/protocol.js';
import { isLarge } from '../../../src/stores/sqlite/threads/text-writes.js';
import { THREAD_TUNING } from '../../../src/stores/sqlite/database/tuning.js';
import { assertSearches, skewedResources } from '../../../src/testing/suites/random-searches.js';
import { cases, SEED } from '../../support/chance.js';
import { until } from '../../support/until.js';
import { stopClock } from '../../support/stop-clock.js';
import { modelWith } from '../models.js';
import { temporaryFolder } from '../temporary-folder.js';

const { turnMs } = PACE;
const DEFAULTS = { ...THREAD_TUNING };
const fileNamed = temporaryFolder();
/** The open stores and their files. */
const files = new Map<SqliteStore, string>();
let workers: Worker[] = [];
/** Called with each thread when it is created. */
let onWorker: (worker: Worker) => void = () => undefined;
process.on('worker', noteWorker);

function noteWorker(worker: Worker): void {
  workers.push(worker);
  onWorker(worker);
}

afterEach(async () => {
  Object.assign(THREAD_TUNING, DEFAULTS);
  PACE.turnMs = turnMs;
  onWorker = () => undefined;
  await Promise.all([...files.keys()].map((store) => store.close()));
  files.clear();
  workers = [];
  vi.restoreAllMocks();
});

type Posted = { readonly part?: WritePart; readonly call?: { readonly kind: string } };

/** Receives all messages to any thread. */
function onPost(hear: (worker: Worker, request: Posted) => void): void {
  const post = Worker.prototype.postMessage;
  vi.spyOn(Worker.prototype, 'postMessage').mockImplementation(function (this: Worker, request: Posted) {
    post.call(this, request);
    hear(this, request);
  });
}

/** Ends a thread before its next answer is heard. */
function killAtAnswer(worker: Worker): void {
  const emit = worker.emit.bind(worker);
  worker.emit = ((event: string, ...values: unknown[]) => {
    if (event !== 'message' || values[0] === 'ready') return emit(event as never, ...(values as []));
    void worker.terminate();
    return true;
  }) as never;
}

/** A store whose calls never take too long. */
function storeInLoop(options: SqliteStoreOptions = {}): SqliteStore {
  THREAD_TUNING.inlineMs = 1e9;
  return newStore(options);
}

/** A store whose every search and commit goes to a thread, in parts that are as large on a slow machine. */
function threadedStore(options: SqliteStoreOptions = {}): SqliteStore {
  Object.assign(THREAD_TUNING, { inlineMs: -1, slice: 2 });
  PACE.turnMs = 1e9;
  return newStore(options);
}

function newStore(options: SqliteStoreOptions = {}): SqliteStore {
  const file = fileNamed(`${randomUUID()}.db`);
  const store = new SqliteStore(file, { readers: 1, synchronous: 'off', ...options });
  files.set(store, file);
  return store;
}

const PATIENTS: SearchQuery = { project: PROJECT, type: 'Patient', criteria: { kind: 'all' }, total: true };

/** The number of patients, counted in the event loop: a thread that only counts takes longer than most tests. */
async function countIn(store: SqliteStore): Promise<number> {
  const { inlineMs } = THREAD_TUNING;
  THREAD_TUNING.inlineMs = 1e9;
  const { total } = await store.search({ ...PATIENTS, limit: 0 });
  THREAD_TUNING.inlineMs = inlineMs;
  return total!;
}

function patient(number: number): AnyResource {
  return { resourceType: 'Patient', id: `p${number}`, active: number % 2 === 0 } as AnyResource;
}

function patients(count: number): AnyResource[] {
  return Array.from({ length: count }, (_, number) => patient(number));
}

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

/** Threads never receive their calls, as if inside a statement that does not end. @returns a function that ends that */
function deafen(): () => void {
  const spy = vi.spyOn(Worker.prototype, 'postMessage').mockImplementation(() => undefined);
  return () => spy.mockRestore();
}

/** Settles when a thread has been sent a call, from now on. */
async function nextCall(): Promise<void> {
  const { mock } = vi.spyOn(Worker.prototype, 'postMessage');
  const before = mock.calls.length;
  const isCall = ([request]: readonly unknown[]): boolean => typeof request === 'object' && 'call' in request!;
  while (!mock.calls.slice(before).some(isCall)) await new Promise((resolve) => setImmediate(resolve));
}

function onceReady(worker: Worker, action: () => void): void {
  worker.on('message', (message) => void (message === 'ready' && action()));
}

async function errorOf(promise: Promise<unknown>): Promise<FhirError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(FhirError);
  return error as FhirError;
}

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
    for (let count = 1; count <= 30; count++) {
      await store.commit([put(patient(count))]);
      const { matches, total } = await store.search(PATIENTS);
      expect([matches.length, total]).toEqual([count, count]);
    }
  });

  test('a page with its count shows one moment', async () => {
    const store = threadedStore({ readers: 2 });
    await store.commit([put(patient(0))]);
    const writing = (async () => {
      for (let count = 1; count <= 40; count++) await store.commit([put(patient(count))]);
    })();
    const pages = [];
    for (let round = 0; round < 20; round++) {
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

describe('large resources', () => {
  const large = (id: string): AnyResource => ({
    resourceType: 'Patient',
    id,
    ...{ text: { div: 'x'.repeat(300_000) } },
  });
  const turnsDuring = async (work: Promise<unknown>): Promise<number> => {
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      if (isOver) return;
      turns += 1;
      setImmediate(count);
    };
    setImmediate(count);
    await work;
    isOver = true;
    return turns;
  };

  test('of a page are read one by one, with other work between them', async () => {
    const store = storeInLoop({ cacheBytes: 0 });
    for (let n = 0; n < 12; n++) await store.commit([put(large(`p${n}`))]);
    await store.read([{ project: PROJECT, type: 'Patient', id: 'p0' }]);
    PACE.turnMs = 0;
    const search = store.search(PATIENTS);
    expect(await turnsDuring(search)).toBeGreaterThanOrEqual(11);
    expect((await search).matches).toHaveLength(12);
    const read = store.read(
      (await search).matches.map(({ resource }) => ({ project: PROJECT, type: 'Patient', id: resource.id! })),
    );
    expect(await turnsDuring(read)).toBeGreaterThanOrEqual(11);
  });

  test('of a history are read one by one, with other work between them', async () => {
    const store = storeInLoop();
    for (let n = 0; n < 12; n++) await store.commit([put(large('p'))]);
    PACE.turnMs = 0;
    const history = store.history({ project: PROJECT, type: 'Patient', id: 'p' }, { offset: 0, limit: 100 });
    expect(await turnsDuring(history)).toBeGreaterThanOrEqual(11);
    expect((await history).entries.map(({ versionId }) => versionId)).toEqual(
      Array.from({ length: 12 }, (_, n) => String(12 - n)),
    );
    await store.read([{ project: PROJECT, type: 'Patient', id: 'p' }]);
    const ofType = store.typeHistory({ project: PROJECT, type: 'Patient', limit: 100 });
    expect(await turnsDuring(ofType)).toBeGreaterThanOrEqual(11);
    expect((await ofType).map(({ versionId }) => versionId)).toEqual(
      (await history).entries.map(({ versionId }) => versionId),
    );
    const late = store.typeHistory({ project: PROJECT, type: 'Patient', limit: 100 }, { signal: AbortSignal.abort() });
    await expect(late).rejects.toMatchObject({ code: 'aborted' });
  });

  test('are sent to a thread one by one, with other work between them', async () => {
    const posted = vi.spyOn(Worker.prototype, 'postMessage');
    const store = newStore();
    PACE.turnMs = 0;
    const results = await store.commit(Array.from({ length: 30 }, (_, n) => put(large(`p${n}`))));
    expect(results).toHaveLength(30);
    const parts = posted.mock.calls.filter(([request]) => typeof request === 'object' && 'part' in (request as object));
    expect(parts).toHaveLength(30);
  });

  test('are indexed by the thread, even if they are alone', async () => {
    const posted = vi.spyOn(Worker.prototype, 'postMessage');
    const store = newStore();
    const name = Array.from({ length: 2000 }, (_, n) => ({ family: `Family${n}` }));
    await store.commit([put({ resourceType: 'Patient', id: 'large', ...{ name } })]);
    const parts = posted.mock.calls.flatMap(([request]) => (request as { part?: WritePart }).part ?? []);
    expect(parts.map(({ entries }) => [...entries.numbers])).toEqual([[-1]]);
    const family = (text: string): Promise<unknown> => {
      const test = { kind: 'string', comparator: 'exact', text } as const;
      return store.search({ ...PATIENTS, criteria: { kind: 'match', parameter: 'family', test } });
    };
    expect(await family('Family1999')).toMatchObject({ total: 1 });
    expect(await family('Family2000')).toMatchObject({ total: 0 });
  });

  test('are replaced, deleted and erased by the thread, and small ones in the event loop', async () => {
    const posted = vi.spyOn(Worker.prototype, 'postMessage');
    const store = newStore();
    THREAD_TUNING.inlineMs = 1e9;
    const commits = (): number =>
      posted.mock.calls.filter(([request]) => (request as { call?: { kind: string } }).call?.kind === 'commit').length;
    const key = { project: PROJECT, type: 'Patient', id: 'p' };
    const small = { resourceType: 'Patient', id: 'p' };
    const sent: number[] = [];
    const commit = async (write: Write): Promise<void> => {
      const before = commits();
      await store.commit([write]);
      sent.push(commits() - before);
    };
    for (const resource of [large('p'), small]) {
      await commit(put(resource));
      await commit({ kind: 'delete', key });
    }
    expect(sent).toEqual([1, 1, 0, 0]);
    await commit(put(large('p')));
    await commit(put(small));
    await commit(put(small));
    expect(sent.slice(4)).toEqual([1, 1, 0]);
    await commit(put(large('p')));
    await commit({ kind: 'erase', key, reason: 'asked-for' });
    expect(sent.slice(7)).toEqual([1, 1]);
    const { entries, total } = await store.history(key, { offset: 0, limit: 10 });
    expect([entries.map(({ versionId }) => versionId), total]).toEqual([['9'], 1]);
  });

  test('have a batch of their own when index rows are rebuilt', async () => {
    const store = storeInLoop();
    await store.commit(patients(12).map((resource) => put(resource)));
    let now = performance.now();
    // Each look at the clock finds that the batch took long enough.
    vi.spyOn(performance, 'now').mockImplementation(() => (now += 10));
    let batches = 0;
    await store.reindex({ project: PROJECT, onProgress: () => (batches += 1) });
    expect(batches).toBeGreaterThanOrEqual(12);
  });
});

test('a thread writes the log to the database before the last connection closes', async () => {
  const posted = vi.spyOn(Worker.prototype, 'postMessage');
  const store = newStore();
  const file = databaseOf(store);
  await store.commit(patients(200).map((resource) => put(resource)));
  await store.close();
  const kinds = posted.mock.calls.map(
    ([request]) => (request as { readonly call?: { readonly kind: string } }).call?.kind,
  );
  expect(kinds.filter((kind) => kind !== undefined)).toEqual(['commit', 'checkpoint']);
  const again = new SqliteStore(file);
  expect((await again.search(PATIENTS)).total).toBe(200);
  await again.close();
});

describe('the death of a thread', () => {
  test('costs a search only time', async () => {
    const store = threadedStore();
    await store.commit([put(patient(1))]);
    const hear = deafen();
    onWorker = (worker) => {
      onWorker = () => undefined;
      onceReady(worker, () => {
        hear();
        void worker.terminate();
      });
    };
    expect((await store.search(PATIENTS)).total).toBe(1);
  });

  test('is unavailable if it happens repeatedly', async () => {
    const store = threadedStore();
    await store.commit([put(patient(1))]);
    const hear = deafen();
    onWorker = (worker) => onceReady(worker, () => void worker.terminate());
    expect(await errorOf(store.search(PATIENTS))).toMatchObject({ code: 'unavailable', details: undefined });
    onWorker = () => undefined;
    hear();
    expect((await store.search(PATIENTS)).total).toBe(1);
  });

  test('leaves the result of a commit that it began unknown', async () => {
    const store = threadedStore();
    onWorker = (worker) => killAtAnswer(worker);
    const error = await errorOf(store.commit([put(patient(1))]));
    expect(error).toMatchObject({ code: 'unavailable', details: { unknown: true } });
    onWorker = () => undefined;
    await store.commit([put(patient(2))]);
    expect(await countIn(store)).toBe(2);
  });

  test('costs a commit that it did not begin only time, once', async () => {
    const store = threadedStore();
    const hear = deafen();
    onWorker = (worker) => onceReady(worker, () => void worker.terminate());
    expect(await errorOf(store.commit([put(patient(1))]))).toMatchObject({ code: 'unavailable', details: undefined });
    onWorker = (worker) => {
      onWorker = () => undefined;
      onceReady(worker, () => {
        hear();
        void worker.terminate();
      });
    };
    expect(await store.commit([put(patient(2))])).toHaveLength(1);
    expect(await countIn(store)).toBe(1);
  });

  test('during the sending of parts of a commit loses none of them', async () => {
    const store = threadedStore();
    PACE.turnMs = 0;
    await store.commit([put(patient(1))]);
    let parts = 0;
    let isEnded = false;
    const pause = new Int32Array(new SharedArrayBuffer(4));
    onPost((worker, request) => {
      if (request.part === undefined) return;
      parts += 1;
      if (parts === 3) void worker.terminate().then(() => (isEnded = true));
      // The last part must not be sent before the thread has ended, however busy the machine is.
      else if (parts > 3 && !isEnded) Atomics.wait(pause, 0, 0, 50);
    });
    const results = await store.commit(patients(1_000).map((resource) => put(resource)));
    expect(results).toHaveLength(1_000);
    expect(workers).toHaveLength(2);
    expect(await countIn(store)).toBe(1_000);
  });

  test('before it began moves everything to the event loop, with a warning', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const store = threadedStore();
    THREAD_TUNING.retryMs = 3_600_000;
    onWorker = (worker) => void worker.terminate();
    const results = await Promise.all([store.commit([put(patient(1))]), store.commit([put(patient(2))])]);
    expect(results).toMatchObject([[{ versionId: '1' }], [{ versionId: '1' }]]);
    expect(await countIn(store)).toBe(2);
    expect(warn.mock.calls).toEqual([
      [expect.stringMatching(/cannot start.*event loop$/), { code: 'FHIRGRAPH_THREADS' }],
    ]);
    expect(workers).toHaveLength(1);
  });

  test('before it began is not the last: threads are tried again, and one warning is enough', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const store = threadedStore();
    THREAD_TUNING.retryMs = 0;
    onWorker = (worker) => void worker.terminate();
    for (const n of [1, 2, 3]) await store.commit([put(patient(n))]);
    expect(workers.length).toBeGreaterThan(1);
    expect(warn).toHaveBeenCalledOnce();
    const failed = workers.length;
    onWorker = () => undefined;
    const posted: unknown[] = [];
    onPost((_, { call }) => posted.push(call?.kind));
    await store.commit([put(patient(4))]);
    expect(workers).toHaveLength(failed + 1);
    expect(posted).toContain('commit');
    expect(await countIn(store)).toBe(4);
    expect(await store.verify()).toMatchObject({ problems: [] });
    expect(warn).toHaveBeenCalledOnce();
  });
});

describe('a commit that waits for the thread', () => {
  /** Two commits at once. @returns what was sent, and the writes of the second one that were made ready before the first one ended */
  async function twoCommits(): Promise<{ readonly sent: readonly string[]; readonly ahead: number }> {
    const store = threadedStore();
    THREAD_TUNING.largeCommit = 2;
    const sent: string[] = [];
    onPost((_, { part, call }) => sent.push(part === undefined ? String(call?.kind) : `part ${part.writes.length}`));
    const made = new Set<number>();
    const resources = patients(12);
    const writes = resources.map((resource, index) => {
      const write = put(resource);
      return index < 6
        ? write
        : Object.defineProperty({ ...write }, 'resource', { get: () => (made.add(index), resource) });
    }) as Write[];
    let ahead: number | undefined;
    onWorker = (worker) => worker.on('message', (answer) => void (answer === 'ready' || (ahead ??= made.size)));
    await Promise.all([store.commit(writes.slice(0, 6)), store.commit(writes.slice(6))]);
    expect(await countIn(store)).toBe(12);
    return { sent: sent.slice(0, 8), ahead: ahead! };
  }

  const ONCE = ['part 2', 'part 2', 'part 2', 'commit'];

  test('has its parts prepared in advance, and sends them after the previous commit', async () => {
    const { sent, ahead } = await twoCommits();
    expect(sent).toEqual([...ONCE, ...ONCE]);
    expect(ahead).toBe(6);
  });

  test('has at most the tuned amount prepared in advance', async () => {
    THREAD_TUNING.ahead = 1;
    const { sent, ahead } = await twoCommits();
    expect(sent).toEqual([...ONCE, ...ONCE]);
    expect(ahead).toBeLessThan(6);
  });

  /** Two commits: the thread waits for a lock with the first, and has received the second. */
  async function bothSent(options: CallOptions = {}) {
    const store = threadedStore({ busyTimeout: 600_000 });
    THREAD_TUNING.largeCommit = 2;
    await store.commit([put(patient(0)), put(patient(1))]);
    const other = new Database(databaseOf(store));
    other.exec('BEGIN IMMEDIATE');
    const sent: string[] = [];
    onPost((_, { part, call }) => sent.push(part === undefined ? String(call?.kind) : `part ${part.writes.length}`));
    const commit = (from: number, more?: CallOptions) =>
      store.commit(
        Array.from({ length: 6 }, (_, index) => put(patient(from + index))),
        more,
      );
    const first = commit(10);
    const second = commit(20, options);
    await until(() => sent.length >= 8);
    expect(sent).toEqual([...ONCE, ...ONCE]);
    const unlock = (): void => {
      other.exec('ROLLBACK');
      other.close();
    };
    return { store, first, second, unlock };
  }

  test('is in the thread before the previous commit has ended, and ends after it', async () => {
    const { store, first, second, unlock } = await bothSent();
    const order: string[] = [];
    const small = store.commit([put(patient(30))]);
    unlock();
    await Promise.all([first.then(() => order.push('first')), second.then(() => order.push('second')), small]);
    expect(order).toEqual(['first', 'second']);
    expect(await countIn(store)).toBe(15);
    expect(await store.verify()).toMatchObject({ problems: [] });
  });

  test('never happens if it is aborted, although the thread has received it', async () => {
    const controller = new AbortController();
    const { store, first, second, unlock } = await bothSent({ signal: controller.signal });
    controller.abort();
    expect(await errorOf(second)).toMatchObject({ code: 'aborted', details: undefined });
    unlock();
    expect(await first).toHaveLength(6);
    expect(await countIn(store)).toBe(8);
    await store.commit([put(patient(1)), put(patient(2))]);
    expect(await countIn(store)).toBe(9);
  });

  test('is run by another thread if the thread that received it dies in the previous commit', async () => {
    const store = threadedStore();
    THREAD_TUNING.largeCommit = 2;
    await store.commit([put(patient(0)), put(patient(1))]);
    killAtAnswer(workers[0]!);
    let calls = 0;
    const post = Worker.prototype.postMessage;
    vi.spyOn(Worker.prototype, 'postMessage').mockImplementation(function (this: Worker, request: Posted) {
      // The thread never notices the end of the second commit.
      if (this === workers[0] && request.part === undefined && ++calls === 2) return;
      post.call(this, request);
    });
    const [first, second] = await Promise.allSettled([
      store.commit([2, 3, 4, 5].map((number) => put(patient(number)))),
      store.commit([6, 7, 8, 9].map((number) => put(patient(number)))),
    ]);
    expect([calls, workers.length]).toEqual([2, 2]);
    expect(first).toMatchObject({ reason: { code: 'unavailable', details: { unknown: true } } });
    expect(second).toMatchObject({ status: 'fulfilled', value: { length: 4 } });
    expect(await countIn(store)).toBe(10);
  });

  test('fails with the error of preparing its parts', async () => {
    const store = threadedStore();
    const [first, second] = await Promise.allSettled([
      store.commit(patients(4).map((resource) => put(resource))),
      store.commit([
        put(patient(9)),
        put({ ...patient(8), extension: [{ valueInteger: 1n as never, url: 'x' }] } as never),
      ]),
    ]);
    expect(first.status).toBe('fulfilled');
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 'unprocessable' } });
    expect(await countIn(store)).toBe(4);
  });
});

test('an idle thread does not keep the process alive', async () => {
  const unref = vi.fn();
  onWorker = (worker) => void vi.spyOn(worker, 'unref').mockImplementation(unref);
  const store = threadedStore();
  await store.commit([put(patient(1))]);
  expect(unref).toHaveBeenCalled();
});

test('the definitions of a thread equal those of its store', () => {
  const { texts, fingerprint } = R4.definitions;
  expect(fingerprint).not.toBe('');
  expect(structuredClone(texts)).toEqual(texts);
});

function databaseOf(store: SqliteStore): string {
  return files.get(store)!;
}

test('a commit by a thread stores the same texts as a commit in the event loop: first versions, later versions, and after deletions', async () => {
  const textsBy = async (open: (options: SqliteStoreOptions) => SqliteStore): Promise<unknown> => {
    let now = Date.UTC(2020, 0, 1);
    const store = open({ clock: () => new Date((now += 1_000)) });
    const patient = (id: string, more: object = {}): AnyResource => ({ resourceType: 'Patient', id, ...more });
    const stale = { versionId: '7', lastUpdated: '2020-01-01T00:00:01.000Z', tag: [{ code: 't' }] };
    await store.commit([put(patient('a', { meta: stale })), put(patient('b', { active: true }))]);
    await store.commit([put(patient('a')), { kind: 'delete', key: { project: PROJECT, type: 'Patient', id: 'b' } }]);
    // A resource that is only a target of references has a row before its first version.
    const reference = { resourceType: 'Observation', id: 'o', subject: { reference: 'Patient/c' } };
    await store.commit([put(reference)]);
    await store.commit([put(patient('b')), put(patient('c', { meta: stale }))]);
    expect((await store.verify()).problems).toEqual([]);
    const database = new Database(files.get(store), { readonly: true });
    const texts = database.prepare('SELECT text FROM version ORDER BY key').pluck().all();
    database.close();
    return texts;
  };
  const inLoop = await textsBy(storeInLoop);
  expect(await textsBy(threadedStore)).toEqual(inLoop);
  expect(inLoop).toMatchObject({ length: 7 });
});

test('a thread indexes by search parameters that need FHIRPath', async () => {
  const expression = "iif(Patient.active, 'on', 'off')";
  const model = await prepareModel(modelWith('Patient', { switch: { type: 'token', expression } }));
  expect(indexNeedsFhirPath(model)).toBe(true);
  const store = threadedStore({ model });
  await store.commit(patients(5).map((resource) => put(resource)));
  const criteria = { kind: 'match', parameter: 'switch', test: { kind: 'token', code: 'on' } } as const;
  expect(await store.search({ ...PATIENTS, criteria, limit: 0 })).toMatchObject({ total: 3 });
  expect((await store.verify()).problems).toEqual([]);
});

test('a resource with a long text goes to the thread, like a resource with many values', () => {
  const binary = (length: number): Write => put(resourceOf('Binary', 'b', { data: 'A'.repeat(length) }));
  expect([isLarge(binary(150_000)), isLarge(binary(170_000))]).toEqual([false, true]);
});
