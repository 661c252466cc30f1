import { randomUUID } from 'node:crypto';
import Database from 'better-sqlite3';
import { afterEach, expect, test, vi } from 'vitest';
import { FhirError, MemoryStore } from '../../../src/index.js';
import { SqliteStore } from '../../../src/sqlite.js';
import type { PutWrite, ResourceKey, Write, WriteResult } from '../../../src/store.js';
import { below, createRandom, keyOf, oneOf, PROJECT, put, resourceOf } from '../../support/kit.js';
import type { Committed } from '../../../src/stores/sql/commit-results.js';
import { CommitGroups } from '../../../src/stores/sqlite/commit-groups.js';
import { TOO_LONG, type TooLong } from '../../../src/stores/sqlite/database/guard.js';
import { THREAD_TUNING } from '../../../src/stores/sqlite/database/tuning.js';
import { cases, SEED } from '../../support/chance.js';
import { temporaryFolder } from '../temporary-folder.js';
import { neverPause } from '../../support/never-pause.js';

neverPause();

const DEFAULTS = { ...THREAD_TUNING };
const fileNamed = temporaryFolder();
let open: SqliteStore[] = [];

afterEach(async () => {
  vi.restoreAllMocks();
  Object.assign(THREAD_TUNING, DEFAULTS);
  await Promise.all(open.map((store) => store.close()));
  open = [];
});

/** A store over a file whose small commits stay in the event loop, however busy the machine is. */
function newStore(): { readonly store: SqliteStore; readonly file: string } {
  const file = fileNamed(`${randomUUID()}.db`);
  THREAD_TUNING.inlineMs = 1e9;
  const store = new SqliteStore(file, { synchronous: 'off', readers: 1 });
  open.push(store);
  return { store, file };
}

const patient = (id: string): Write => put(resourceOf('Patient', id));
const codeOf = (error: unknown): string => (error as FhirError).code;

/** Concurrent commits: the codes of those that fail. */
async function together(store: SqliteStore, lists: readonly (readonly Write[])[]): Promise<readonly string[]> {
  const outcomes = await Promise.allSettled(lists.map((writes) => store.commit(writes)));
  return outcomes.map((one) => (one.status === 'fulfilled' ? 'done' : codeOf(one.reason)));
}

test('commits of one turn share a transaction', async () => {
  const { store, file } = newStore();
  const { position } = await store.changes({ project: PROJECT });
  const exec = vi.spyOn(Database.prototype, 'exec');
  const ids = Array.from({ length: 10 }, (_, number) => `p${number}`);
  const results = await Promise.all(ids.map((id) => store.commit([patient(id)])));
  // Stores of other tests may still be at work in this process.
  const own = exec.mock.calls.filter((_, call) => (exec.mock.contexts[call] as Database.Database).name === file);
  expect(own.filter(([text]) => text === 'COMMIT')).toHaveLength(1);
  expect(results.map((one) => one.map(shown))).toEqual(ids.map(() => [[true, '1']]));
  const { changes } = await store.changes({ project: PROJECT, after: position });
  expect(new Map(changes.map((change) => [change.position, change.key.id]))).toHaveProperty('size', ids.length);
  expect((await store.verify()).problems).toEqual([]);
});

test('a commit that fails does not affect the others of its turn', async () => {
  const { store } = newStore();
  await store.commit([patient('a'), { ...patient('u'), unique: ['User.email=x'] } as Write]);
  const outcomes = await together(store, [
    [patient('b')],
    [patient('c'), { ...patient('a'), expect: { version: '7' } } as Write],
    [{ ...patient('v'), unique: ['User.email=x'] } as Write],
    [{ kind: 'assert-no-match', query: { project: PROJECT, type: 'Patient', criteria: { kind: 'id', ids: ['b'] } } }],
    [{ kind: 'delete', key: keyOf('Patient', 'a') }],
  ]);
  expect(outcomes).toEqual(['done', 'precondition-failed', 'conflict', 'conflict', 'done']);
  const found = await store.read(['a', 'b', 'c', 'v'].map((id) => keyOf('Patient', id)));
  expect(found.map(({ status }) => status)).toEqual(['gone', 'found', 'missing', 'missing']);
  expect((await store.verify()).problems).toEqual([]);
});

test('the errors of a commit name its own writes', async () => {
  const { store } = newStore();
  const writes = [patient('b'), { ...patient('a'), expect: { version: '1' } } as Write];
  const [, second] = await Promise.allSettled([store.commit([patient('x')]), store.commit(writes)]);
  expect(second).toMatchObject({ reason: { code: 'precondition-failed', details: { index: 1 } } });
});

test('small commits run before large commits that the thread has not started', async () => {
  const { store } = newStore();
  const order: string[] = [];
  const large = (name: string): Promise<unknown> =>
    store.commit(Array.from({ length: 40 }, (_, number) => patient(`${name}${number}`))).then(() => order.push(name));
  // The thread is there already.
  await large('first');
  const running = [large('large'), large('larger'), large('largest')];
  // The thread is at work when these come.
  await new Promise((resolve) => setImmediate(resolve));
  const small = ['s', 't'].map((id) => store.commit([patient(id)]).then(() => order.push(id)));
  await Promise.all([...running, ...small]);
  expect(order.slice(0, 2)).toEqual(['first', 'large']);
  // The thread can have parts of this commit already.
  expect(order.slice(2, 5).toSorted()).toEqual(['larger', 's', 't']);
  expect(order.slice(5)).toEqual(['largest']);
});

