import { beforeAll, describe, expect, test } from 'vitest';
import { failures, messages, openClinic, type Clinic, type Sample } from './harness.js';

let clinic: Clinic;
beforeAll(async () => {
  const observation = (id: string, subject: string, code: string, day: number, more: object = {}): Sample => ({
    resourceType: 'Observation',
    id,
    status: 'final',
    subject: { reference: subject },
    code: { coding: [{ code }] },
    effectiveDateTime: `2024-01-0${day}`,
    ...more,
  });
  clinic = await openClinic([
    { resourceType: 'Patient', id: 'a', generalPractitioner: [{ reference: 'Practitioner/p' }] },
    { resourceType: 'Patient', id: 'b', generalPractitioner: [{ reference: 'Practitioner/p' }] },
    { resourceType: 'Patient', id: 'c' },
    { resourceType: 'Practitioner', id: 'p' },
    { resourceType: 'Encounter', id: 'e', subject: { reference: 'Patient/a' } },
    observation('1', 'Patient/a', 'weight', 3, { encounter: { reference: 'Encounter/e' } }),
    observation('2', 'Patient/a', 'weight', 1),
    observation('3', 'Patient/a', 'height', 2, { encounter: { reference: 'Encounter/e' } }),
    observation('4', 'Patient/b', 'weight', 4, { performer: [{ reference: 'Patient/a' }] }),
    observation('5', '#c', 'weight', 5, { contained: [{ resourceType: 'Patient', id: 'c' }] }),
    observation('6', 'https://other.base/Patient/a', 'weight', 5),
  ]);
});

test('lists the resources that refer to a resource, and nothing without any', async () => {
  expect(await clinic.data('{ PatientList { id ObservationList(_reference: subject) { id } } }')).toEqual({
    PatientList: [
      { id: 'a', ObservationList: [{ id: '1' }, { id: '2' }, { id: '3' }] },
      { id: 'b', ObservationList: [{ id: '4' }] },
      { id: 'c', ObservationList: [] },
    ],
  });
});

test.each(['subject', '"subject"', 'patient'])('_reference: %s', async (name) => {
  expect(await clinic.data(`{ Patient(id: b) { ObservationList(_reference: ${name}) { id } } }`)).toEqual({
    Patient: { ObservationList: [{ id: '4' }] },
  });
});

test('_reference as a variable', async () => {
  const query = 'query($by: String!) { Patient(id: a) { ObservationList(_reference: $by) { id } } }';
  expect(await clinic.data(query, { by: 'performer' })).toEqual({ Patient: { ObservationList: [{ id: '4' }] } });
  const result = await clinic.ask(query, { by: 'performers' });
  expect(result.data).toEqual({ Patient: { ObservationList: null } });
  expect(failures(result)).toEqual(['invalid at Patient.ObservationList (1:40)']);
});

test.each([['based-on'], ['based_on']])('parameters with a hyphen: %s', async (by) => {
  const { data } = await openClinic([
    { resourceType: 'ServiceRequest', id: 's', subject: { reference: 'Patient/a' } },
    { resourceType: 'Observation', id: 'o', basedOn: [{ reference: 'ServiceRequest/s' }] },
  ]);
  const query = `{ ServiceRequest(id: s) { ObservationList(_reference: "${by}") { id } } }`;
  expect(await data(query)).toEqual({ ServiceRequest: { ObservationList: [{ id: 'o' }] } });
});

test('several lists under aliases, each with its own arguments', async () => {
  const query = `{ PatientList(_id: "a,b", _sort: "_id") {
    weights: ObservationList(_reference: subject, code: "weight", _sort: "date") { id }
    latest: ObservationList(_reference: subject, _sort: "-date", _count: 1) { id }
    second: ObservationList(_reference: subject, _sort: "date", _count: 1, _offset: 1) { id }
    none: ObservationList(_reference: subject, _count: 0) { id }
    early: ObservationList(_reference: subject, date: "lt2024-01-02") { id }
    either: ObservationList(_reference: subject, code: ["height", "weight"], date: ["2024-01-02", "2024-01-04"]) { id }
    long: ObservationList(_reference: subject, fhirpath: "code.coding.code = 'height'") { id }
  } }`;
  expect(await clinic.data(query)).toEqual({
    PatientList: [
      {
        weights: [{ id: '2' }, { id: '1' }],
        latest: [{ id: '1' }],
        second: [{ id: '3' }],
        none: [],
        early: [{ id: '2' }],
        either: [{ id: '3' }],
        long: [{ id: '3' }],
      },
      {
        weights: [{ id: '4' }],
        latest: [{ id: '4' }],
        second: [],
        none: [],
        early: [],
        either: [{ id: '4' }],
        long: [],
      },
    ],
  });
});

