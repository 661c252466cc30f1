import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { R4 } from '../../../src/fhir/r4.js';
import type { AnyResource } from '../../../src/fhir/resource.js';
import type { Criteria } from '../../../src/search/criteria/criteria.js';
import type { ValueTest } from '../../../src/search/criteria/value-test.js';
import type { SearchQuery } from '../../../src/store/search-query.js';
import { Connection } from '../../../src/stores/sqlite/connection.js';
import { COUNTING_SETS } from '../../../src/stores/sqlite/search/count-sets.js';
import { Guard, TOO_LONG, TooLong } from '../../../src/stores/sqlite/database/guard.js';
import { TUNING } from '../../../src/stores/sqlite/scans/tuning.js';
import { SKIP_TUNING } from '../../../src/stores/sqlite/rows/skip-row.js';
import { Statements } from '../../../src/stores/sqlite/database/statements.js';
import { SqliteStore } from '../../../src/stores/sqlite/store.js';
import type { Sql } from '../../../src/stores/sql/sql.js';
import { KeySet } from '../../../src/stores/sql/skip/key-set.js';
import { MemoryStore } from '../../../src/stores/memory/store.js';
import { PROJECT } from '../../../src/testing/conformance-case.js';
import { by, match, write } from '../skip-cases.js';

const COUNTS = { ...COUNTING_SETS };
const store = new MemoryStore();
const database = new Database(':memory:');
let connection: Connection;

const CODES = Array.from({ length: 40 }, (_, index) => `c${index}`);
const COUNT = 1_200;

beforeAll(async () => {
  Object.assign(SKIP_TUNING, { granule: 8, minGranules: 4, minHolders: 12, maxLookedUp: 10 });
  const requests = Array.from({ length: COUNT }, (_, index) => ({
    resourceType: 'ServiceRequest',
    id: `s${index}`,
    status: index % 2 === 0 ? 'active' : 'draft',
    code: { coding: [{ code: CODES[index % 40] }] },
    category: [{ coding: [{ code: 'a' }] }, { coding: [{ code: index % 3 === 0 ? 'a' : 'b' }] }],
    subject: { reference: `Patient/p${index % 200}` },
    authoredOn: `2020-01-${String(1 + (index % 28)).padStart(2, '0')}T00:00:${String(index % 60).padStart(2, '0')}Z`,
  })) as unknown as AnyResource[];
  const patients = Array.from({ length: 200 }, (_, index) => ({
    resourceType: 'Patient',
    id: `p${index}`,
    gender: index % 2 === 0 ? 'male' : 'female',
  })) as unknown as AnyResource[];
  for (const one of [new SqliteStore(database), store]) await write(one, [...patients, ...requests]);
  connection = new Connection(R4, database, { cacheBytes: 0, clock: () => new Date(), ownsFile: false });
  for (const collection of connection.skipIndexes.listStale()) {
    connection.skipIndexes.write(connection.skipIndexes.build(collection));
  }
  Object.assign(COUNTING_SETS, { minRows: 0 });
  Object.assign(TUNING, { looks: [Infinity], skipFrom: 0 });
});
afterEach(() => vi.restoreAllMocks());
afterAll(() => void Object.assign(COUNTING_SETS, COUNTS));

const other = (parameter: string, code: string): Criteria => ({
  kind: 'match',
  parameter,
  test: { kind: 'token', code, negated: true },
});
const since = (day: number): ValueTest => ({
  kind: 'date',
  prefix: 'ge',
  low: Date.UTC(2020, 0, day),
  high: Date.UTC(2020, 0, day + 1) - 1,
});

const QUESTIONS: readonly (readonly [string, Criteria])[] = [
  ['one of many codes', { kind: 'or', of: CODES.slice(0, 39).map((code) => match('code', code)) }],
  [
    'not one of many codes',
    { kind: 'not', of: { kind: 'or', of: CODES.slice(0, 30).map((code) => match('code', code)) } },
  ],
  ['another code', other('category', 'a')],
  ['a range', { kind: 'match', parameter: 'authored', test: since(5) }],
  ['a chain', { kind: 'chain', parameter: 'subject', type: 'Patient', reach: 'outside', of: match('gender', 'male') }],
  ['no value', { kind: 'missing', parameter: 'code', missing: true }],
];

