import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { R4 } from '../../../src/fhir/r4.js';
import type { AnyResource } from '../../../src/fhir/resource.js';
import type { Criteria, SortKey } from '../../../src/search/criteria/criteria.js';
import { COUNTING_SETS } from '../../../src/stores/sqlite/search/count-sets.js';
import { Connection } from '../../../src/stores/sqlite/connection.js';
import { TUNING } from '../../../src/stores/sqlite/scans/tuning.js';
import { SKIP_TUNING } from '../../../src/stores/sqlite/rows/skip-row.js';
import { Statements } from '../../../src/stores/sqlite/database/statements.js';
import { SqliteStore } from '../../../src/stores/sqlite/store.js';
import { keyOf, PROJECT } from '../../../src/testing/conformance-case.js';
import { createRandom, oneOf } from '../../../src/testing/random.js';
import { assertSearches } from '../../../src/testing/suites/random-searches.js';
import { cases, SEED } from '../../support/chance.js';
import { linkedIdOf as idOf, linkedResources } from '../linked-resources.js';
import { write } from '../skip-cases.js';

const [DEFAULTS, COUNTS] = [{ ...TUNING }, { ...COUNTING_SETS }];
// Few resources are many granules.
beforeAll(() => void Object.assign(SKIP_TUNING, { granule: 8, minGranules: 4, minHolders: 2 }));
afterEach(() => {
  Object.assign(TUNING, DEFAULTS);
  Object.assign(COUNTING_SETS, COUNTS);
  vi.restoreAllMocks();
});

/** Builds missing skip indexes, and updates those with later writes. */
function refresh(database: Database.Database): void {
  const { skipIndexes } = new Connection(R4, database, { cacheBytes: 0, clock: () => new Date(), ownsFile: false });
  const collections = database.prepare('SELECT DISTINCT collection FROM skip').pluck().all() as number[];
  for (const collection of new Set([...collections, ...skipIndexes.listStale()])) {
    skipIndexes.write(skipIndexes.build(collection));
  }
}

/** The service's own URLs: no reference has the first, some have the second. */
const BASES = ['https://none.example/fhir', 'https://other.example/fhir'];

const WAYS = {
  'part by part, a match at a time': { looks: [Infinity], fewTogether: -1, firstChunk: 0, maxChunk: 1 },
  'part by part, some matches at a time': { looks: [Infinity], fewTogether: 4, firstChunk: 4 },
  'sorted at once': { looks: [Infinity], fewTogether: Infinity },
};

describe.each([
  ['', 4],
  [', which types of few resources do not have', 10],
])('skip indexes find conditions on other resources, and orders by references%s', (_, minGranules) => {
  beforeAll(() => void Object.assign(SKIP_TUNING, { minGranules }));
  afterAll(() => void Object.assign(SKIP_TUNING, { minGranules: 4 }));

  test.each(Object.entries(WAYS))(
    '%s, after writes to each type, and after the indexes include them',
    async (_, tuning) => {
      const random = createRandom(SEED);
      const database = new Database(':memory:');
      const store = new SqliteStore(database);
      const current = new Map<string, AnyResource>();
      const add = async (some: readonly AnyResource[]): Promise<void> => {
        for (const one of await write(store, some)) current.set(`${one.resourceType}/${one.id}`, one);
      };
      await add(linkedResources(120, random));
      refresh(database);
      for (let round = 0; round < 3; round++) {
        for (let gone = 0; gone < 6; gone++) {
          const { resourceType, id } = oneOf([...current.values()], random);
          await store.commit([{ kind: 'delete', key: keyOf(resourceType, id!) }]);
          current.delete(`${resourceType}/${id!}`);
        }
        await add([...linkedResources(6, random), ...linkedResources(3, random, `n${round}`)]);
        if (round === 1) refresh(database);
        expect((await store.verify()).problems).toEqual([]);
        Object.assign(TUNING, tuning);
        Object.assign(COUNTING_SETS, { minRows: 0 });
        await assertSearches(store, PROJECT, [...current.values()], random, cases(150, 10));
        for (const base of BASES) {
          await assertSearches(store, PROJECT, [...current.values()], random, cases(30, 5), base);
        }
        Object.assign(TUNING, DEFAULTS);
      }
    },
  );
});

