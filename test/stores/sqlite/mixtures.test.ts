import Database from 'better-sqlite3';
import { afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { AnyResource } from '../../../src/fhir/resource.js';
import type { Criteria } from '../../../src/search/criteria/criteria.js';
import type { ValueTest } from '../../../src/search/criteria/value-test.js';
import { MemoryStore } from '../../../src/stores/memory/store.js';
import { Statements } from '../../../src/stores/sqlite/database/statements.js';
import { SKIP_TUNING } from '../../../src/stores/sqlite/rows/skip-row.js';
import { TUNING } from '../../../src/stores/sqlite/scans/tuning.js';
import { COUNTING_SETS } from '../../../src/stores/sqlite/search/count-sets.js';
import type { Sql } from '../../../src/stores/sql/sql.js';
import { SqliteStore } from '../../../src/stores/sqlite/store.js';
import { queryOf } from '../../../src/testing/conformance-case.js';
import { answerOf, match, write } from '../skip-cases.js';
import { buildSkips } from './skip-build.js';

const RESOURCES = [
  ...Array.from({ length: 400 }, (_, index) => ({
    resourceType: 'Observation',
    id: `o${index}`,
    status: index % 40 === 0 ? 'amended' : 'final',
    code: { coding: [{ system: 'urn:1', code: index % 100 === 0 ? 'rare' : `c${index % 3}` }] },
    ...(index % 5 === 0 ? {} : { effectiveDateTime: new Date(Date.UTC(2020, 0, index)).toISOString() }),
    ...(index % 7 === 0 ? {} : { valueQuantity: { value: index % 11 } }),
    subject: { reference: `Patient/p${index % 60}` },
  })),
  ...Array.from({ length: 60 }, (_, index) => ({
    resourceType: 'Patient',
    id: `p${index}`,
    gender: index % 2 === 0 ? 'male' : 'female',
  })),
] as unknown as readonly AnyResource[];

const database = new Database(':memory:');
const [store, memory] = [new SqliteStore(database), new MemoryStore()];

beforeAll(async () => {
  Object.assign(SKIP_TUNING, { granule: 8, minGranules: 4, minHolders: 20, maxLookedUp: 4 });
  Object.assign(TUNING, { looks: [Infinity], skipFrom: 0 });
  for (const one of [store, memory]) await write(one, RESOURCES);
  buildSkips(database);
});
afterEach(() => vi.restoreAllMocks());

/** Asserts that both stores count the same. @returns the statements of SQLite */
async function statementsOf(criteria: Criteria, minRows: number): Promise<readonly Sql[]> {
  Object.assign(COUNTING_SETS, { minRows });
  const query = queryOf('Observation', criteria, { limit: 0, total: true });
  const spies = (['all', 'get', 'column'] as const).map((name) => vi.spyOn(Statements.prototype, name));
  const { total } = await store.search(query);
  expect(total).toBe((await memory.search(query)).total);
  expect(total).toBeGreaterThan(0);
  return spies.flatMap(({ mock }) => mock.calls.map(([statement]) => statement));
}

const valued = (parameter: string, value: ValueTest): Criteria => ({ kind: 'match', parameter, test: value });
const not = (of: Criteria): Criteria => ({ kind: 'not', of });
const [year, next] = [Date.UTC(2020, 0, 1), Date.UTC(2021, 0, 1)];

test.each<readonly [string, Criteria]>([
  ['a number', valued('value-quantity', { kind: 'quantity', prefix: 'eq', low: 5, high: 5 })],
  ['a year', valued('date', { kind: 'date', prefix: 'eq', low: year, high: next })],
])('a count of a combination with %s tests no resource', async (_, one) => {
  const criteria: Criteria = {
    kind: 'or',
    of: [{ kind: 'and', of: [not(one), match('code', 'c1')] }, not(match('status', 'final'))],
  };
  const statements = await statementsOf(criteria, 0);
  expect(statements.filter(({ text }) => /FROM resource r0|json_each/.test(text))).toEqual([]);
});

test('resources that end before a date are counted by the granules of the order of dates', async () => {
  const [low, high] = [Date.UTC(2020, 9, 1), Date.UTC(2020, 9, 2)];
  const before = valued('date', { kind: 'date', prefix: 'eb', low, high });
  const statements = await statementsOf({ kind: 'and', of: [before, match('status', 'final')] }, 0);
  // Looks into the range are short.
  const reads = statements.filter(
    ({ text, values }) => text.includes('x.grp = 0 AND x.low < ? AND x.high <= ?') && Number(values.at(-1)) > 10,
  );
  expect(reads).toEqual([]);
});

test('a count by few rows does not search for the other end of a reference from there', async () => {
  const men: Criteria = { kind: 'chain', parameter: 'subject', type: 'Patient', of: match('gender', 'male') };
  const statements = await statementsOf({ kind: 'and', of: [match('status', 'amended'), men] }, 6_400);
  expect(statements.filter(({ text }) => text.includes('x.target IN (SELECT'))).toEqual([]);
});

test('a page of codes other than a rare code tests no resource', async () => {
  const criteria: Criteria = valued('code', { kind: 'token', system: 'urn:1', code: 'rare', negated: true });
  const query = queryOf('Observation', criteria, { limit: 5, sort: [{ parameter: 'date', descending: true }] });
  const spies = (['all', 'get'] as const).map((name) => vi.spyOn(Statements.prototype, name));
  expect(await answerOf(store, query)).toEqual(await answerOf(memory, query));
  const texts = spies.flatMap(({ mock }) => mock.calls.map(([{ text }]) => text));
  expect(texts.filter((text) => /EXISTS \(SELECT 1 FROM token/.test(text))).toEqual([]);
});