test('a waiting commit ends with its signal, and writes nothing', async () => {
  const { store } = newStore();
  const controller = new AbortController();
  const aborted = store.commit([patient('a')], { signal: controller.signal });
  const late = store.commit([patient('b')], { deadline: performance.now() - 1 });
  const other = store.commit([patient('c')]);
  controller.abort();
  expect(await Promise.all([aborted.catch(codeOf), late.catch(codeOf)])).toEqual(['aborted', 'aborted']);
  await other;
  const found = await store.read(['a', 'b', 'c'].map((id) => keyOf('Patient', id)));
  expect(found.map(({ status }) => status)).toEqual(['missing', 'missing', 'found']);
});

test('close finishes waiting commits', async () => {
  const { store, file } = newStore();
  const commits = ['a', 'b'].map((id) => store.commit([patient(id)]));
  await store.close();
  expect(await Promise.all(commits)).toHaveLength(2);
  const again = new SqliteStore(file);
  open.push(again);
  const found = await again.read(['a', 'b'].map((id) => keyOf('Patient', id)));
  expect(found.map(({ status }) => status)).toEqual(['found', 'found']);
});

test('a group that takes too long for the event loop is written by the thread', async () => {
  const { store } = newStore();
  THREAD_TUNING.inlineMs = -1;
  const outcomes = await together(
    store,
    Array.from({ length: 5 }, (_, number) => [patient(`p${number}`)]),
  );
  expect(outcomes).toEqual(Array(5).fill('done'));
});

/** Groups whose commits take long: each time others are due afterwards. */
function slowGroups(together: () => readonly Committed[] | TooLong) {
  const ran: string[] = [];
  const nameOf = (writes: readonly Write[]): string => (writes[0] as PutWrite).key.id;
  const groups = new CommitGroups({
    isWriting: false,
    isTurnSpent: true,
    betweenWrites: (work) => work(),
    together,
    alone: (writes) => Promise.resolve(ran.push(nameOf(writes))).then(() => NOTHING),
    inThread: (writes) => Promise.resolve(ran.push(`${nameOf(writes)} in the thread`)).then(() => NOTHING),
  });
  return { ran, groups };
}

const NOTHING: Committed = { results: [], changes: [] };
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test.each<[string, () => TooLong]>([
  ['takes too long', () => TOO_LONG],
  [
    'fails',
    () => {
      throw new FhirError('conflict', 'One of them');
    },
  ],
])('commits of a group that %s run in turns with other work, and end at their deadlines', async (_, together) => {
  const { ran, groups } = slowGroups(together);
  const controller = new AbortController();
  const done = ['a', 'b', 'c', 'd'].map((id) =>
    groups.commit([patient(id)], { signal: id === 'c' ? controller.signal : undefined }).catch(codeOf),
  );
  const seen: number[] = [];
  for (let turns = 0; turns < 3; turns += 1) {
    await turn();
    seen.push(ran.length);
  }
  controller.abort();
  expect(await done[2]).toBe('aborted');
  // Later commits come after them.
  done.push(groups.commit([patient('e')], undefined).catch(codeOf));
  await Promise.all(done);
  expect(ran).toEqual(['a', 'b', 'd', 'e']);
  for (const [turns, count] of seen.entries()) expect(count).toBeLessThanOrEqual(turns + 1);
});

test('close finishes commits that were separated', async () => {
  const { ran, groups } = slowGroups(() => TOO_LONG);
  const done = ['a', 'b', 'c'].map((id) => groups.commit([patient(id)], undefined));
  await turn();
  groups.finish();
  await Promise.all(done);
  expect(ran.toSorted().map((name) => name[0])).toEqual(['a', 'b', 'c']);
  expect(ran.at(-1)).toBe('c in the thread');
});

/** Random commits over few resources, many of which fail. */
function randomCommit(random: () => number): readonly Write[] {
  return Array.from({ length: 1 + below(3, random) }, (): Write => {
    const key: ResourceKey = keyOf(oneOf(['Patient', 'User'], random), `r${below(4, random)}`);
    const expected = random() < 0.4 ? { expect: { version: oneOf([null, '1', '2'], random) } } : {};
    if (random() < 0.2) return { kind: 'delete', key, ...expected };
    const unique = random() < 0.3 ? { unique: [`text-${below(2, random)}`] } : {};
    return { ...put(resourceOf(key.type, key.id, { language: oneOf(['de', 'en'], random) })), ...expected, ...unique };
  });
}

const shown = (result: WriteResult): unknown =>
  result.kind === 'put' ? [result.created, result.versionId] : result.kind === 'delete' ? result.versionId : null;

test(`groups of random commits leave the same state as the commits one after another (seed ${SEED})`, async () => {
  const random = createRandom(SEED);
  const { store } = newStore();
  const reference = new MemoryStore();
  let failed = 0;
  for (let round = 0; round < cases(200, 40); round += 1) {
    const group = Array.from({ length: 1 + below(6, random) }, () => randomCommit(random));
    const outcomeOf = (commit: Promise<readonly WriteResult[]>): Promise<unknown> =>
      commit.then(
        (results) => results.map(shown),
        (error: FhirError) => ((failed += 1), [error.code, error.details]),
      );
    const found = await Promise.all(group.map((writes) => outcomeOf(store.commit(writes))));
    const expected: unknown[] = [];
    for (const writes of group) expected.push(await outcomeOf(reference.commit(writes)));
    expect(found, `round ${round}`).toEqual(expected);
  }
  expect(failed).toBeGreaterThan(20);
  expect((await store.verify()).problems).toEqual([]);
});
