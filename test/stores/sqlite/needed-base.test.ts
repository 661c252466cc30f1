import { afterEach, describe, expect, test } from 'vitest';
import { R4 } from '../../../src/fhir/r4.js';
import { parseSearch } from '../../../src/search/parse/parse-search.js';
import type { SearchQuery } from '../../../src/store/search-query.js';
import { SqliteStore } from '../../../src/stores/sqlite/store.js';
import { idsOf, PROJECT, putAll, resourceOf } from '../../../src/testing/conformance-case.js';

const BASE = 'https://own.example/fhir';
const open: SqliteStore[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((store) => store.close()));
});

async function storeOf(...observations: readonly ReturnType<typeof resourceOf>[]): Promise<SqliteStore> {
  const store = new SqliteStore(':memory:');
  open.push(store);
  await putAll(
    store,
    resourceOf('Patient', 'p', { gender: 'female', active: true }),
    resourceOf('Observation', 'near', { status: 'final', subject: { reference: 'Patient/p' } }),
    resourceOf('Observation', 'elsewhere', { subject: { reference: 'https://other.example/fhir/Patient/p' } }),
    ...observations,
  );
  return store;
}

function query(type: string, search: string, baseUrl?: string): SearchQuery {
  const { criteria, sort } = parseSearch(R4, type, new URLSearchParams(search).toString());
  return { project: PROJECT, type, criteria, sort, ...(baseUrl === undefined ? {} : { baseUrl }) };
}

const plansOf = async (store: SqliteStore, search: SearchQuery): Promise<readonly string[]> =>
  (await store.explain({ kind: 'search', query: search })).map(({ statement }) => statement);

const FAR = resourceOf('Observation', 'far', { status: 'final', subject: { reference: `${BASE}/Patient/p` } });
const SEARCHES = [
  ['Observation', 'subject=Patient/p'],
  ['Observation', 'subject.gender=female'],
  ['Observation', '_sort=subject'],
  ['Observation', '_filter=not (subject eq "Patient/p")'],
  ['Patient', '_has:Observation:subject:status=final'],
] as const;

describe('a search with a base runs without it', () => {
  test.each(SEARCHES)('while no reference is below the base: %s?%s', async (type, search) => {
    const store = await storeOf();
    const without = await plansOf(store, query(type, search));
    expect(await plansOf(store, query(type, search, BASE))).toEqual(without);
    await putAll(store, FAR);
    expect(await plansOf(store, query(type, search, BASE))).not.toEqual(without);
    expect(await plansOf(store, query(type, search, 'https://third.example/fhir'))).toEqual(without);
    await store.commit([
      { kind: 'erase', key: { project: PROJECT, type: 'Observation', id: 'far' }, reason: 'request' },
    ]);
    expect(await plansOf(store, query(type, search, BASE))).toEqual(without);
  });

  test('if the references below the base are those of another parameter, type or project', async () => {
    const store = await storeOf(
      resourceOf('Observation', 'performed', { performer: [{ reference: `${BASE}/Practitioner/x` }] }),
      resourceOf('Condition', 'other', { subject: { reference: `${BASE}/Patient/p` } }),
    );
    await store.commit([{ kind: 'put', key: { project: 'other', type: 'Observation', id: 'far' }, resource: FAR }]);
    const search = query('Observation', 'subject.gender=female', BASE);
    expect(await plansOf(store, search)).toEqual(await plansOf(store, query('Observation', 'subject.gender=female')));
    expect(await idsOf(store, search)).toEqual(['near']);
  });

  test('of lists by reference too', async () => {
    const store = await storeOf();
    const targets = [{ type: 'Patient', id: 'p' }];
    const statements = async (baseUrl?: string): Promise<readonly string[]> => {
      const call = {
        kind: 'search-by-reference',
        query: query('Observation', '', baseUrl),
        parameter: 'subject',
        targets,
      };
      return (await store.explain(call as never)).map(({ statement }) => statement);
    };
    const ids = async (): Promise<readonly unknown[]> =>
      (await store.searchByReference(query('Observation', '', BASE), 'subject', targets))[0]!.matches.map(
        ({ resource }) => resource.id,
      );
    expect(await statements(BASE)).toEqual(await statements());
    expect(await ids()).toEqual(['near']);
    await putAll(store, FAR);
    expect(await statements(BASE)).not.toEqual(await statements());
    expect(await ids()).toEqual(['far', 'near']);
  });
});

describe('a search finds a reference below the base', () => {
  test.each([
    ['Observation', 'subject=Patient/p', ['far', 'near']],
    ['Observation', 'subject.gender=female', ['far', 'near']],
    ['Observation', '_filter=not (subject eq "Patient/p")', ['elsewhere']],
    ['Observation', '_sort=subject', ['far', 'near', 'elsewhere']],
    ['Patient', '_has:Observation:subject:status=final', ['p']],
  ])('once it is written: %s?%s', async (type, search, ids) => {
    const store = await storeOf();
    await idsOf(store, query(type, search, BASE));
    await putAll(store, FAR);
    expect(await idsOf(store, query(type, search, BASE))).toEqual(ids);
  });

  test('of a contained resource', async () => {
    const store = await storeOf(
      resourceOf('MedicationRequest', 'm', {
        contained: [{ resourceType: 'Medication', id: 'c', manufacturer: { reference: `${BASE}/Organization/o` } }],
        medicationReference: { reference: '#c' },
      }),
      resourceOf('Organization', 'o', { name: 'Makers' }),
    );
    const search = 'medication.manufacturer:Organization.name=makers';
    expect(await idsOf(store, query('MedicationRequest', search, BASE))).toEqual(['m']);
    expect(await idsOf(store, query('MedicationRequest', search))).toEqual([]);
  });

  test('of a component of a composite', async () => {
    const target = { reference: `${BASE}/DocumentReference/old` };
    const store = await storeOf(
      resourceOf('DocumentReference', 'new', { status: 'current', relatesTo: [{ code: 'replaces', target }] }),
    );
    const search = 'relationship=DocumentReference/old$replaces';
    expect(await idsOf(store, query('DocumentReference', search, BASE))).toEqual(['new']);
    expect(await idsOf(store, query('DocumentReference', search))).toEqual([]);
  });
});
