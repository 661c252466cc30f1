import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { AnyResource } from '../../../src/fhir/resource.js';
import type { Criteria } from '../../../src/search/criteria/criteria.js';
import { TUNING } from '../../../src/stores/postgres/scans/tuning.js';
import { PostgresStore } from '../../../src/stores/postgres/store.js';
import { PROJECT, put, queryOf, resourceOf } from '../../../src/testing/conformance-case.js';
import { createRandom } from '../../../src/testing/random.js';
import { randomResources } from '../../../src/testing/random-resources.js';
import { skewedResources } from '../../../src/testing/skewed-resources.js';
import { assertSearches } from '../../../src/testing/suites/random-searches.js';
import { cases, SEED } from '../../support/chance.js';
import { noting, postgresPool } from './pool.js';

const DEFAULTS = { ...TUNING };
afterEach(() => void Object.assign(TUNING, DEFAULTS));

describe('every way to a page and a count gives the same result', () => {
  const WAYS = {
    'as the data say': {},
    collected: { looks: [1e9, Infinity], maxCollected: 1e9, maxHashed: 0 },
    walked: { looks: [Infinity], broadTarget: 2 },
    'walked in short stretches': { looks: [Infinity], stretch: 3, growth: 2, broadTarget: 1 },
    'walked, with short hash tables': { looks: [Infinity], maxHashed: 4 },
    'walked without collecting what is outside of a range': { looks: [Infinity], stretch: 5, growth: 2, maxOutside: 0 },
    'walked with lists': { looks: [Infinity], stretch: 5, growth: 2, listedFrom: 1, indirectFrom: 1 },
    'walked with short lists': {
      looks: [Infinity],
      stretch: 5,
      growth: 2,
      listedFrom: 1,
      indirectFrom: 1,
      maxListed: 5,
    },
    'walked a little, then collected': { looks: [2, 20, Infinity], stretch: 4, growth: 2, indirectFrom: 20 },
    'counted by lists': { looks: [1, Infinity], maxCollected: 0, countLook: 5 },
    'counted row by row, as lists would be too long': {
      looks: [1, Infinity],
      maxCollected: 0,
      countLook: 5,
      maxCountList: 20,
    },
  };

  let store: PostgresStore;
  let current: readonly AnyResource[];
  beforeAll(async () => {
    const random = createRandom(5);
    store = new PostgresStore(await postgresPool());
    const results = await store.commit(
      [...skewedResources(70, random), ...randomResources(random)].map((one) => put(one)),
    );
    const stored = results.map((result) => (result as unknown as { readonly resource: AnyResource }).resource);
    current = [...new Map(stored.map((one) => [`${one.resourceType}/${one.id}`, one])).values()];
    return () => store.close();
  });

  test.each(Object.entries(WAYS))('%s', async (_, tuning) => {
    Object.assign(TUNING, tuning);
    await assertSearches(store, PROJECT, current, createRandom(SEED), cases(120, 8));
  });
});

test('a count finds nothing for an alternative without alternatives', async () => {
  const store = new PostgresStore(await postgresPool());
  await store.commit(['male', 'other'].map((gender) => put(resourceOf('Patient', gender, { gender }))));
  const male: Criteria = { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'male' } };
  const nothing: Criteria = { kind: 'or', of: [] };
  const all: Criteria = { kind: 'and', of: [{ kind: 'all' }, { kind: 'not', of: male }] };
  const total = async (criteria: Criteria): Promise<number | undefined> =>
    (await store.search(queryOf('Patient', criteria, { limit: 0, total: true }))).total;
  Object.assign(TUNING, { looks: [1, Infinity], maxCollected: 0, countLook: 0, maxCountList: 20 });
  expect(await total({ kind: 'or', of: [nothing, all] })).toBe(1);
  expect(await total({ kind: 'not', of: { kind: 'or', of: [nothing, all] } })).toBe(1);
  expect(await total({ kind: 'or', of: [nothing, { kind: 'not', of: nothing }] })).toBe(2);
  await store.close();
});

