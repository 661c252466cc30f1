import Database from 'better-sqlite3';
import { expect, onTestFinished, test, vi } from 'vitest';
import { SqliteStore } from '../../../src/sqlite.js';
import { type Criteria, TextBudget } from '../../../src/store.js';
import { keyOf, putAll, queryOf, resourceOf } from '../../support/kit.js';
import { checksum } from '../../../src/stores/sqlite/rows/checksum.js';
import { Contents } from '../../../src/stores/sqlite/rows/contents.js';
import { Guard, guardOf, TOO_LONG } from '../../../src/stores/sqlite/database/guard.js';
import { MAX_STATEMENTS, Statements } from '../../../src/stores/sqlite/database/statements.js';
import { expectFewResources } from '../most-resources.js';

const MALE: Criteria = { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'male' } };

test('the number of prepared statements is bounded, for any queries', () => {
  const statements = new Statements(new Database(':memory:'));
  for (let n = 0; n < MAX_STATEMENTS * 2; n++) statements.read(`SELECT ${n}`).get();
  expect(statements.size).toBe(MAX_STATEMENTS);
});

test('a long statement is not prepared while others wait for the event loop', () => {
  const database = new Database(':memory:');
  const statements = new Statements(database);
  const long = `SELECT 1 WHERE 1 IN (${'0, '.repeat(10_000)}1)`;
  const read = (): unknown => statements.read(long).get();
  expect(guardOf(database).briefly(1e9, read)).toBe(TOO_LONG);
  expect(guardOf(database).briefly(1e9, () => statements.read('SELECT 1').get())).toEqual([1]);
  // Like in a thread, and in a store without threads.
  expect(guardOf(database).run(undefined, read)).toEqual([1]);
});

test('criteria nested too deeply are too costly, and the store continues', async () => {
  const store = new SqliteStore(':memory:');
  await putAll(store, resourceOf('Patient', 'a', { gender: 'male' }), resourceOf('Patient', 'b'));
  for (const depth of [2_000, 100_000]) {
    let nested: Criteria = MALE;
    for (let n = 0; n < depth; n++)
      nested = { kind: 'not', of: { kind: 'and', of: [nested, { kind: 'not', of: MALE }] } };
    await expect(store.search(queryOf('Patient', nested))).rejects.toMatchObject({ code: 'too-costly' });
  }
  expect((await store.search(queryOf('Patient', MALE))).matches.length).toBe(1);
});

test('a resource nested too deeply is refused, and nothing of its commit is stored', async () => {
  const store = new SqliteStore(':memory:');
  let nested: object = {};
  for (let n = 0; n < 100_000; n++) nested = { extension: [nested] };
  const commit = putAll(store, resourceOf('Patient', 'a'), resourceOf('Patient', 'b', { ...nested }));
  await expect(commit).rejects.toMatchObject({ name: 'FhirError', code: 'unprocessable' });
  expect(await store.read([keyOf('Patient', 'a')])).toEqual([{ status: 'missing' }]);
});

test('many targets and many keys are one list, not one parameter each', async () => {
  const store = new SqliteStore(':memory:');
  await putAll(store, resourceOf('Observation', 'o', { subject: { reference: 'Patient/p49999' } }));
  const ids = Array.from({ length: 50_000 }, (_, n) => `p${n}`);
  const pages = await store.searchByReference(
    queryOf('Observation'),
    'subject',
    ids.map((id) => ({ type: 'Patient', id })),
  );
  expect(pages.flatMap(({ matches }) => matches).length).toBe(1);
  expect((await store.read(ids.map((id) => keyOf('Patient', id)))).every(({ status }) => status === 'missing')).toBe(
    true,
  );
  expect((await store.search(queryOf('Patient', { kind: 'id', ids }))).matches).toEqual([]);
});

const VERSION_TABLE =
  'CREATE TABLE version (key INTEGER PRIMARY KEY, resource, version, updated, text TEXT, sum INTEGER)';
const INSERT_VERSION = 'INSERT INTO version VALUES (?, 1, 1, 0, ?, ?)';