const code = (parameter: string, value: string): Criteria => ({
  kind: 'match',
  parameter,
  test: { kind: 'token', code: value },
});

describe('without a test of a resource', () => {
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  const all: AnyResource[] = [];

  beforeAll(async () => {
    Object.assign(SKIP_TUNING, { granule: 8, minGranules: 4, minHolders: 2 });
    all.push(...(await write(store, linkedResources(600, createRandom(3)))));
    refresh(database);
  });

  /** The page and the count, and the statements that looked at the other end of a reference. */
  async function answer(
    type: string,
    criteria: Criteria,
    baseUrl?: string,
  ): Promise<{ readonly total: number; readonly tests: string[] }> {
    Object.assign(TUNING, { looks: [Infinity] });
    Object.assign(COUNTING_SETS, { minRows: 0 });
    const spies = (['all', 'get', 'column'] as const).map((name) => vi.spyOn(Statements.prototype, name));
    const sort: readonly SortKey[] = [{ parameter: 'subject', descending: false }];
    const { total, matches } = await store.search({
      project: PROJECT,
      type,
      criteria,
      sort,
      limit: 5,
      total: true,
      baseUrl,
    });
    expect(matches).toHaveLength(Math.min(5, total!));
    const texts = spies.flatMap(({ mock }) => mock.calls.map(([{ text }]) => text));
    return {
      total: total!,
      tests: texts.filter((text) => /EXISTS \(SELECT 1 FROM reference|IN \(SELECT x\./.test(text)),
    };
  }

  const observations = (): readonly (AnyResource & Record<string, unknown>)[] =>
    all.filter(({ resourceType }) => resourceType === 'Observation') as never;

  test('targets that very many resources refer to', async () => {
    const criteria: Criteria = {
      kind: 'has',
      type: 'Observation',
      parameter: 'encounter',
      of: code('status', 'final'),
    };
    const named = new Set(
      observations()
        .filter(({ status }) => status === 'final')
        .map(({ encounter }) => idOf(encounter)),
    );
    const expected = all.filter(({ resourceType, id }) => resourceType === 'Encounter' && named.has(id));
    expect(named.size).toBeGreaterThan(40);
    expect(await answer('Encounter', criteria)).toEqual({ total: expected.length, tests: [] });
    vi.restoreAllMocks();
    // No reference is below this base.
    expect(await answer('Encounter', criteria, BASES[0])).toEqual({ total: expected.length, tests: [] });
  });

  test('targets without references', async () => {
    const has = (parameter: string): Criteria => ({
      kind: 'has',
      type: 'Observation',
      parameter,
      of: code('status', 'final'),
    });
    const { total } = await answer('Encounter', has('encounter'));
    vi.restoreAllMocks();
    const either: Criteria = { kind: 'or', of: [has('encounter'), has('part-of')] };
    expect(await answer('Encounter', either)).toEqual({ total, tests: [] });
    expect(await answer('Encounter', has('part-of'))).toMatchObject({ total: 0, tests: [] });
  });

  test('a combination with a target that very many resources refer to', async () => {
    const has = (status: string): Criteria => ({
      kind: 'has',
      type: 'Observation',
      parameter: 'encounter',
      of: code('status', status),
    });
    const outpatient: Criteria = { kind: 'and', of: [has('amended'), code('class', 'AMB')] };
    const criteria: Criteria = { kind: 'or', of: [outpatient, { kind: 'not', of: has('final') }] };
    const named = (status: string): ReadonlySet<string | undefined> =>
      new Set(observations().flatMap((one) => (one['status'] === status ? [idOf(one['encounter'])] : [])));
    const [amended, final] = [named('amended'), named('final')];
    const expected = all.filter(({ resourceType, id, ...encounter }) => {
      if (resourceType !== 'Encounter') return false;
      const isOutpatient = (encounter as { class?: { code?: string } }).class?.code === 'AMB';
      return (isOutpatient && amended.has(id)) || !final.has(id);
    });
    expect(await answer('Encounter', criteria)).toEqual({ total: expected.length, tests: [] });
    vi.restoreAllMocks();
    const get = vi.spyOn(Statements.prototype, 'get');
    await store.search({ project: PROJECT, type: 'Encounter', criteria, limit: 0, total: true });
    // Sets need no scan, so none is looked into.
    expect(get.mock.calls.filter(([{ text }]) => text.startsWith('SELECT count(*) FROM (SELECT 1 FROM'))).toEqual([]);
  });

  test('resources with very many targets', async () => {
    const criteria: Criteria = { kind: 'chain', parameter: 'subject', type: 'Patient', of: code('gender', 'female') };
    const isFemale = ({ gender }: Record<string, unknown>): boolean => gender === 'female';
    const women = new Set(all.filter((one) => isFemale(one as never)).map(({ id }) => id));
    const expected = observations().filter(
      ({ subject }) => women.has(idOf(subject)) && !/Group|http/.test(JSON.stringify(subject)),
    );
    expect(expected.length).toBeGreaterThan(150);
    expect(await answer('Observation', criteria)).toEqual({ total: expected.length, tests: [] });
    vi.restoreAllMocks();
    expect(await answer('Observation', criteria, BASES[0])).toEqual({ total: expected.length, tests: [] });
  });
});

describe('a page of a type whose order no skip index has is found by those of other types', () => {
  const page = async (store: SqliteStore, sort: readonly SortKey[]): Promise<readonly string[]> => {
    const criteria: Criteria = {
      kind: 'has',
      type: 'Observation',
      parameter: 'encounter',
      of: code('status', 'final'),
    };
    const { matches } = await store.search({ project: PROJECT, type: 'Encounter', criteria, sort, limit: 5 });
    return matches.map(({ resource }) => resource.id!);
  };

  test.each([
    ['few resources', 20, [{ parameter: '_id', descending: true }]],
    ['few values of the sort key', 200, [{ parameter: 'appointment', descending: true }]],
  ] as const)('%s', async (_, count, sort) => {
    const database = new Database(':memory:');
    const store = new SqliteStore(database);
    const encounters = Array.from({ length: count }, (_, index) => ({
      resourceType: 'Encounter',
      id: `e${index}`,
      status: index % 2 === 0 ? 'finished' : 'planned',
      appointment: index < 12 ? [{ reference: `Appointment/a${index % 5}` }] : undefined,
    }));
    const observations = Array.from({ length: 600 }, (_, index) => ({
      resourceType: 'Observation',
      id: `o${index}`,
      status: index % 3 === 0 ? 'final' : 'amended',
      encounter: { reference: `Encounter/e${(index * 7) % (count / 2)}` },
    }));
    await write(store, [...encounters, ...observations]);
    const expected = await page(store, sort);
    expect(expected).toHaveLength(5);
    refresh(database);
    Object.assign(TUNING, { looks: [40, Infinity] });
    const spies = (['all', 'get', 'column'] as const).map((name) => vi.spyOn(Statements.prototype, name));
    expect(await page(store, sort)).toEqual(expected);
    const texts = spies.flatMap(({ mock }) => mock.calls.map(([{ text }]) => text));
    // No statement reads an Observation.
    expect(texts.filter((text) => text.includes('FROM token x'))).toEqual([]);
  });
});

test('a page in the order of a reference reads some resources of the type, not all', async () => {
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  await write(store, linkedResources(600, createRandom(5)));
  const sort: readonly SortKey[] = [{ parameter: 'subject', descending: true }];
  const page = async (): Promise<readonly string[]> => {
    const { matches } = await store.search({
      project: PROJECT,
      type: 'Observation',
      criteria: { kind: 'all' },
      sort,
      limit: 5,
    });
    return matches.map(({ resource }) => resource.id!);
  };
  const expected = await page();
  refresh(database);
  const all = vi.spyOn(Statements.prototype, 'all');
  Object.assign(TUNING, { looks: [40, Infinity], skipFrom: 40, fewTogether: 8, firstChunk: 8, maxChunk: 64 });
  expect(await page()).toEqual(expected);
  const read = all.mock.calls.flatMap(
    ([{ values }]) => values.filter((one) => String(one).startsWith('[')) as string[],
  );
  const keys = read.flatMap((list) => JSON.parse(list) as unknown[]);
  expect(keys.length).toBeGreaterThan(4);
  expect(keys.length).toBeLessThan(60);
});