function query(criteria: Criteria, limit: number): SearchQuery {
  const both: Criteria = { kind: 'and', of: [criteria, match('status', 'active')] };
  return {
    project: PROJECT,
    type: 'ServiceRequest',
    criteria: both,
    limit,
    total: limit === 0,
    sort: [by('authored')],
  };
}

describe.each(QUESTIONS)('sets of %s', (_, criteria) => {
  test.each([0, 50])('stop at the deadline at any moment, and leave nothing (page of %i)', async (limit) => {
    const asked = query(criteria, limit);
    const { matches, total } = await store.search({ ...asked, total: true });
    const check = vi.spyOn(Guard.prototype, 'check');
    const search = (): unknown => connection.search(asked);
    const expected = search();
    const checks = check.mock.calls.length;
    expect(checks).toBeGreaterThan(1);
    if (limit === 0) expect(expected).toEqual({ keys: [], total });
    else expect(expected).toMatchObject({ keys: { length: matches.length } });
    for (let last = 1; last <= checks; last += Math.ceil(checks / 40)) {
      let calls = 0;
      check.mockImplementation(() => {
        if (++calls === last) throw TOO_LONG;
      });
      // Results are cached, so a second attempt can need fewer checks.
      const found = connection.guard.briefly(1e9, search);
      if (calls >= last) expect(found).toBeInstanceOf(TooLong);
      else expect(found).toEqual(expected);
      check.mockReset();
      expect(search()).toEqual(expected);
    }
  });

  test('check the time between any two small steps', () => {
    const steps = countSteps(() => connection.search(query(criteria, 0)));
    expect(Math.max(...steps)).toBeLessThan(20);
  });
});

/** Operations on sets, and 251 rows of statements, between looks at the time. */
function countSteps(work: () => unknown): readonly number[] {
  const steps = [0];
  const add = (more: number): void => void (steps[steps.length - 1]! += more);
  vi.spyOn(Guard.prototype, 'check').mockImplementation(() => void steps.push(0));
  for (const name of ['unite', 'intersect', 'subtract', 'copy'] as const) {
    const original = KeySet.prototype[name] as (...from: unknown[]) => KeySet;
    vi.spyOn(KeySet.prototype, name).mockImplementation(function (this: KeySet, ...from: unknown[]) {
      add(1);
      return original.apply(this, from);
    });
  }
  for (const name of ['all', 'column'] as const) {
    const original = Statements.prototype[name] as (statement: Sql) => never[];
    vi.spyOn(Statements.prototype, name).mockImplementation(function (this: Statements, statement) {
      const rows = original.call(this, statement);
      add(rows.length / 251);
      return rows;
    });
  }
  const get = Statements.prototype.get;
  vi.spyOn(Statements.prototype, 'get').mockImplementation(function (this: Statements, statement) {
    const before = steps.length;
    const row = get.call(this, statement);
    // The tests of the resources of a list must check the time.
    const list = statement.values.find((value) => typeof value === 'string' && value.startsWith('['));
    if (list !== undefined && statement.text.includes('r0.')) {
      const keys = JSON.parse(list as string) as unknown[];
      add(keys.length / 251 / (steps.length - before + 1));
    }
    return row;
  });
  work();
  return steps;
}

test('a list of resources is tested with checks of the time', async () => {
  // Too few rows can be read to find out their other values.
  Object.assign(COUNTING_SETS, { maxRead: 10, readPerTest: 0 });
  // A resource may have a code in two forms and no other code.
  const test: ValueTest = { kind: 'token', code: 'a', folded: 'A', negated: true };
  const asked = query({ kind: 'match', parameter: 'category', test }, 0);
  const check = vi.spyOn(Guard.prototype, 'check');
  const get = Statements.prototype.get;
  const looks: number[] = [];
  vi.spyOn(Statements.prototype, 'get').mockImplementation(function (this: Statements, statement) {
    const before = check.mock.calls.length;
    const row = get.call(this, statement);
    if (statement.text.includes('json_each')) looks.push(check.mock.calls.length - before);
    return row;
  });
  expect(connection.search(asked).total).toBe((await store.search(asked)).total);
  expect(Math.max(...looks)).toBeGreaterThan(0);
});
