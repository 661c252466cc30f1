import { beforeAll, expect, test } from 'vitest';
import { MemoryStore } from '../../src/index.js';
import { countCalls, type CountingStore } from './counting-store.js';
import { openClinic, type Clinic, type Sample } from './harness.js';
import { neverPause } from '../support/never-pause.js';

// Calls of one level are in the order in which they begin.
neverPause();

let counting: CountingStore;
let clinic: Clinic;

beforeAll(async () => {
  counting = countCalls(new MemoryStore());
  const observation = (id: string, subject: string, performer: string[]): Sample => ({
    resourceType: 'Observation',
    id,
    subject: { reference: subject },
    performer: performer.map((reference) => ({ reference })),
    contained: [{ resourceType: 'Patient', id: 'in' }],
  });
  clinic = await openClinic(
    [
      { resourceType: 'Patient', id: 'a', generalPractitioner: [{ reference: 'Practitioner/p' }] },
      { resourceType: 'Patient', id: 'b', generalPractitioner: [{ reference: 'Practitioner/p' }] },
      { resourceType: 'Practitioner', id: 'p' },
      { resourceType: 'Organization', id: 'o' },
      { resourceType: 'Group', id: 'g' },
      observation('1', 'Patient/a', ['Practitioner/p', 'Organization/o']),
      observation('2', 'Patient/a', ['Practitioner/p', '#in', 'https://other.base/Practitioner/p']),
      observation('3', 'Patient/b', ['Organization/o', 'Practitioner/p', 'Practitioner/p']),
      observation('4', '#in', []),
      observation('5', '#in', []),
      { resourceType: 'Encounter', id: 'e', subject: { reference: 'Patient/a' } },
    ],
    counting.store,
  );
});

