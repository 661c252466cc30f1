import { expect, test } from 'vitest';
import { pglitePool, PostgresStore } from '../../../src/postgres.js';
import { createRandom, keyOf, put, putAll, queryOf, randomResources } from '../../support/kit.js';
import { assertSearches } from '../../../src/testing/suites/random-searches.js';
import { SEED } from '../../support/chance.js';
import { newDatabase } from './pool.js';

const INDEX = ['token', 'string', 'date', 'quantity', 'reference', 'uri', 'display'];

test('verify finds missing index rows, and reindex rebuilds them', async () => {
  const database = await newDatabase();
  const store = new PostgresStore(pglitePool(database));
  const random = createRandom(SEED);
  const resources = randomResources(random);
  await store.commit(resources.map((resource) => put(resource)));
  await store.commit(resources.slice(0, 9).map((resource) => put(resource, {}, 'elsewhere')));
  await store.commit([{ kind: 'delete', key: keyOf(resources[0]!.resourceType, resources[0]!.id!) }]);
  const count = new Set(resources.map(({ resourceType, id }) => `${resourceType}/${id!}`)).size - 1 + 9;
  expect(await store.verify()).toEqual({ resources: count, problems: [] });

  await database.exec(INDEX.map((table) => `DELETE FROM ${table}`).join(';'));
  const { problems } = await store.verify();
  expect(problems).toHaveLength(100);
  expect(problems[0]).toMatch(/^\w+\/\S+: its rows in token are not what it says$/);

  expect(await store.reindex()).toBe(count);
  expect(await store.verify()).toEqual({ resources: count, problems: [] });
  const current = await Promise.all(
    [...new Set(resources.map(({ resourceType }) => resourceType))].map(async (type) => store.search(queryOf(type))),
  );
  const there = current.flatMap(({ matches }) => matches.map(({ resource }) => resource));
  await assertSearches(store, 'clinic', there, random, 30);
});

test('contradictions are reported one by one', async () => {
  const database = await newDatabase();
  const store = new PostgresStore(pglitePool(database));
  const ids = ['a', 'b', 'c', 'd', 'e'];
  const patient = (id: string): Parameters<typeof put>[0] => ({ resourceType: 'Patient', id });
  for (let round = 0; round < 2; round++) await putAll(store, ...ids.map(patient));
  await store.commit([put(patient('e'), { unique: ['x'] })]);
  await database.exec(`
    UPDATE resource SET content = '{' WHERE id = 'a';
    UPDATE resource SET content = replace(content, '"b"', '"z"') WHERE id = 'b';
    DELETE FROM version WHERE resource = (SELECT key FROM resource WHERE id = 'c');
    UPDATE resource SET id = 'y' WHERE id = 'd';
    UPDATE resource SET content = NULL WHERE id = 'e'`);
  expect([...(await store.verify()).problems].sort()).toEqual([
    'Patient/a: its text cannot be read',
    'Patient/b: its text is of another resource',
    'Patient/c: of its 1 versions before, 0 are there',
    'Patient/e: it is deleted, but holds unique texts',
    'Patient/e: its rows in token are not what it says',
    'Patient/y: its key is of another resource',
    'Patient/y: its text is of another resource',
  ]);
});
