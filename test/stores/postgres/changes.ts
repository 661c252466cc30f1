import { expect, onTestFinished, test } from 'vitest';
import type { ChangePage } from '../../../src/store.js';
import { PROJECT, putAll, resourceOf } from '../../support/kit.js';
import { FEED_TUNING } from '../../../src/stores/postgres/maintenance/feed-upkeep.js';
import { pglitePool, PostgresStore, type PostgresStoreOptions } from '../../../src/postgres.js';
import { until } from '../../support/until.js';
import { newDatabase, noting } from './pool.js';

const HOUR = 3_600_000;

async function openStore(options?: PostgresStoreOptions) {
  const database = await newDatabase();
  const store = new PostgresStore(pglitePool(database), options);
  onTestFinished(() => store.close());
  const changesAfter = (after?: string): Promise<ChangePage> => store.changes({ project: PROJECT, after });
  /** Makes every commit until now older. */
  const age = (time: number): Promise<unknown> => database.query('UPDATE fhirgraph_change SET at = at - $1', [time]);
  const write = (id: string): Promise<unknown> => putAll(store, resourceOf('Patient', id));
  return { database, store, changesAfter, age, write };
}

/** Every commit looks for old changes, and removes two at once. */
function lookAlways(): void {
  const before = { ...FEED_TUNING };
  Object.assign(FEED_TUNING, { every: 0.4 });
  onTestFinished(() => void Object.assign(FEED_TUNING, before));
}

test('commits older than changeRetention are forgotten, and positions before them are resets', async () => {
  const { database, changesAfter, age, write } = await openStore({ changeRetention: HOUR });
  const start = (await changesAfter()).position;
  for (const id of ['a', 'b', 'c']) await write(id);
  const [first, , third] = (await changesAfter(start)).changes.map(({ position }) => position) as [
    string,
    string,
    string,
  ];
  expect((await changesAfter(third)).isReset).toBe(false);
  await database.exec(`UPDATE fhirgraph_change SET at = at - ${2 * HOUR}`);
  // The positions hold the times.
  const [aged] = [(await changesAfter()).position];
  for (const position of [start, first]) expect((await changesAfter(position)).isReset).toBe(true);
  expect((await changesAfter(aged)).isReset).toBe(false);
  lookAlways();
  await write('d');
  const count = async (): Promise<number> =>
    (await database.query<{ n: number }>('SELECT count(*)::int AS n FROM fhirgraph_change')).rows[0]!.n;
  await until(async () => (await count()) === 2);
  expect((await changesAfter(aged)).changes.map(({ key }) => key.id)).toEqual(['d']);
  expect((await changesAfter(start)).isReset).toBe(true);
  await age(2 * HOUR);
  const end = (await changesAfter()).position;
  await write('e');
  await until(async () => (await count()) === 2);
  expect((await changesAfter(end)).changes.map(({ key }) => key.id)).toEqual(['e']);
});

test('a commit that takes the turn of one that was lost has another position', async () => {
  const { database, changesAfter, write } = await openStore();
  await write('a');
  const kept = (await changesAfter()).position;
  const { rows } = await database.query<{ turn: number }>('SELECT last_value::int AS turn FROM fhirgraph_turn');
  await write('b');
  const lost = (await changesAfter()).position;
  await database.exec(`DELETE FROM fhirgraph_change WHERE number >> 20 > ${rows[0]!.turn}`);
  expect((await changesAfter(lost)).isReset).toBe(true);
  await database.exec(`SELECT setval('fhirgraph_turn', ${rows[0]!.turn})`);
  await write('c');
  expect((await changesAfter(lost)).isReset).toBe(true);
  expect((await changesAfter(kept)).changes.map(({ key }) => key.id)).toEqual(['c']);
});

test('a reader that finds nothing new sends one statement', async () => {
  const database = await newDatabase();
  const statements: string[] = [];
  const store = new PostgresStore(noting(pglitePool(database), statements));
  onTestFinished(() => store.close());
  await putAll(store, resourceOf('Patient', 'a'));
  const { position } = await store.changes({ project: PROJECT });
  statements.length = 0;
  await store.changes({ project: PROJECT, after: position });
  expect(statements).toHaveLength(1);
});

test('a commit by COPY and one of several statements are told like others', async () => {
  const { store, changesAfter } = await openStore();
  const { position } = await changesAfter();
  const many = Array.from({ length: 300 }, (_, index) => resourceOf('Patient', `p${index}`, { gender: 'male' }));
  await putAll(store, ...many);
  await putAll(store, resourceOf('Patient', 'a'), resourceOf('Patient', 'a'), resourceOf('User', 'u'));
  const { changes } = await changesAfter(position);
  const commits = [...Map.groupBy(changes, (change) => change.position).values()];
  expect(commits.map(({ length }) => length)).toEqual([300, 3]);
  expect(commits[1]!.map(({ key, versionId }) => `${key.id} ${versionId}`).toSorted()).toEqual(['a 1', 'a 2', 'u 1']);
});
