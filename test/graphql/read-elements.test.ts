import { beforeAll, expect, test } from 'vitest';
import { MemoryStore } from '../../src/index.js';
import { sparingStore } from '../support/sparing-store.js';
import { storeWith } from '../support/store-with.js';
import { openClinic, put, type Clinic } from './harness.js';

let clinic: Clinic;
let asked: (readonly string[] | undefined)[] = [];

beforeAll(async () => {
  const inner = sparingStore(new MemoryStore());
  const store = storeWith(inner, {
    read: (keys, options) => (asked.push(...keys.map(({ elements }) => elements)), inner.read(keys, options)),
    search: (query, options) => (asked.push(query.elements), inner.search(query, options)),
    searchByReference: (query, parameter, targets, options) => (
      asked.push(query.elements),
      inner.searchByReference(query, parameter, targets, options)
    ),
  });
  clinic = await openClinic(
    [
      {
        resourceType: 'Patient',
        id: 'p',
        birthDate: '1970',
        _birthDate: { id: 'b' },
        gender: 'female',
        name: [{ family: 'A', use: 'old' }, { family: 'B' }],
        contained: [{ resourceType: 'Practitioner', id: 'c', gender: 'male' }],
        generalPractitioner: [{ reference: '#c' }, { reference: 'Practitioner/d' }],
      },
      { resourceType: 'Practitioner', id: 'd', gender: 'other', birthDate: '1950' },
      {
        resourceType: 'Observation',
        id: 'o',
        status: 'final',
        subject: { reference: 'Patient/p/_history/1' },
        performer: [{ reference: 'Practitioner/d' }],
        hasMember: [{ reference: '#' }],
        valueQuantity: { value: 1 },
      },
    ],
    store,
  );
});

/** The answer, with the recorded store calls. */
async function answer(query: string): Promise<unknown> {
  asked = [];
  return { data: await clinic.data(query), asked: asked.map((names) => (names === undefined ? 'all' : [...names])) };
}

test.each([
  ['a read', '{ Patient(id: "p") { id birthDate _birthDate { id } __typename } }', [['id', 'birthDate', '_birthDate']]],
  ['a list', '{ PatientList { gender resourceType } }', [['gender']]],
  [
    'a reverse list',
    '{ Patient(id: "p") { id ObservationList(_reference: subject) { status } } }',
    [['id'], ['status']],
  ],
  ['a connection', '{ PatientConnection { count edges { resource { gender } } } }', [['gender']]],
  ['a connection with cursors', '{ PatientConnection(_count: 1) { next edges { resource { gender } } } }', ['all']],
  ['an extension', '{ Patient(id: "p") { extension(url: "x") { url } } }', [['extension']]],
  ['the key of a cache', '{ Patient(id: "p") { cache_key } }', [['meta']]],
  ['an item filter', '{ Patient(id: "p") { name(family: "A") { use } } }', [['name']]],
  ['FHIRPath on items', `{ Patient(id: "p") { name(fhirpath: "%resource.gender = 'female'") { family } } }`, ['all']],
  ['FHIRPath on a list', `{ PatientList(fhirpath: "birthDate = '1970'") { gender } }`, ['all']],
  ['a slice', '{ Patient(id: "p") { name @slice(path: "%resource.gender") { family } } }', ['all']],
  ['contained resources', '{ Patient(id: "p") { contained { id } } }', ['all']],
])('%s reads the elements that it needs', async (_, query, elements) => {
  expect(await answer(query)).toMatchObject({ asked: elements });
});

test('reads of one id read the elements of all of them', async () => {
  expect(await answer('{ a: Patient(id: "p") { gender } b: Patient(id: "p") { birthDate } }')).toEqual({
    data: { a: { gender: 'female' }, b: { birthDate: '1970' } },
    asked: [['gender', 'birthDate']],
  });
});

test('reverse lists that share a search read the elements of all of them', async () => {
  const query = `{ Patient(id: "p") {
    a: ObservationList(_reference: subject) { status } b: ObservationList(_reference: subject) { valueQuantity { value } }
  } }`;
  expect(await answer(query)).toEqual({
    data: { Patient: { a: [{ status: 'final' }], b: [{ valueQuantity: { value: 1 } }] } },
    asked: [[], ['status', 'valueQuantity']],
  });
});

test('a resource with references to follow is read whole, and their targets partially', async () => {
  const query = `{ Patient(id: "p") { generalPractitioner { resource { ... on Practitioner { gender } } } } }`;
  expect(await answer(query)).toEqual({
    data: { Patient: { generalPractitioner: [{ resource: { gender: 'male' } }, { resource: { gender: 'other' } }] } },
    asked: ['all', ['gender']],
  });
});

test('targets without a fragment are read partially once their selection is planned', async () => {
  const query = '{ Observation(id: "o") { performer { resource { id } } } }';
  const data = { Observation: { performer: [{ resource: { id: 'd' } }] } };
  expect(await answer(query)).toEqual({ data, asked: ['all', 'all'] });
  expect(await answer(query)).toEqual({ data, asked: ['all', ['id']] });
});

test('references that share a read read the elements of all of them', async () => {
  const query = `{ Observation(id: "o") {
    a: performer { resource { ... on Practitioner { gender } } } b: performer { resource { ... on Practitioner { birthDate } } }
  } }`;
  expect(await answer(query)).toEqual({
    data: { Observation: { a: [{ resource: { gender: 'other' } }], b: [{ resource: { birthDate: '1950' } }] } },
    asked: ['all', ['gender', 'birthDate']],
  });
});

test('a reference to the enclosing resource has the selected elements', async () => {
  const query = '{ Observation(id: "o") { hasMember { resource { ... on Observation { status } } } } }';
  expect(await answer(query)).toEqual({
    data: { Observation: { hasMember: [{ resource: { status: 'final' } }] } },
    asked: ['all'],
  });
});

test('the key of a version belongs to that version', async () => {
  const query = '{ Observation(id: "o") { subject { resource { ... on Patient { cache_key } } } } }';
  expect(await answer(query)).toEqual({
    data: { Observation: { subject: { resource: { cache_key: 'Patient/p/_history/1' } } } },
    asked: ['all', ['meta']],
  });
});

test('the audit record of a request uses whole resources', async () => {
  asked = [];
  const store = clinic.store;
  await put(store, [{ resourceType: 'Basic', id: 'b', subject: { reference: 'Patient/p' } }]);
  const records: unknown[] = [];
  await clinic.data('{ Basic(id: "b") { id } }', {}, { audit: (record) => void records.push(record) });
  expect(asked).toEqual([undefined]);
  expect(records).toMatchObject([{ patients: { ids: ['p'], total: 1 } }]);
});