test('the server does not compile lists of parents under conditions on other resources', async () => {
  const statements: string[] = [];
  const store = new PostgresStore(noting(await postgresPool(), statements));
  const subject = { reference: 'Patient/p1' };
  await store.commit([
    put(resourceOf('Patient', 'p1', { gender: 'male' })),
    put(resourceOf('Encounter', 'e1', { subject })),
  ]);
  const of: Criteria = { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'male' } };
  const read = async (criteria: Criteria): Promise<readonly string[]> => {
    statements.length = 0;
    const query = queryOf('Encounter', criteria, { limit: 5 });
    const [page] = await store.searchByReference(query, 'patient', [{ type: 'Patient', id: 'p1' }]);
    expect(page!.matches.map(({ resource }) => resource.id)).toEqual(['e1']);
    return statements;
  };
  // The server takes a tenth of a second to compile statements with a high estimated cost, however few rows they read.
  const [begin, list] = await read({ kind: 'chain', parameter: 'subject', type: 'Patient', of });
  expect([begin, list]).toEqual([expect.stringContaining('SET LOCAL jit = off'), expect.stringContaining('unnest')]);
  expect(await read({ kind: 'missing', parameter: 'subject', missing: false })).toHaveLength(1);
  await store.close();
});

test('a count of resources that do not refer to a URL counts references to resources', async () => {
  const store = new PostgresStore(await postgresPool());
  const references = ['https://own.base/fhir/Patient/p1', 'Patient/p1', 'Patient/p2'];
  await store.commit(
    references.map((reference, index) => put(resourceOf('Encounter', `e${index}`, { subject: { reference } }))),
  );
  const refers: Criteria = { kind: 'match', parameter: 'patient', test: { kind: 'reference', url: references[0]! } };
  const query = queryOf('Encounter', { kind: 'not', of: refers }, { limit: 0, total: true });
  Object.assign(TUNING, { looks: [1, Infinity], maxCollected: 0 });
  expect((await store.search(query)).total).toBe(2);
  await store.close();
});

test('a page without conditions is walked, and not collected from all resources', async () => {
  const statements: string[] = [];
  const store = new PostgresStore(noting(await postgresPool(), statements));
  await store.commit(
    Array.from({ length: 60 }, (_, index) => put(resourceOf('Patient', `p${index + 10}`, { gender: 'male' }))),
  );
  Object.assign(TUNING, { looks: [5, 20, 100, Infinity], stretch: 10 });
  statements.length = 0;
  const sort = [{ parameter: 'gender', descending: false }];
  const { matches } = await store.search(queryOf('Patient', { kind: 'all' }, { sort, limit: 3 }));
  expect(matches.map(({ resource }) => resource.id)).toEqual(['p10', 'p11', 'p12']);
  const scans = statements.filter((text) => text.includes('r0.content IS NOT NULL) u LIMIT'));
  expect(scans.map((text) => / u LIMIT \d+/.exec(text)![0])).toEqual([' u LIMIT 6']);
  await store.close();
});

test('a walk that has most of a page continues with as many rows, and otherwise with more', async () => {
  const statements: string[] = [];
  const store = new PostgresStore(noting(await postgresPool(), statements));
  const patients = Array.from({ length: 100 }, (_, index) =>
    put(resourceOf('Patient', `p${index + 100}`, { gender: index % 2 === 0 ? 'male' : 'female' })),
  );
  await store.commit(patients);
  Object.assign(TUNING, { looks: [Infinity], stretch: 16 * DEFAULTS.rowsPerFar, listedFrom: 100 });
  const criteria: Criteria = { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'male' } };
  const sort = [{ parameter: '_id', descending: false }];
  for (const [limit, grows] of [
    [10, false],
    [40, true],
  ] as const) {
    statements.length = 0;
    const { matches } = await store.search(queryOf('Patient', criteria, { sort, limit }));
    expect(matches.map(({ resource }) => resource.id)).toEqual(
      Array.from({ length: limit }, (_, index) => `p${2 * index + 100}`),
    );
    // Many rows are tested by a list.
    expect(statements.some((text) => text.includes('IN (SELECT u.*'))).toBe(grows);
  }
  await store.close();
});
