import Database from 'better-sqlite3';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { R4 } from '../../../src/fhir/r4.js';
import type { AnyResource } from '../../../src/fhir/resource.js';
import type { Criteria, SortKey } from '../../../src/search/criteria/criteria.js';
import type { SearchQuery } from '../../../src/store/search-query.js';
import type { ResourceStore } from '../../../src/store/store.js';
import { MemoryStore } from '../../../src/stores/memory/store.js';
import { rowScope } from '../../../src/stores/sql/rows.js';
import type { Prefix } from '../../../src/search/criteria/value-test.js';
import type { ConditionSet } from '../../../src/stores/sql/skip/condition-set.js';
import { COUNTING_SETS } from '../../../src/stores/sqlite/search/count-sets.js';
import { Connection } from '../../../src/stores/sqlite/connection.js';
import { sqliteDialect } from '../../../src/stores/sqlite/rows/dialect.js';
import { createDictionaries } from '../../../src/stores/sqlite/rows/dictionary.js';
import { guardOf } from '../../../src/stores/sqlite/database/guard.js';
import { PageFinder } from '../../../src/stores/sqlite/pages/page-finder.js';
import { PreparedSearch } from '../../../src/stores/sqlite/pages/prepared-search.js';
import { TUNING } from '../../../src/stores/sqlite/scans/tuning.js';
import { SKIP_TUNING } from '../../../src/stores/sqlite/rows/skip-row.js';
import { Statements } from '../../../src/stores/sqlite/database/statements.js';
import { SqliteStore } from '../../../src/stores/sqlite/store.js';
import { THREAD_TUNING } from '../../../src/stores/sqlite/database/tuning.js';
import { keyOf, PROJECT } from '../../../src/testing/conformance-case.js';
import { createRandom, oneOf } from '../../../src/testing/random.js';
import { randomResources } from '../../../src/testing/random-resources.js';
import { skewedResources } from '../../../src/testing/skewed-resources.js';
import { assertSearches } from '../../../src/testing/suites/random-searches.js';
import { cases, SEED } from '../../support/chance.js';
import { until } from '../../support/until.js';
import { correlatedObservations } from '../correlated-observations.js';
import { temporaryFolder } from '../temporary-folder.js';
import { randomRange, rangedResources } from '../ranged-resources.js';
import { above, assertTextsAfterCodes, by, match, write } from '../skip-cases.js';

const DEFAULTS = { ...TUNING };
const COUNTS = { ...COUNTING_SETS };
const [SKIPS, THREADS] = [{ ...SKIP_TUNING }, { ...THREAD_TUNING }];
// Few resources are many granules.
beforeAll(() => void Object.assign(SKIP_TUNING, { granule: 8, minGranules: 4, minHolders: 2, minLoad: 100 }));
/** Ranges are found in their orders, with the values at their ends. */
const IN_ORDERS = { maxLookedUp: 3, maxTested: 3 };
afterEach(() => {
  Object.assign(TUNING, DEFAULTS);
  Object.assign(THREAD_TUNING, THREADS);
  const { maxLookedUp, maxTested, maxTied } = SKIPS;
  Object.assign(SKIP_TUNING, { maxLookedUp, maxTested, maxTied });
  vi.restoreAllMocks();
});

function connectionTo(database: Database.Database): Connection {
  return new Connection(R4, database, { cacheBytes: 0, clock: () => new Date(), ownsFile: false });
}

/** Makes all skip indexes. */
function buildAll(database: Database.Database): void {
  const { skipIndexes } = connectionTo(database);
  for (const collection of skipIndexes.listStale()) skipIndexes.write(skipIndexes.build(collection));
}

function countRows(database: Database.Database): number {
  return database.prepare('SELECT count(*) FROM skip').pluck().get() as number;
}

const WAYS = {
  'part by part, a match at a time': { looks: [Infinity], fewTogether: -1, firstChunk: 0, maxChunk: 1 },
  'part by part, some matches at a time': { looks: [Infinity], fewTogether: 4, firstChunk: 4 },
  'sorted at once': { looks: [Infinity], fewTogether: Infinity },
  'longer than the database sorts': { looks: [Infinity], maxSorted: 2, fewTogether: 4, firstChunk: 4 },
  'after a walk': { looks: [8, 32, Infinity], skipFrom: 20, fewTogether: 2, firstChunk: 1, maxChunk: 4 },
};

