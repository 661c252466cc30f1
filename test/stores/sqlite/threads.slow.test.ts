import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { describe, expect, test, vi } from 'vitest';
import { PACE } from '../../../src/platform/pace.js';
import { type AnyResource } from '../../../src/index.js';
import { SqliteStore, type SqliteStoreOptions } from '../../../src/sqlite.js';
import { type CallOptions, type Write } from '../../../src/store.js';
import { PROJECT, put } from '../../support/kit.js';
import { indexNeedsFhirPath, prepareModel } from '../../../src/search/index/prepare-model.js';
import type { WritePart } from '../../../src/stores/sqlite/threads/protocol.js';
import { THREAD_TUNING } from '../../../src/stores/sqlite/database/tuning.js';
import { until } from '../../support/until.js';
import { modelWith } from '../models.js';
import {
  countIn,
  databaseOf,
  deafen,
  errorOf,
  killAtAnswer,
  newStore,
  onceReady,
  onPost,
  onWorker,
  patient,
  patients,
  PATIENTS,
  type Posted,
  storeInLoop,
  threadedStore,
  watchThreads,
  workers,
} from './thread-stores.js';

watchThreads();

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

describe('the death of a thread', () => {
  test('is unavailable if it happens repeatedly', async () => {
    const store = threadedStore();
    await store.commit([put(patient(1))]);
    const hear = deafen();
    onWorker((worker) => onceReady(worker, () => void worker.terminate()));
    expect(await errorOf(store.search(PATIENTS))).toMatchObject({ code: 'unavailable', details: undefined });
    onWorker(() => undefined);
    hear();
    expect((await store.search(PATIENTS)).total).toBe(1);
  });

  test('leaves the result of a commit that it began unknown', async () => {
    const store = threadedStore();
    onWorker((worker) => killAtAnswer(worker));
    const error = await errorOf(store.commit([put(patient(1))]));
    expect(error).toMatchObject({ code: 'unavailable', details: { unknown: true } });
    onWorker(() => undefined);
    await store.commit([put(patient(2))]);
    expect(await countIn(store)).toBe(2);
  });

  test('costs a commit that it did not begin only time, once', async () => {
    const store = threadedStore();
    const hear = deafen();
    onWorker((worker) => onceReady(worker, () => void worker.terminate()));
    expect(await errorOf(store.commit([put(patient(1))]))).toMatchObject({ code: 'unavailable', details: undefined });
    onWorker((worker) => {
      onWorker(() => undefined);
      onceReady(worker, () => {
        hear();
        void worker.terminate();
      });
    });
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
    onWorker((worker) => void worker.terminate());
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
    onWorker((worker) => void worker.terminate());
    for (const n of [1, 2, 3]) await store.commit([put(patient(n))]);
    expect(workers.length).toBeGreaterThan(1);
    expect(warn).toHaveBeenCalledOnce();
    const failed = workers.length;
    onWorker(() => undefined);
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
    onWorker((worker) => worker.on('message', (answer) => void (answer === 'ready' || (ahead ??= made.size))));
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
    const database = new Database(databaseOf(store), { readonly: true });
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
