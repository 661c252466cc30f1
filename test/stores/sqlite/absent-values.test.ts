import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { R4 } from '../../../src/fhir/r4.js';
import type { Criteria } from '../../../src/search/criteria/criteria.js';
import { Connection } from '../../../src/stores/sqlite/connection.js';
import { COUNTING_SETS } from '../../../src/stores/sqlite/search/count-sets.js';
import { TUNING } from '../../../src/stores/sqlite/scans/tuning.js';
import { SKIP_TUNING } from '../../../src/stores/sqlite/rows/skip-row.js';
import { Statements } from '../../../src/stores/sqlite/database/statements.js';
import { SqliteStore } from '../../../src/stores/sqlite/store.js';
import { PROJECT } from '../../../src/testing/conformance-case.js';
import { correlatedObservations } from '../correlated-observations.js';
import { above, by, match, write } from '../skip-cases.js';

const COUNTS = { ...COUNTING_SETS };
const database = new Database(':memory:');
const store = new SqliteStore(database);

beforeAll(async () => {
  Object.assign(SKIP_TUNING, { granule: 8, minGranules: 4, minHolders: 2, maxLookedUp: 3 });
  Object.assign(COUNTING_SETS, { minRows: 0 });
  Object.assign(TUNING, { looks: [Infinity], skipFrom: 0 });
  await write(store, correlatedObservations(1_000));
  const { skipIndexes } = new Connection(R4, database, { cacheBytes: 0, clock: () => new Date(), ownsFile: false });
  for (const collection of skipIndexes.listStale()) skipIndexes.write(skipIndexes.build(collection));
});
afterEach(() => vi.restoreAllMocks());
afterAll(() => void Object.assign(COUNTING_SETS, COUNTS));

/** No Observation has a value of these. */
const ABSENT: readonly Criteria[] = [
  { kind: 'match', parameter: 'value-string', test: { kind: 'string', comparator: 'not-equals', text: 'a' } },
  { kind: 'match', parameter: 'value-string', test: { kind: 'string', comparator: 'contains', text: 'a' } },
  { kind: 'match', parameter: 'method', test: { kind: 'token', code: 'm', negated: true } },
  { kind: 'match', parameter: 'encounter', test: { kind: 'reference', types: ['Encounter'], id: 'e' } },
  { kind: 'match', parameter: 'component-value-quantity', test: { kind: 'quantity', prefix: 'ge', low: 1, high: 1 } },
];
const search = (criteria: Criteria, limit: number): ReturnType<SqliteStore['search']> =>
  store.search({
    project: PROJECT,
    type: 'Observation',
    criteria,
    sort: [by('date', true)],
    limit,
    total: limit === 0,
  });
const old = match('status', 'corrected');
const rest: Criteria = { kind: 'and', of: [old, { kind: 'not', of: above(50) }] };

test.each(ABSENT)(
  'a page by a value that no resource has, or only old resources, reads only old ones: %j',
  async (absent) => {
    const { matches: expected } = await search(rest, 10);
    expect(expected).toHaveLength(10);
    const all = vi.spyOn(Statements.prototype, 'all');
    const { matches } = await search({ kind: 'or', of: [absent, rest] }, 10);
    expect(matches.map(({ resource }) => resource.id)).toEqual(expected.map(({ resource }) => resource.id));
    const tested = all.mock.calls.filter(([{ text }]) => text.includes('json_each')).map(([{ values }]) => values);
    const keys = tested.flat().filter((value) => typeof value === 'string' && value.startsWith('['));
    const count = keys.reduce<number>((sum, text) => sum + (JSON.parse(text as string) as unknown[]).length, 0);
    expect(count).toBeLessThan(300);
  },
);

test.each(ABSENT)('a count by a value that no resource has reads nothing: %j', async (absent) => {
  const { total: ofRest } = await search(rest, 0);
  const get = vi.spyOn(Statements.prototype, 'get');
  expect((await search({ kind: 'and', of: [absent, above(100)] }, 0)).total).toBe(0);
  expect(get.mock.calls.filter(([{ text }]) => text.includes('count(*)'))).toEqual([]);
  // An alternative that nothing meets takes no test of a resource.
  expect((await search({ kind: 'or', of: [absent, rest] }, 0)).total).toBe(ofRest);
  expect(get.mock.calls.filter(([{ text }]) => text.includes('FROM resource r0'))).toEqual([]);
});

describe('a search for part of a string, as an alternative to another condition', () => {
  const patients = new Database(':memory:');
  const named = new SqliteStore(patients);
  const within: Criteria = {
    kind: 'match',
    parameter: 'family',
    test: { kind: 'string', comparator: 'contains', text: 'na7' },
  };
  const born: Criteria = {
    kind: 'match',
    parameter: 'birthdate',
    test: { kind: 'date', prefix: 'lt', low: Date.UTC(1950, 0, 20), high: Date.UTC(1950, 0, 21) },
  };
  const either: Criteria = { kind: 'or', of: [within, { kind: 'and', of: [born, match('gender', 'male')] }] };
  const found = async (limit: number): Promise<Awaited<ReturnType<SqliteStore['search']>>> => {
    const query = { project: PROJECT, type: 'Patient', criteria: either, sort: [by('birthdate', true)], limit };
    return named.search({ ...query, total: limit === 0 });
  };

  beforeAll(async () => {
    const resources = Array.from({ length: 1_000 }, (_, index) => ({
      resourceType: 'Patient',
      id: `p${index}`,
      gender: index % 2 === 0 ? 'male' : 'female',
      birthDate: new Date(Date.UTC(1950, 0, 1 + index)).toISOString().slice(0, 10),
      name: [{ family: `Anna${index % 500}` }],
    }));
    await write(named, resources);
    const { skipIndexes } = new Connection(R4, patients, { cacheBytes: 0, clock: () => new Date(), ownsFile: false });
    for (const collection of skipIndexes.listStale()) skipIndexes.write(skipIndexes.build(collection));
  });

  test('is found and counted by a set', async () => {
    const [all, get] = [vi.spyOn(Statements.prototype, 'all'), vi.spyOn(Statements.prototype, 'get')];
    const { matches } = await found(5);
    expect(matches.map(({ resource }) => resource.id)).toEqual(['p579', 'p578', 'p577', 'p576', 'p575']);
    const { total } = await found(0);
    // Families 7 and 70 to 79, twice each, and the men of the first nineteen days but number 7.
    expect(total).toBe(22 + 10);
    const texts = [...all.mock.calls, ...get.mock.calls].map(([{ text }]) => text);
    expect(texts.filter((text) => text.includes('instr') && !text.includes('FROM shape s'))).toEqual([]);
  });
});