describe('with skip indexes every way to a page gives the same page', () => {
  test.each(Object.entries(WAYS))('%s', async (_, tuning) => {
    const random = createRandom(SEED);
    const database = new Database(':memory:');
    const store = new SqliteStore(database);
    const stored = await write(store, [...skewedResources(120, random), ...randomResources(random)]);
    buildAll(database);
    expect(countRows(database)).toBeGreaterThan(50);
    Object.assign(TUNING, tuning);
    Object.assign(SKIP_TUNING, IN_ORDERS);
    const current = [...new Map(stored.map((one) => [`${one.resourceType}/${one.id}`, one])).values()];
    await assertSearches(store, PROJECT, current, random, cases(250, 15));
  });

  test.each(Object.entries(WAYS))('%s, after further writes', async (_, tuning) => {
    const random = createRandom(SEED);
    const database = new Database(':memory:');
    const store = new SqliteStore(database);
    const first = await write(store, skewedResources(120, random));
    buildAll(database);
    const deleted = new Set<string>();
    for (let round = 0; round < 8; round++) deleted.add(oneOf(first, random).id!);
    await store.commit([...deleted].map((id) => ({ kind: 'delete', key: keyOf('Observation', id) })));
    const changed = first.slice(0, 30).map((one, index) => ({ ...first[index + 40]!, id: one.id }));
    const later = [...changed.filter(({ id }) => !deleted.has(id!)), ...randomResources(random)];
    const second = await write(store, later);
    Object.assign(TUNING, tuning);
    const all = [...first.filter(({ id }) => !deleted.has(id!)), ...second];
    const current = [...new Map(all.map((one) => [`${one.resourceType}/${one.id}`, one])).values()];
    await assertSearches(store, PROJECT, current, random, cases(250, 15));
  });
});

test.each(Object.entries(WAYS))(
  'a page in the order of codes has resources with only a text: %s',
  async (_, tuning) => {
    const store = new SqliteStore(new Database(':memory:'));
    Object.assign(TUNING, tuning);
    await assertTextsAfterCodes(store);
    await store.close();
  },
);

const before = (day: string): Criteria => {
  const low = Date.parse(day);
  return { kind: 'match', parameter: 'date', test: { kind: 'date', prefix: 'lt', low, high: low + 86_400_000 } };
};

describe('a page costs only its rows if conditions and order depend on each other', () => {
  const database = new Database(':memory:');
  const statements = new Statements(database);
  const SIZE = 32;

  beforeAll(async () => {
    await write(new SqliteStore(database), correlatedObservations(2_500));
  });

  /** The rows looked at, without and with skip indexes. */
  function looked(criteria: Criteria, sort: readonly SortKey[]): readonly [without: number, with_: number] {
    const scope = rowScope(
      { project: PROJECT, dialect: sqliteDialect(R4, createDictionaries(database, statements)) },
      'Observation',
    );
    const query: SearchQuery = { project: PROJECT, type: 'Observation', criteria, sort, limit: 10 };
    const find = (): readonly [number, readonly string[]] => {
      const finder = new PageFinder(new PreparedSearch(query, scope, statements), statements, guardOf(database));
      const ids = finder.find().map(({ values }) => JSON.stringify(values));
      return [finder.looked, ids];
    };
    database.exec('DELETE FROM skip');
    const [without, expected] = find();
    Object.assign(SKIP_TUNING, { granule: SIZE });
    buildAll(database);
    Object.assign(SKIP_TUNING, { granule: 8 });
    const [rows, found] = find();
    expect(found).toEqual(expected);
    return [without, rows];
  }

  const not = (of: Criteria): Criteria => ({ kind: 'not', of });
  const and = (...of: readonly Criteria[]): Criteria => ({ kind: 'and', of });
  const withOne = (...parameters: readonly string[]): Criteria => ({
    kind: 'or',
    of: parameters.map((parameter) => ({ kind: 'missing', parameter, missing: false })),
  });
  const missing = (parameter: string): Criteria => ({ kind: 'missing', parameter, missing: true });

  test.each<[string, Criteria, readonly SortKey[]]>([
    ['a code of old resources, latest first', match('status', 'corrected'), [by('date', true)]],
    ['a code of new resources, oldest first', match('status', 'final'), [by('date')]],
    ['not the code of new resources, latest first', not(match('status', 'final')), [by('date', true)]],
    ['a range of another parameter, oldest first', above(250), [by('date')]],
    ['a range of the date, highest first', before('2011-01-01'), [by('value-quantity', true)]],
    ['without a reference that new resources have, latest first', missing('subject'), [by('date', true)]],
    ['with a reference in one of two forms, oldest first', withOne('subject', 'subject:identifier'), [by('date')]],
    [
      'a code of old resources in the group of a code',
      match('status', 'corrected'),
      [by('status', true), by('date', true)],
    ],
    ['two codes, latest first', and(match('status', 'corrected'), match('code', 'c1')), [by('date', true)]],
  ])('%s', (_, criteria, sort) => {
    Object.assign(TUNING, { looks: [40, Infinity], skipFrom: 40, setsCost: 1, fewTogether: 8, maxChunk: 64 });
    const [without, rows] = looked(criteria, sort);
    expect(without).toBeGreaterThan(500);
    expect(rows).toBeLessThan(without / 2);
  });

  test('conditions that exclude each other find nothing without reading a row', () => {
    Object.assign(TUNING, {
      looks: [100, Infinity],
      skipFrom: 40,
      setsCost: 1,
      maxChunk: 64,
      blocksFrom: Infinity,
    });
    const [without, rows] = looked(and(match('status', 'corrected'), above(200)), []);
    expect(without).toBeGreaterThan(700);
    expect(rows).toBeLessThan(100);
  });
});