test('nested lists, with references between them', async () => {
  const query = `{ Practitioner(id: p) {
    PatientList(_reference: general_practitioner) {
      id
      EncounterList(_reference: subject) {
        ObservationList(_reference: encounter, _sort: "date") {
          id
          subject { resource { ... on Patient { generalPractitioner { resource { id } } } } }
        }
      }
    }
  } }`;
  const subject = { resource: { generalPractitioner: [{ resource: { id: 'p' } }] } };
  expect(await clinic.data(query)).toEqual({
    Practitioner: {
      PatientList: [
        {
          id: 'a',
          EncounterList: [
            {
              ObservationList: [
                { id: '3', subject },
                { id: '1', subject },
              ],
            },
          ],
        },
        { id: 'b', EncounterList: [] },
      ],
    },
  });
});

test('a resource that is reached several times has its list each time', async () => {
  const query =
    '{ ObservationList(_id: "1,2", _sort: "_id") { subject { resource { ... on Patient { EncounterList(_reference: subject) { id } } } } } }';
  const row = { subject: { resource: { EncounterList: [{ id: 'e' }] } } };
  expect(await clinic.data(query)).toEqual({ ObservationList: [row, row] });
});

test('nothing refers to a contained resource, even one with the id of a stored resource', async () => {
  const { data } = await openClinic([
    { resourceType: 'Patient', id: 'c' },
    { resourceType: 'Observation', id: 'x', subject: { reference: 'Patient/c' } },
    {
      resourceType: 'Observation',
      id: '5',
      contained: [{ resourceType: 'Patient', id: 'c' }],
      subject: { reference: '#c' },
    },
  ]);
  const query = `{ Observation(id: 5) {
    subject { resource { ... on Patient { id ObservationList(_reference: subject) { id } } } }
    contained { ... on Patient { ObservationList(_reference: subject) { id } } }
  } }`;
  expect(await data(query)).toEqual({
    Observation: {
      subject: { resource: { id: 'c', ObservationList: [] } },
      contained: [{ ObservationList: [] }],
    },
  });
});

test('references of other services do not count', async () => {
  const query = '{ Patient(id: a) { ObservationList(_reference: subject, _id: "6") { id } } }';
  expect(await clinic.data(query)).toEqual({ Patient: { ObservationList: [] } });
});

test('connections count per parent', async () => {
  const query = `{ PatientList { ObservationConnection(_reference: subject, _count: 2, _sort: "date") {
    count offset pagesize edges { mode resource { id } }
  } } }`;
  const edge = (id: string): object => ({ mode: 'match', resource: { id } });
  expect(await clinic.data(query)).toEqual({
    PatientList: [
      { ObservationConnection: { count: 3, offset: 0, pagesize: 2, edges: [edge('2'), edge('3')] } },
      { ObservationConnection: { count: 1, offset: 0, pagesize: 2, edges: [edge('4')] } },
      { ObservationConnection: { count: 0, offset: 0, pagesize: 2, edges: [] } },
    ],
  });
});

test('an argument that fails fails in every place, each with its path', async () => {
  const result = await clinic.ask('{ PatientList { id ObservationList(_reference: subject, date: "soon") { id } } }');
  expect(result.data).toMatchObject({ PatientList: [{ id: 'a', ObservationList: null }, { id: 'b' }, { id: 'c' }] });
  expect(failures(result)).toEqual([
    'invalid at PatientList.0.ObservationList (1:20)',
    'invalid at PatientList.1.ObservationList (1:20)',
    'invalid at PatientList.2.ObservationList (1:20)',
  ]);
});

describe('refused before any store call', () => {
  test.each([
    ['{ Patient(id: a) { ObservationList { id } } }', 'of type "SearchParameterName!" is required'],
    [
      '{ Patient(id: a) { ObservationList(_reference: nobody) { id } } }',
      '"nobody" is not a search parameter of Observation',
    ],
    [
      '{ Patient(id: a) { ObservationList(_reference: code) { id } } }',
      '"code" is not a search parameter of Observation',
    ],
    [
      '{ Patient(id: a) { ObservationList(_reference: encounter) { id } } }',
      'that can point to Patient; expected one of:',
    ],
    ['{ Patient(id: a) { ObservationList(_reference: null) { id } } }', 'Expected value of'],
    [
      '{ Patient(id: a) { SlotList(_reference: schedule) { id } } }',
      'Cannot query field "SlotList" on type "Patient".',
    ],
    [
      '{ ObservationList(_reference: subject) { id } }',
      'Unknown argument "_reference" on field "Query.ObservationList".',
    ],
  ])('%s', async (query, message) => {
    const result = await clinic.ask(query);
    expect(messages(result).join()).toContain(message);
    expect(result).not.toHaveProperty('data');
  });
});
