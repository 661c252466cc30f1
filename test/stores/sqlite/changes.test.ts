import { copyFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import type { ResourceStore } from '../../../src/index.js';
import { SqliteStore, type SqliteStoreOptions } from '../../../src/sqlite.js';
import type { CommittedChange } from '../../../src/store.js';
import { keyOf, PROJECT, put, putAll, resourceOf } from '../../support/kit.js';
import { temporaryFolder } from '../temporary-folder.js';

const fileNamed = temporaryFolder();

function open(file: string, options?: SqliteStoreOptions): SqliteStore {
  const store = new SqliteStore(file, options);
  onTestFinished(() => store.close());
  return store;
}

async function positionIn(store: ResourceStore): Promise<string> {
  return (await store.changes!({ project: PROJECT })).position;
}

/** The ids of each commit. */
async function idsAfter(store: ResourceStore, after: string, limit = 1000): Promise<readonly (readonly string[])[]> {
  const { changes } = await store.changes!({ project: PROJECT, after, limit });
  const commits = Map.groupBy(changes, ({ position }: CommittedChange) => position);
  return [...commits.values()].map((commit) => commit.map(({ key }) => key.id));
}

test('every connection to a file gives the commits of all, under the same positions', async () => {
  const file = fileNamed('both.db');
  const [one, other] = [open(file), open(file, { readers: 0 })];
  const position = await positionIn(other);
  await putAll(one, resourceOf('Patient', 'a'), resourceOf('Patient', 'b'));
  await putAll(other, resourceOf('Patient', 'c'));
  await putAll(one, resourceOf('Patient', 'a'));
  const reader = open(file, { readonly: true });
  for (const store of [one, other, reader]) expect(await idsAfter(store, position)).toEqual([['a', 'b'], ['c'], ['a']]);
});

test('commits of one turn, of a thread and of several projects are each told whole and apart', async () => {
  const store = open(fileNamed('kinds.db'));
  const position = await positionIn(store);
  const many = Array.from({ length: 300 }, (_, index) => resourceOf('Patient', `p${index}`));
  await Promise.all(['a', 'b', 'c'].map((id) => putAll(store, resourceOf('Patient', id))));
  await putAll(store, ...many);
  await store.commit([
    put(resourceOf('Patient', 'x'), {}, 'elsewhere'),
    put(resourceOf('Patient', 'd')),
    put(resourceOf('Patient', 'y'), {}, 'elsewhere'),
    put(resourceOf('Patient', 'e')),
  ]);
  await store.commit([put(resourceOf('Patient', 'z'), {}, 'elsewhere')]);
  await putAll(store, resourceOf('Patient', 'f'));
  const commits = [['a'], ['b'], ['c'], many.map(({ id }) => id), ['d', 'e'], ['f']];
  expect(await idsAfter(store, position)).toEqual(commits);
  const paged: (readonly string[])[] = [];
  for (let after = position, next = ''; next !== after; [after, next] = [next === '' ? after : next, '']) {
    paged.push(...(await idsAfter(store, after, 1)));
    next = (await store.changes({ project: PROJECT, after, limit: 1 })).position;
    if (next === after) break;
  }
  expect(paged).toEqual(commits);
});

test('watchers hear of commits by other connections', async () => {
  const file = fileNamed('watched.db');
  const [one, other] = [open(file), open(file)];
  await putAll(one, resourceOf('Patient', 'a'));
  const position = await positionIn(one);
  const told = Promise.withResolvers<undefined>();
  const stop = one.watch(PROJECT, () => told.resolve(undefined));
  await putAll(other, resourceOf('Patient', 'b'));
  await told.promise;
  stop();
  expect(await idsAfter(one, position)).toEqual([['b']]);
});

test('a commit whose first version was purged is still told whole', async () => {
  const store = open(fileNamed('purged.db'));
  const position = await positionIn(store);
  await putAll(store, ...['a', 'b', 'c', 'd'].map((id) => resourceOf('Patient', id)));
  await putAll(store, resourceOf('Patient', 'a'), resourceOf('Patient', 'c'));
  await store.removal.purgeHistory({ project: PROJECT, replacedBefore: '9999-01-01T00:00:00Z', keep: 1 });
  const { changes } = await store.changes({ project: PROJECT, after: position, limit: 1 });
  expect(changes.map(({ key, before }) => [key.id, before]).slice(0, 2)).toEqual([
    ['b', null],
    ['d', null],
  ]);
});

test('a position from before a restore is a reset, unless the copy has it', async () => {
  const [file, copy] = [fileNamed('lost.db'), fileNamed('copy.db')];
  const store = open(file);
  await putAll(store, resourceOf('Patient', 'a'));
  const kept = await positionIn(store);
  await store.backup(copy);
  await putAll(store, resourceOf('Patient', 'b'));
  const lost = await positionIn(store);
  const restored = open(copy);
  expect(await restored.changes({ project: PROJECT, after: lost })).toMatchObject({ position: kept, isReset: true });
  await putAll(restored, resourceOf('Patient', 'b'));
  expect((await restored.changes({ project: PROJECT, after: lost })).isReset).toBe(true);
  expect(await idsAfter(restored, kept)).toEqual([['b']]);
  // Under the same keys, and at the same instant, in another file.
  const clock = (): Date => new Date('2030-01-01T00:00:00Z');
  const [one, other] = [open(fileNamed('one.db'), { clock }), open(fileNamed('other.db'), { clock })];
  for (const each of [one, other]) await putAll(each, resourceOf('Patient', 'a'));
  expect((await one.changes({ project: PROJECT, after: await positionIn(other) })).isReset).toBe(true);
});

test('a position is a reset once the first change after it is older than changeRetention', async () => {
  let now = Date.parse('2030-01-01T00:00:00Z');
  const clock = (): Date => new Date(now);
  const store = open(fileNamed('old.db'), { clock, changeRetention: 60_000 });
  const position = await positionIn(store);
  now += 120_000;
  expect(await store.changes({ project: PROJECT, after: position })).toEqual({ changes: [], position, isReset: false });
  await putAll(store, resourceOf('Patient', 'a'));
  now += 60_000;
  expect(await idsAfter(store, position)).toEqual([['a']]);
  now += 1;
  const current = await positionIn(store);
  expect(await store.changes({ project: PROJECT, after: position })).toEqual({
    changes: [],
    position: current,
    isReset: true,
  });
  expect((await store.changes({ project: PROJECT, after: current })).isReset).toBe(false);
  for (const changeRetention of [0, -1, 0.5, '1' as unknown as number]) {
    expect(() => new SqliteStore(fileNamed('refused.db'), { changeRetention })).toThrow(/changeRetention/);
  }
});

test('positions say nothing of how much was written between them', async () => {
  const store = open(fileNamed('opaque.db'));
  const positions = new Set<string>();
  for (const id of ['a', 'b', 'c']) {
    await putAll(store, resourceOf('Patient', id));
    positions.add(await positionIn(store));
  }
  expect(positions.size).toBe(3);
  for (const position of positions) expect(position).toMatch(/^[\w-]{22}$/);
  const [first, second] = [...positions] as [string, string];
  const shared = [...first].filter((character, index) => character === second[index]).length;
  expect(shared).toBeLessThan(12);
});

test('a file of an older schema has positions as soon as its owner has opened it', async () => {
  const { copyAsSchema1 } = await import('../../support/sqlite-schema-1.js');
  const [file, old] = [fileNamed('present.db'), fileNamed('schema-1.db')];
  const present = new SqliteStore(file);
  await putAll(present, resourceOf('Patient', 'a'), resourceOf('Patient', 'b'));
  await present.close();
  copyAsSchema1(file, old);
  copyFileSync(old, fileNamed('again.db'));
  const store = open(old, { takeOver: true });
  const position = await positionIn(store);
  await store.commit([put(resourceOf('Patient', 'a')), { kind: 'delete', key: keyOf('Patient', 'b') }]);
  expect(await idsAfter(store, position)).toEqual([['a', 'b']]);
});
