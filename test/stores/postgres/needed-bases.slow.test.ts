import { beforeEach, describe, expect, test } from 'vitest';
import { R4 } from '../../../src/fhir/r4.js';
import { ALL } from '../../../src/search/criteria/criteria.js';
import { parseSearch } from '../../../src/search/parse/parse-search.js';
import type { SearchQuery } from '../../../src/store/search-query.js';
import type { StoreCall } from '../../../src/store/store.js';
import type { PostgresPool } from '../../../src/stores/postgres/database/driver.js';
import { PostgresStore } from '../../../src/stores/postgres/store.js';
import { idsOf, PROJECT, putAll, resourceOf } from '../../../src/testing/conformance-case.js';
import { noting, postgresPool } from './pool.js';

const BASE = 'https://own.example/fhir';
const FAR = resourceOf('Observation', 'far', { status: 'final', subject: { reference: `${BASE}/Patient/p` } });
const P = { type: 'Patient', id: 'p' };

let pool: PostgresPool;
let statements: string[];
let store: PostgresStore;
/** Another process with commits that the first one does not notice. */
let other: PostgresStore;

beforeEach(async () => {
  pool = await postgresPool();
  statements = [];
  store = new PostgresStore(noting(pool, statements));
  other = new PostgresStore(pool);
  await putAll(
    store,
    resourceOf('Patient', 'p', { gender: 'female', active: true }),
    resourceOf('Observation', 'near', { status: 'final', subject: { reference: 'Patient/p' } }),
    resourceOf('Observation', 'elsewhere', { subject: { reference: 'https://other.example/fhir/Patient/p' } }),
  );
});

function query(type: string, search: string, baseUrl?: string): SearchQuery {
  const { criteria, sort } = parseSearch(R4, type, new URLSearchParams(search).toString());
  return { project: PROJECT, type, criteria, sort, limit: 10, ...(baseUrl === undefined ? {} : { baseUrl }) };
}

async function statementsOf(search: SearchQuery): Promise<readonly string[]> {
  return (await store.explain({ kind: 'search', query: search })).map(({ statement }) => statement);
}

const SEARCHES: readonly (readonly [
  type: string,
  search: string,
  before: readonly string[],
  after: readonly string[],
])[] = [
  ['Observation', 'subject=Patient/p', ['near'], ['far', 'near']],
  ['Observation', 'subject.gender=female', ['near'], ['far', 'near']],
  ['Observation', '_filter=not (subject eq "Patient/p")', ['elsewhere'], ['elsewhere']],
  ['Observation', '_sort=subject', ['near', 'elsewhere'], ['far', 'near', 'elsewhere']],
  ['Observation', '_sort=-subject', ['elsewhere', 'near'], ['elsewhere', 'far', 'near']],
  ['Patient', '_has:Observation:subject:status=final', ['p'], ['p']],
];

describe.each(SEARCHES)('%s?%s', (type, search, before, after) => {
  test('has the statements without a base while no reference is below the base', async () => {
    const without = await statementsOf(query(type, search));
    expect(await statementsOf(query(type, search, BASE))).toEqual(without);
    await putAll(store, FAR);
    expect(await statementsOf(query(type, search, BASE))).not.toEqual(without);
    expect(await statementsOf(query(type, search, 'https://third.example/fhir'))).toEqual(without);
    await store.commit([
      { kind: 'erase', key: { project: PROJECT, type: 'Observation', id: 'far' }, reason: 'request' },
    ]);
    expect(await statementsOf(query(type, search, BASE))).toEqual(without);
  });

  test('finds the first reference below the base, which another process writes', async () => {
    const asked = { ...query(type, search, BASE), total: true };
    expect(await idsOf(store, asked)).toEqual(before);
    await putAll(other, FAR);
    expect(await idsOf(store, asked)).toEqual(after);
    expect((await store.search({ ...asked, limit: 0 })).total).toBe(after.length);
    await other.commit([
      { kind: 'erase', key: { project: PROJECT, type: 'Observation', id: 'far' }, reason: 'request' },
    ]);
    expect(await idsOf(store, asked)).toEqual(before);
  });
});