/** The calls of each query, level by level: one per question, for any data. */
const FIXTURES: readonly { readonly name: string; readonly query: string; readonly calls: readonly string[] }[] = [
  { name: 'nothing of the store', query: '{ __typename }', calls: [] },
  { name: 'a read', query: '{ Patient(id: a) { id name { family } } }', calls: ['read Patient/a'] },
  { name: 'an id that cannot be', query: '{ Patient(id: "a b") { id } }', calls: [] },
  { name: 'a search', query: '{ PatientList(_sort: "-_id") { id } }', calls: ['search Patient'] },
  {
    name: 'root fields are calls of one level',
    query: '{ Patient(id: a) { id } x: Patient(id: a) { id } PatientList { id } PatientConnection { count } }',
    calls: ['read Patient/a', 'search Patient', 'search Patient'],
  },
  {
    name: 'root reads of one type are one call, each resource once',
    query: `query ($none: ID) {
      _v1: Patient(id: a) { id }
      OrganizationList { id }
      _v2: Patient(id: "b") { id }
      _v3: Practitioner(id: p) { id }
      _v4: Patient(_id: a) { gender }
      _v5: Patient(id: "no id") { id }
      _v6: Patient(id: $none) { id }
    }`,
    calls: ['read Patient/a Patient/b', 'read Practitioner/p', 'search Organization'],
  },
  {
    name: 'references under sibling reads are one call',
    query: `{
      _v1: Patient(id: a) { generalPractitioner { resource { id } } }
      _v2: Patient(id: b) { generalPractitioner { resource { ... on Practitioner { name { family } } } } }
    }`,
    calls: ['read Patient/a Patient/b', 'read Practitioner/p'],
  },
  {
    name: 'references that are asked for differently are not',
    query: `{
      _v1: Observation(id: 1) { performer { resource(type: Practitioner) { id } } }
      _v2: Observation(id: 1) { performer { resource(type: Organization) { id } } }
    }`,
    calls: ['read Observation/1', 'read Practitioner/p', 'read Organization/o'],
  },
  {
    name: 'equal reverse lists under sibling reads are one call',
    query: `query ($one: Int = 1) {
      _v1: Patient(id: a) { ObservationList(_reference: subject, _count: 1) { id } }
      _v2: Patient(id: b) { ObservationList(_reference: "subject", _count: $one) { status } }
      _v3: Patient(id: b) { ObservationList(_reference: subject, _count: 2) { id } }
      _v4: Patient(id: b) { ObservationConnection(_reference: subject, _count: 1) { edges { resource { id } } } }
    }`,
    calls: [
      'read Patient/a Patient/b',
      'reverse Observation.subject Patient/a Patient/b',
      'reverse Observation.subject Patient/b',
      'reverse Observation.subject Patient/b',
    ],
  },
  {
    name: 'merged root fields are one call',
    query: '{ Patient(id: a) { id } Patient(id: a) { gender } }',
    calls: ['read Patient/a'],
  },
  {
    name: 'references of mixed types, each resource once',
    query: '{ ObservationList { performer { resource { id } } } }',
    calls: ['search Observation', 'read Practitioner/p Organization/o'],
  },
  {
    name: 'fragments by type share the call of their reference',
    query: `{ ObservationList { performer { resource {
      ... on Practitioner { id } ... on Organization { name } ... on Patient { gender }
    } } } }`,
    calls: ['search Observation', 'read Practitioner/p Organization/o'],
  },
  {
    name: 'two aliases of a reference are one call',
    query: '{ Observation(id: 1) { subject { one: resource { id } two: resource { resourceType } } } }',
    calls: ['read Observation/1', 'read Patient/a'],
  },
  {
    name: 'a type that is not asked for is not read',
    query: '{ ObservationList { performer { resource(type: Organization) { id } } } }',
    calls: ['search Observation', 'read Organization/o'],
  },
  {
    name: 'a type that none is of is not read at all',
    query: '{ ObservationList { performer { resource(type: Device) { id } } } }',
    calls: ['search Observation'],
  },
  {
    name: 'only contained resources: no call for the reference',
    query: '{ ObservationList(_id: "4,5") { subject { resource { id } } contained { id } } }',
    calls: ['search Observation'],
  },
  {
    name: 'lists on contained resources only: no call',
    query:
      '{ Observation(id: 4) { subject { resource { ... on Patient { EncounterList(_reference: subject) { id } } } } } }',
    calls: ['read Observation/4'],
  },
  {
    name: 'a level without parents: no call for it or below it',
    query: `{ PatientList(_id: "none") { EncounterList(_reference: subject) {
      ObservationList(_reference: encounter) { id }
    } } }`,
    calls: ['search Patient'],
  },
  {
    name: 'a reverse list asks for all parents at once',
    query: '{ PatientList { ObservationList(_reference: subject) { id } } }',
    calls: ['search Patient', 'reverse Observation.subject Patient/a Patient/b'],
  },
  {
    name: 'reverse lists under aliases are edges of one level',
    query: `{ PatientList {
      ObservationList(_reference: subject) { id }
      last: ObservationList(_reference: subject, _count: 1) { id }
      EncounterConnection(_reference: subject) { count }
    } }`,
    calls: [
      'search Patient',
      'reverse Observation.subject Patient/a Patient/b',
      'reverse Observation.subject Patient/a Patient/b',
      'reverse Encounter.subject Patient/a Patient/b',
    ],
  },
  {
    name: 'a reverse list behind a reference asks once per resource, however often it is reached',
    query: `{ ObservationList(_id: "1,2,3") { subject { resource { ... on Patient {
      EncounterList(_reference: subject) { id }
    } } } } }`,
    calls: ['search Observation', 'read Patient/a Patient/b', 'reverse Encounter.subject Patient/a Patient/b'],
  },
  {
    name: 'references behind a reverse list',
    query: `{ Practitioner(id: p) { PatientList(_reference: general_practitioner) {
      id generalPractitioner { resource { id } }
    } } }`,
    calls: ['read Practitioner/p', 'reverse Patient.general-practitioner Practitioner/p', 'read Practitioner/p'],
  },
  {
    name: 'dashboards: eight edges in four levels',
    query: `{
      Practitioner(id: p) { PatientList(_reference: general_practitioner) {
        ObservationList(_reference: subject) { performer { resource { id } } }
        EncounterList(_reference: subject) { subject { resource { id } } }
      } }
      GroupList { id }
      OrganizationConnection { edges { resource { id } } }
    }`,
    calls: [
      'read Practitioner/p',
      'search Group',
      'search Organization',
      'reverse Patient.general-practitioner Practitioner/p',
      'reverse Observation.subject Patient/a Patient/b',
      'reverse Encounter.subject Patient/a Patient/b',
      'read Practitioner/p Organization/o',
      'read Patient/a',
    ],
  },
];

test.each(FIXTURES)('$name', async ({ query, calls }) => {
  counting.takeCalls();
  await clinic.ask(query);
  expect(counting.takeCalls()).toEqual(calls);
});

test('a focus is one read, and the fields inside add their own calls', async () => {
  counting.takeCalls();
  await clinic.data('{ id ObservationList(_reference: subject) { id } }', {}, { focus: 'Patient/a' });
  expect(counting.takeCalls()).toEqual(['read Patient/a', 'reverse Observation.subject Patient/a']);
});

test('ten times the data cause no more calls', async () => {
  const more = Array.from({ length: 40 }, (_, index): Sample => ({ resourceType: 'Patient', id: `x${index}` }));
  const { store, takeCalls } = countCalls(new MemoryStore());
  const { data } = await openClinic(
    [
      ...more,
      ...more.map(({ id }): Sample => ({ resourceType: 'Encounter', id, subject: { reference: `Patient/${id}` } })),
    ],
    store,
  );
  const query = '{ PatientList { EncounterList(_reference: subject) { subject { resource { id } } } } }';
  const answer = (await data(query)) as { PatientList: unknown[] };
  expect(answer.PatientList).toHaveLength(40);
  expect(takeCalls().map((call) => call.split(' ')[0])).toEqual(['search', 'reverse', 'read']);
});