test('a page far into the order of references reads no more than the resources before it', async () => {
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  await write(
    store,
    Array.from({ length: 600 }, (_, index): AnyResource => {
      const subject = { reference: `Patient/p${(index * 7) % 600}` };
      return { resourceType: 'Observation', id: `o${index}`, subject } as AnyResource;
    }),
  );
  const query: SearchQuery = { ...OBSERVATIONS, sort: [by('subject')], offset: 60, limit: 5 };
  const page = async (): Promise<readonly string[]> =>
    (await store.search(query)).matches.map(({ resource }) => resource.id!);
  const expected = await page();
  expect(expected).toHaveLength(5);
  buildAll(database);
  Object.assign(TUNING, { looks: [Infinity], fewTogether: 4, firstChunk: 4, maxChunk: 16, maxSorted: 20 });
  const all = vi.spyOn(Statements.prototype, 'all');
  expect(await page()).toEqual(expected);
  const rows = all.mock.results.flatMap(({ value }) => value as readonly unknown[]).length;
  expect(rows).toBeGreaterThanOrEqual(65);
  expect(rows).toBeLessThan(100);
});

test('a page under a composite tests only resources with both of its values, and reads no list of one value', async () => {
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  await write(store, correlatedObservations(600));
  const composite: Criteria = {
    kind: 'composite',
    parameter: 'code-value-quantity',
    tests: [
      { kind: 'token', code: 'c1' },
      { kind: 'quantity', prefix: 'lt', low: 40, high: 40 },
    ],
  };
  const query: SearchQuery = { ...OBSERVATIONS, criteria: composite, sort: [by('date', true)], limit: 5 };
  const page = async (): Promise<readonly string[]> =>
    (await store.search(query)).matches.map(({ resource }) => resource.id!);
  const expected = await page();
  expect(expected).toHaveLength(5);
  buildAll(database);
  Object.assign(TUNING, { looks: [Infinity], skipFrom: 0 });
  const spies = (['all', 'column'] as const).map((name) => vi.spyOn(Statements.prototype, name));
  expect(await page()).toEqual(expected);
  const calls = spies.flatMap(({ mock }) => mock.calls.map(([query]) => query));
  expect(calls.filter(({ text }) => /FROM \(SELECT x\d\.resource FROM token/.test(text))).toEqual([]);
  const lists = calls.flatMap(({ values }) => values).filter((one) => String(one).startsWith('['));
  const tested = lists.flatMap((one) => JSON.parse(String(one)) as unknown[]).length;
  expect(tested).toBeGreaterThan(4);
  expect(tested).toBeLessThan(80);
});

test('a page of one code, sorted by it, excludes resources with a larger code, too', async () => {
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  const category = (...codes: readonly string[]) => codes.map((code) => ({ coding: [{ code }] }));
  const ids = Array.from({ length: 120 }, (_, index) => `o${String(index).padStart(3, '0')}`);
  const both = new Set(ids.filter((_, index) => index % 3 === 0));
  const resourceOfId = (id: string): AnyResource =>
    ({ resourceType: 'Observation', id, category: category('a', ...(both.has(id) ? ['b'] : [])) }) as AnyResource;
  await write(store, ids.map(resourceOfId));
  buildAll(database);
  Object.assign(TUNING, { looks: [Infinity], fewTogether: Infinity });
  const page = async (descending: boolean): Promise<readonly string[]> => {
    const sort = [by('category', descending), by('_id', true)];
    const after = { id: 'o090', values: ['a', 'o090'] };
    const { matches } = await store.search({ ...OBSERVATIONS, sort, limit: 10, after });
    return matches.map(({ resource }) => resource.id!);
  };
  const below = ids.filter((id) => id < 'o090').reverse();
  expect(await page(true)).toEqual(below.filter((id) => !both.has(id)).slice(0, 10));
  expect(await page(false)).toEqual(below.slice(0, 10));
});

test('a page that begins at a code that was written since excludes the code before it', async () => {
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  const withCode = (id: string, code: string): AnyResource =>
    ({ resourceType: 'Observation', id, code: { coding: [{ code }] } }) as AnyResource;
  const ids = (code: string): readonly string[] =>
    Array.from({ length: 40 }, (_, index) => `${code}${String(index).padStart(2, '0')}`);
  await write(store, [...ids('a').map((id) => withCode(id, 'a')), ...ids('c').map((id) => withCode(id, 'c'))]);
  buildAll(database);
  await write(store, [withCode('b', 'b')]);
  Object.assign(TUNING, { looks: [Infinity], fewTogether: 1 });
  const criteria: Criteria = { kind: 'not', of: match('status', 'amended') };
  const page = async (descending: boolean, place: object): Promise<readonly string[]> => {
    const query = { ...OBSERVATIONS, criteria, sort: [by('code', descending)], limit: 3, ...place };
    return (await store.search(query)).matches.map(({ resource }) => resource.id!);
  };
  const at = { id: 'b', values: ['b'] };
  expect(await page(false, { after: at })).toEqual(ids('c').slice(0, 3));
  expect(await page(true, { after: at })).toEqual(ids('a').slice(0, 3));
  expect(await page(false, { before: at })).toEqual(ids('a').slice(-3));
  expect(await page(true, { before: at })).toEqual(ids('c').slice(-3));
});

const OBSERVATIONS = { project: PROJECT, type: 'Observation', criteria: { kind: 'all' } } as const;

describe('counts under several conditions', () => {
  afterEach(() => void Object.assign(COUNTING_SETS, COUNTS));

  test('equal the number of matches, also after further writes', async () => {
    const random = createRandom(SEED);
    const database = new Database(':memory:');
    const store = new SqliteStore(database);
    const first = await write(store, skewedResources(150, random));
    buildAll(database);
    Object.assign(COUNTING_SETS, { minRows: 0 });
    Object.assign(SKIP_TUNING, IN_ORDERS);
    await store.commit([{ kind: 'delete', key: keyOf('Observation', first[3]!.id!) }]);
    const changed = first.slice(4, 12).map((one, index) => ({ ...first[index + 40]!, id: one.id }));
    const second = await write(store, changed);
    const all = [...first.slice(0, 3), ...first.slice(4), ...second];
    const current = [...new Map(all.map((one) => [`${one.resourceType}/${one.id}`, one])).values()];
    await assertSearches(store, PROJECT, current, random, cases(250, 20));
  });

  test('test no resource', async () => {
    const database = new Database(':memory:');
    const store = new SqliteStore(database);
    await write(store, correlatedObservations(600));
    const count = async (...of: readonly Criteria[]): Promise<number> => {
      const query: SearchQuery = {
        project: PROJECT,
        type: 'Observation',
        criteria: { kind: 'and', of },
        limit: 0,
        total: true,
      };
      return (await store.search(query)).total!;
    };
    const codes = [match('status', 'final'), match('code', 'c1')] as const;
    const expected = [await count(...codes), await count(match('status', 'final'), above(100))];
    expect(expected[0]).toBeGreaterThan(50);
    expect(expected[1]).toBeGreaterThan(50);
    const either: Criteria = { kind: 'or', of: codes };
    const alone = [await count(either), await count({ kind: 'not', of: either })];
    expect(alone[0]).toBeGreaterThan(expected[0]!);
    expect(alone[1]).toBeGreaterThan(50);
    buildAll(database);
    Object.assign(COUNTING_SETS, { minRows: 0 });
    const get = vi.spyOn(Statements.prototype, 'get');
    expect([await count(...codes), await count(match('status', 'final'), above(100))]).toEqual(expected);
    expect(get.mock.calls.filter(([{ text }]) => text.includes('r0.'))).toEqual([]);
    get.mockClear();
    // Alternatives of one or several parameters are one condition.
    expect([await count(either), await count({ kind: 'not', of: either })]).toEqual(alone);
    const texts = get.mock.calls.map(([{ text }]) => text);
    // A single condition checks whether the index finds few.
    expect(texts.filter((text) => /\b(r0|token x)\b/.test(text) && !text.includes('LIMIT'))).toEqual([]);
  });

  test(`equal those of a memory store for ranges with any ends, seed ${SEED}`, async () => {
    const random = createRandom(SEED);
    const [database, memory] = [new Database(':memory:'), new MemoryStore()];
    const store = new SqliteStore(database);
    const resources = rangedResources(300, random);
    await write(store, resources);
    await write(memory, resources);
    buildAll(database);
    Object.assign(COUNTING_SETS, { minRows: 0 });
    for (let trial = 0; trial < cases(600, 60); trial++) {
      Object.assign(SKIP_TUNING, {
        maxLookedUp: oneOf([0, 20], random),
        maxTested: oneOf([1, 4, 64], random),
        maxTied: oneOf([0, 20], random),
      });
      Object.assign(TUNING, { looks: oneOf([[Infinity], DEFAULTS.looks], random), skipFrom: 0 });
      const { type, criteria } = randomRange(random);
      const sort = random() < 0.5 ? undefined : [by(type === 'Observation' ? 'code' : 'date', random() < 0.5)];
      const query = { project: PROJECT, type, criteria, sort, limit: oneOf([0, 10], random), total: true };
      const idsOf = async (from: ResourceStore): Promise<unknown> => {
        const { matches, total } = await from.search(query);
        return [total, matches.map(({ resource }) => resource.id)];
      };
      expect([criteria, await idsOf(store)]).toEqual([criteria, await idsOf(memory)]);
    }
  });

  test.each<[string, Prefix, string | undefined, number]>([
    ['from it on', 'ge', undefined, 500],
    ['above it', 'gt', undefined, 200],
    ['up to it', 'le', undefined, 300],
    ['below it', 'lt', undefined, 0],
    ['from it on, in a unit that few have', 'ge', 'g', 50],
  ])(
    'of ranges do not read a value that very many resources have at an end of the range: %s',
    async (_, prefix, code, most) => {
      const database = new Database(':memory:');
      const store = new SqliteStore(database);
      const values = Array.from({ length: 500 }, (_, index) => (index % 5 < 3 ? 7 : 8 + (index % 97)));
      const resources = values.map((value, index) => {
        const valueQuantity = { value, system: 'urn:u', code: index % 10 === 0 ? 'g' : 'mg' };
        return { resourceType: 'Observation', id: `o${index}`, valueQuantity } as unknown as AnyResource;
      });
      await write(store, resources);
      buildAll(database);
      Object.assign(SKIP_TUNING, { maxLookedUp: 3, maxTied: 20 });
      const { known, read } = setOf(database, {
        kind: 'match',
        parameter: 'value-quantity',
        test: { kind: 'quantity', prefix, low: 7, high: 7, ...(code && { system: 'urn:u', code }) },
      });
      expect(known).toMatchObject({ exact: true });
      expect(known!.set.count).toBe(most);
      expect(read).toBeLessThan(60);
    },
  );

  /** A set for a page, and how many rows were read for it. */
  function setOf(
    database: Database.Database,
    criteria: Criteria,
  ): { readonly known: ConditionSet | undefined; readonly read: number } {
    const statements = new Statements(database);
    const dialect = sqliteDialect(R4, createDictionaries(database, statements));
    const scope = rowScope({ project: PROJECT, dialect }, 'Observation');
    const search = new PreparedSearch({ ...OBSERVATIONS, criteria }, scope, statements);
    const column = vi.spyOn(Statements.prototype, 'column');
    const known = search.skips!.of(search.conditions[0]!);
    const read = column.mock.results.reduce((sum, { value }) => sum + (value as readonly unknown[]).length, 0);
    return { known, read };
  }

  test('of ranges read only the values at the ends of the range', async () => {
    const database = new Database(':memory:');
    const store = new SqliteStore(database);
    await write(store, correlatedObservations(600));
    const count = async (criteria: Criteria): Promise<number> =>
      (await store.search({ project: PROJECT, type: 'Observation', criteria, limit: 0, total: true })).total!;
    const test = { kind: 'date', prefix: 'ge', low: Date.UTC(2013, 1, 1), high: Date.UTC(2013, 1, 2) } as const;
    const since: Criteria = { kind: 'match', parameter: 'date', test };
    const asked: readonly Criteria[] = [
      above(100),
      { kind: 'not', of: above(100) },
      since,
      { kind: 'and', of: [above(100), since] },
      { kind: 'or', of: [above(100), { kind: 'missing', parameter: 'date', missing: true }] },
    ];
    const expected: number[] = [];
    for (const criteria of asked) expected.push(await count(criteria));
    buildAll(database);
    Object.assign(COUNTING_SETS, { minRows: 0 });
    Object.assign(SKIP_TUNING, { maxLookedUp: 3 });
    const [column, get] = [vi.spyOn(Statements.prototype, 'column'), vi.spyOn(Statements.prototype, 'get')];
    for (const [number, criteria] of asked.entries()) {
      column.mockClear();
      get.mockClear();
      expect(await count(criteria)).toBe(expected[number]);
      const read = column.mock.results.reduce((sum, { value }) => sum + (value as readonly unknown[]).length, 0);
      expect(read).toBeLessThan(60);
      expect(get.mock.calls.filter(([{ text }]) => /\b(r0|x)\./.test(text) && !text.includes('LIMIT'))).toEqual([]);
    }
    expect(Math.min(...expected)).toBeGreaterThan(60);
  });
});

describe('skip indexes', () => {
  async function filled(): Promise<{ readonly database: Database.Database; readonly store: SqliteStore }> {
    const database = new Database(':memory:');
    const store = new SqliteStore(database);
    await write(store, correlatedObservations(200));
    buildAll(database);
    expect(countRows(database)).toBeGreaterThan(20);
    return { database, store };
  }

  test('of another moment are not taken from the cache', async () => {
    const { database, store } = await filled();
    Object.assign(COUNTING_SETS, { minRows: 0 });
    const criteria: Criteria = { kind: 'and', of: [match('status', 'final'), match('code', 'c1')] };
    const query: SearchQuery = { project: PROJECT, type: 'Observation', criteria, limit: 500, total: true };
    const { matches, total } = await store.search(query);
    await store.commit([{ kind: 'erase', key: keyOf('Observation', matches[0]!.resource.id!), reason: 'test' }]);
    buildAll(database);
    expect(countRows(database)).toBeGreaterThan(20);
    expect((await store.search({ ...query, limit: 0 })).total).toBe(total! - 1);
    Object.assign(COUNTING_SETS, COUNTS);
  });

  test('are deleted when a resource of the type is erased, and when the project is removed', async () => {
    const { database, store } = await filled();
    await store.commit([{ kind: 'erase', key: keyOf('Observation', 'o000000'), reason: 'test' }]);
    expect(countRows(database)).toBe(0);
    buildAll(database);
    expect(countRows(database)).toBeGreaterThan(20);
    await store.removal.removeProject(PROJECT);
    expect(countRows(database)).toBe(0);
  });

  test('that were built before an erasure are not written after it', async () => {
    const { database, store } = await filled();
    const { skipIndexes } = connectionTo(database);
    const collection = database.prepare('SELECT collection FROM skip').pluck().get() as number;
    const built = skipIndexes.build(collection);
    await store.commit([{ kind: 'erase', key: keyOf('Observation', 'o000000'), reason: 'test' }]);
    skipIndexes.write(built);
    expect(countRows(database)).toBe(0);
  });

  test('are updated after writes, and then equal new ones', async () => {
    const random = createRandom(SEED);
    for (let round = 0; round < cases(4, 2); round++) {
      const database = new Database(':memory:');
      const store = new SqliteStore(database);
      const resources = new Map<string, AnyResource>();
      const add = async (some: readonly AnyResource[]): Promise<void> => {
        for (const one of await write(store, some)) resources.set(`${one.resourceType}/${one.id}`, one);
      };
      await add(skewedResources(100, random));
      buildAll(database);
      for (let step = 0; step < 4; step++) {
        const some = [...resources.values()].filter(({ resourceType }) => resourceType === 'Observation');
        const gone = oneOf(some, random);
        await store.commit([{ kind: 'delete', key: keyOf('Observation', gone.id!) }]);
        resources.delete(`Observation/${gone.id}`);
        const others = skewedResources(10, random).map((one, index) => ({ ...one, id: `n${step}-${index}` }));
        await add([...others, { ...oneOf(some, random), id: oneOf(others, random).id }] as AnyResource[]);
        const { skipIndexes } = connectionTo(database);
        for (const collection of database.prepare('SELECT DISTINCT collection FROM skip').pluck().all() as number[]) {
          skipIndexes.write(skipIndexes.build(collection));
        }
        expect((await store.verify()).problems).toEqual([]);
        // Nothing of an earlier state is kept.
        Object.assign(TUNING, WAYS['part by part, some matches at a time']);
        Object.assign(COUNTING_SETS, { minRows: 0 });
        await assertSearches(store, PROJECT, [...resources.values()], random, cases(20, 10));
        Object.assign(TUNING, DEFAULTS);
        Object.assign(COUNTING_SETS, COUNTS);
      }
    }
  });

  test('include a parameter that no resource had when they were built', async () => {
    const { database, store } = await filled();
    const noted = { ...correlatedObservations(1)[0]!, id: 'noted', valueString: 'oil' } as AnyResource;
    await write(store, [noted]);
    buildAll(database);
    const { skipIndexes } = connectionTo(database);
    for (const collection of database.prepare('SELECT DISTINCT collection FROM skip').pluck().all() as number[]) {
      skipIndexes.write(skipIndexes.build(collection));
    }
    Object.assign(TUNING, WAYS['sorted at once']);
    const criteria: Criteria = { kind: 'missing', parameter: 'value-string', missing: false };
    const { matches } = await store.search({ ...OBSERVATIONS, criteria, limit: 5 });
    expect(matches.map(({ resource }) => resource.id)).toEqual(['noted']);
  });

  test('are updated if little was written, and rebuilt if much was', async () => {
    const { database, store } = await filled();
    const { skipIndexes } = connectionTo(database);
    const collection = database.prepare('SELECT collection FROM skip').pluck().get() as number;
    const all = countRows(database);
    await write(store, correlatedObservations(2));
    const update = skipIndexes.build(collection);
    expect(update.base).toBeGreaterThan(0);
    expect((JSON.parse(update.rows.index) as unknown[]).length).toBeLessThan(all / 2);
    await write(store, correlatedObservations(400));
    const whole = skipIndexes.build(collection);
    expect(whole.base).toBeUndefined();
    // An index that was built on older rows does not replace a newer one.
    skipIndexes.write(whole);
    const before = database.prepare('SELECT sort, subject, value, data FROM skip').raw().all();
    skipIndexes.write(update);
    expect(database.prepare('SELECT sort, subject, value, data FROM skip').raw().all()).toEqual(before);
  });

  test('are updated even after so many writes that searches do not use them', async () => {
    const { database, store } = await filled();
    const { skipIndexes } = connectionTo(database);
    const collection = database.prepare('SELECT collection FROM skip').pluck().get() as number;
    const { maxPending, maxVersions } = SKIP_TUNING;
    Object.assign(SKIP_TUNING, { maxPending: 5, maxVersions: 8 });
    await write(store, correlatedObservations(20));
    const update = skipIndexes.build(collection);
    Object.assign(SKIP_TUNING, { maxPending, maxVersions });
    expect(update.base).toBeGreaterThan(0);
    skipIndexes.write(update);
    expect((await store.verify()).problems).toEqual([]);
  });

  test('are deleted by reindex()', async () => {
    const { database, store } = await filled();
    await store.reindex();
    expect(countRows(database)).toBe(0);
    buildAll(database);
    await store.reindex({ project: PROJECT });
    expect(countRows(database)).toBe(0);
  });

  test('of other definitions are not used', async () => {
    const { database, store } = await filled();
    const get = vi.spyOn(Statements.prototype, 'get');
    const search = async (): Promise<string> => {
      get.mockClear();
      Object.assign(TUNING, { looks: [Infinity], skipFrom: 0, maxChunk: 16 });
      const query = { project: PROJECT, type: 'Observation', criteria: match('status', 'corrected'), limit: 3 };
      const { matches } = await store.search({ ...query, sort: [by('date', true)] });
      return JSON.stringify([matches.length, get.mock.calls.length]);
    };
    const used = await search();
    database.prepare("UPDATE meta SET value = value + 1 WHERE name = 'index_epoch'").run();
    const unused = await search();
    expect(JSON.parse(used)[0]).toBe(3);
    expect(JSON.parse(unused)[1]).toBeGreaterThan(2 * JSON.parse(used)[1]);
  });

  test('are verified', async () => {
    const { database, store } = await filled();
    expect((await store.verify()).problems).toEqual([]);
    const rows = database
      .prepare("SELECT sort, subject, value, data FROM skip WHERE typeof(data) = 'blob'")
      .raw()
      .all();
    const change = database.prepare('UPDATE skip SET data = ? WHERE sort = ? AND subject = ? AND value = ?');
    const some = rows.filter((_, index) => index % 7 === 0) as [number, number, string | number, Buffer][];
    expect(some.length).toBeGreaterThan(3);
    for (const [sort, subject, value, data] of some) {
      const other = Buffer.from(data);
      other[other.length - 1]! ^= 1;
      change.run(other, sort, subject, value);
      const { problems } = await store.verify();
      expect(problems, `${sort} ${subject} ${value}`).toEqual(['skip: rows that are wrong: 1']);
      change.run(data, sort, subject, value);
    }
  });

  test('are verified after the first and the last resource are deleted', async () => {
    const { database, store } = await filled();
    const { skipIndexes } = connectionTo(database);
    const collection = database.prepare('SELECT collection FROM skip').pluck().get() as number;
    const current = 'SELECT id FROM resource WHERE content IS NOT NULL ORDER BY key';
    const ids = database.prepare(current).pluck().all() as string[];
    for (const id of [ids[0]!, ids.at(-1)!]) await store.commit([{ kind: 'delete', key: keyOf('Observation', id) }]);
    const update = skipIndexes.build(collection);
    expect(update.base).toBeGreaterThan(0);
    skipIndexes.write(update);
    expect((await store.verify()).problems).toEqual([]);
  });

  test('of few resources are not built', async () => {
    const database = new Database(':memory:');
    await write(new SqliteStore(database), correlatedObservations(31));
    buildAll(database);
    expect(countRows(database)).toBe(0);
  });
});

const inFolder = temporaryFolder();

describe('a store with threads', () => {
  test('builds skip indexes after a load when it closes, and otherwise after a search without them', async () => {
    const file = inFolder('skips.db');
    Object.assign(THREAD_TUNING, { smallFile: 0 });
    const first = new SqliteStore(file);
    await write(first, correlatedObservations(200));
    await first.close();
    const database = new Database(file);
    const made = countRows(database);
    expect(made).toBeGreaterThan(20);
    database.exec('DELETE FROM skip');
    Object.assign(TUNING, { looks: [Infinity], skipFrom: 0 });
    const second = new SqliteStore(file);
    const query = { project: PROJECT, type: 'Observation', criteria: match('status', 'corrected'), limit: 3 };
    await second.search({ ...query, sort: [by('date', true)] });
    await until(() => countRows(database) === made);
    await second.close();
    database.close();
  });
});