function sumOf(text: string): number {
  return checksum(1, 1, 0, text);
}

test('a version is shared frozen from the second read on, and never without a cache', () => {
  const database = new Database(':memory:');
  database.exec(VERSION_TABLE);
  const text = JSON.stringify({
    resourceType: 'Patient',
    id: 'a',
    meta: { versionId: '1', lastUpdated: '2020-01-01T00:00:00.000Z' },
  });
  database.prepare(INSERT_VERSION).run(1, text, sumOf(text));
  const cached = new Contents(new Statements(database), 10_000, new Guard());
  const looks = [1, 2, 3, 4].map(() => cached.load([1])[0]!.resource);
  expect(looks.map((one) => Object.isFrozen(one))).toEqual([false, true, true, true]);
  expect(looks.map((one) => one === looks[1])).toEqual([false, true, true, true]);
  const uncached = new Contents(new Statements(database), 0, new Guard());
  const [first, second, third] = uncached.load([1, 1, 1]);
  expect(first).toEqual(second);
  expect(new Set([first!.resource, second!.resource, third!.resource]).size).toBe(3);
  expect(Object.isFrozen(third!.resource)).toBe(false);
});

test('the cache keeps within its bytes', () => {
  const database = new Database(':memory:');
  database.exec(VERSION_TABLE);
  const meta = { versionId: '1', lastUpdated: '2020-01-01T00:00:00.000Z' };
  const text = (id: number): string =>
    JSON.stringify({ resourceType: 'Patient', id: `${id}`, meta, language: 'x'.repeat(900) });
  const insert = database.prepare(INSERT_VERSION);
  for (let key = 1; key <= 20; key++) insert.run(key, text(key), sumOf(text(key)));
  const contents = new Contents(new Statements(database), 5_000, new Guard());
  const keys = Array.from({ length: 20 }, (_, index) => index + 1);
  for (let round = 0; round < 3; round++) {
    expect(contents.load(keys).map(({ resource }) => resource.id)).toEqual(keys.map(String));
  }
  expect(contents.cachedBytes).toBeLessThanOrEqual(5_000);
  expect(contents.cachedBytes).toBeGreaterThan(3_000);
});

test('a search by reference that finds more than maxResources is refused before its texts are read', async () => {
  const store = new SqliteStore(':memory:');
  await expectFewResources(store);
  await store.close();
});

test('cached resources count with their bytes of UTF-8, and no statement asks for sizes that the cache knows', async () => {
  const database = new Database(':memory:');
  const asked: string[] = [];
  const { read } = Statements.prototype;
  const spy = vi.spyOn(Statements.prototype, 'read').mockImplementation(function (this: Statements, text) {
    if (text.includes('octet_length')) asked.push(text);
    return read.call(this, text);
  });
  onTestFinished(() => spy.mockRestore());
  const store = new SqliteStore(database);
  const ids = Array.from({ length: 8 }, (_, index) => `p${index}`);
  await putAll(store, ...ids.map((id) => resourceOf('Patient', id, { name: [{ family: 'Größe'.repeat(50) }] })));
  const spent = async (call: (budget: TextBudget) => Promise<unknown>): Promise<number> => {
    const budget = new TextBudget();
    await call(budget);
    return budget.max - budget.left;
  };
  const calls = [
    (budget: TextBudget) => store.search(queryOf('Patient'), { budget }),
    (budget: TextBudget) =>
      store.read(
        ids.map((id) => keyOf('Patient', id)),
        { budget },
      ),
  ];
  const [cold] = await Promise.all(calls.map(spent));
  expect(asked.length).toBeGreaterThan(0);
  // The second read keeps the objects.
  for (const call of calls) await spent(call);
  asked.length = 0;
  for (const call of calls) expect(await spent(call)).toBe(cold);
  expect(asked).toEqual([]);
  const little = new TextBudget(cold! - 1);
  await expect(calls[1]!(little)).rejects.toMatchObject({ code: 'too-costly', details: { limit: 'bytes' } });
});