test('one statement finds out whether searches need their base', async () => {
  const looks = (): number => statements.filter((text) => text.startsWith('SELECT 1 WHERE')).length;
  for (let time = 0; time < 3; time++) await idsOf(store, query('Observation', 'subject=Patient/p', BASE));
  expect(looks()).toBe(1);
  await putAll(other, FAR);
  // The search notices by itself.
  for (let time = 0; time < 3; time++) await idsOf(store, query('Observation', 'subject=Patient/p', BASE));
  expect(looks()).toBe(1);
  for (let time = 0; time < 2; time++) await idsOf(store, query('Patient', 'gender=female', BASE));
  expect(looks()).toBe(1);
  await other.commit([{ kind: 'erase', key: { project: PROJECT, type: 'Observation', id: 'far' }, reason: 'request' }]);
  for (let time = 0; time < 1_000; time++) await idsOf(store, query('Observation', 'subject=Patient/p', BASE));
  expect(looks()).toBe(2);
});

test('lists by reference omit the base until another process writes a reference below it', async () => {
  const call = (baseUrl?: string): StoreCall => {
    const all = { project: PROJECT, type: 'Observation', criteria: ALL, limit: 10, ...(baseUrl && { baseUrl }) };
    return { kind: 'search-by-reference', query: all, parameter: 'subject', targets: [P] };
  };
  const plans = async (baseUrl?: string): Promise<readonly string[]> =>
    (await store.explain(call(baseUrl))).map(({ statement }) => statement);
  const ids = async (): Promise<readonly unknown[]> =>
    (await store.searchByReference(query('Observation', '', BASE), 'subject', [P]))[0]!.matches.map(
      ({ resource }) => resource.id,
    );
  expect(await plans(BASE)).toEqual(await plans());
  expect(await ids()).toEqual(['near']);
  await putAll(other, FAR);
  expect(await ids()).toEqual(['far', 'near']);
  expect(await plans(BASE)).not.toEqual(await plans());
});

test('references below the base of another parameter, type or project make no difference', async () => {
  await putAll(
    store,
    resourceOf('Observation', 'performed', { performer: [{ reference: `${BASE}/Practitioner/x` }] }),
    resourceOf('Condition', 'other', { subject: { reference: `${BASE}/Patient/p` } }),
  );
  await store.commit([{ kind: 'put', key: { project: 'other', type: 'Observation', id: 'far' }, resource: FAR }]);
  const search = 'subject.gender=female';
  expect(await statementsOf(query('Observation', search, BASE))).toEqual(
    await statementsOf(query('Observation', search)),
  );
  expect(await idsOf(store, query('Observation', search, BASE))).toEqual(['near']);
});

describe('a reference below the base is found', () => {
  test('of a resource inside another one, which another process writes', async () => {
    const inside = resourceOf('MedicationRequest', 'm', {
      contained: [{ resourceType: 'Medication', id: 'c', manufacturer: { reference: `${BASE}/Organization/o` } }],
      medicationReference: { reference: '#c' },
    });
    const search = 'medication.manufacturer:Organization.name=makers';
    expect(await idsOf(store, query('MedicationRequest', search, BASE))).toEqual([]);
    await putAll(other, inside, resourceOf('Organization', 'o', { name: 'Makers' }));
    expect(await idsOf(store, query('MedicationRequest', search, BASE))).toEqual(['m']);
    expect(await idsOf(store, query('MedicationRequest', search))).toEqual([]);
  });

  test('of a component of a composite', async () => {
    const target = { reference: `${BASE}/DocumentReference/old` };
    await putAll(
      store,
      resourceOf('DocumentReference', 'new', { status: 'current', relatesTo: [{ code: 'replaces', target }] }),
    );
    const search = 'relationship=DocumentReference/old$replaces';
    expect(await idsOf(store, query('DocumentReference', search, BASE))).toEqual(['new']);
    expect(await idsOf(store, query('DocumentReference', search))).toEqual([]);
  });
});
