import { beforeAll, describe, expect, test } from 'vitest';
import { FhirError, MemoryStore } from '../../src/index.js';
import { erase, failures, messages, openClinic, put, type Clinic } from './harness.js';

/** One reference per Observation. The id of the Observation describes the reference. */
const subjects: { readonly [id: string]: object } = {
  relative: { reference: 'Patient/1' },
  versioned: { reference: 'Patient/1/_history/1' },
  'lost-version': { reference: 'Patient/1/_history/99' },
  own: { reference: 'https://own.base/fhir/Patient/1' },
  'own-versioned': { reference: 'https://own.base/fhir/Patient/1/_history/1' },
  foreign: { reference: 'https://other.base/fhir/Patient/1' },
  'foreign-twin': { reference: 'https://own.base/fhir2/Patient/1' },
  'own-base-only': { reference: 'https://own.base/fhir/' },
  contained: { reference: '#p' },
  'lost-contained': { reference: '#nobody' },
  container: { reference: '#' },
  urn: { reference: 'urn:uuid:2a8ee5f6-6a1c-4f0b-9a0c-000000000001' },
  missing: { reference: 'Patient/nobody' },
  deleted: { reference: 'Patient/deleted' },
  malformed: { reference: 'Patient/' },
  'unknown-type': { reference: 'Nothing/1' },
  empty: { reference: '' },
  'identifier-only': { identifier: { value: '123' } },
  'display-only': { display: 'Ann' },
  'not-text': { reference: 7 },
};

let clinic: Clinic;

beforeAll(async () => {
  const resources = [
    { resourceType: 'Patient', id: '1', gender: 'male' },
    { resourceType: 'Patient', id: 'deleted', gender: 'male' },
    { resourceType: 'Group', id: '1', quantity: 12, active: true },
    { resourceType: 'Practitioner', id: '1', gender: 'other' },
    ...Object.entries(subjects).map(([id, subject]) => ({
      resourceType: 'Observation',
      id,
      status: 'final',
      contained: [{ resourceType: 'Patient', id: 'p', gender: 'female', link: [{ other: { reference: '#p' } }] }],
      subject,
    })),
    { resourceType: 'Observation', id: 'group', subject: { reference: 'Group/1' } },
    { resourceType: 'Observation', id: 'none' },
  ];
  clinic = await openClinic(resources, new MemoryStore({ baseUrl: 'https://own.base/fhir' }));
  await put(clinic.store, [{ resourceType: 'Patient', id: '1', gender: 'unknown' }]);
  await erase(clinic.store, { type: 'Patient', id: 'deleted' });
});

const ASK =
  'query($id: ID!) { Observation(id: $id) { subject { resource { resourceType ... on Patient { gender } } } } }';

function answer(gender: string): object {
  return { Observation: { subject: { resource: { resourceType: 'Patient', gender } } } };
}

describe('the target of each form of reference', () => {
  test.each([
    ['relative', 'unknown'],
    ['versioned', 'male'],
    ['contained', 'female'],
  ])('%s', async (id, gender) => {
    expect(await clinic.data(ASK, { id })).toEqual(answer(gender));
  });

  test('absolute references below the base URL of the store', async () => {
    for (const more of [{}, { baseUrl: 'https://own.base/fhir' }, { baseUrl: 'https://own.base/fhir/' }]) {
      expect(await clinic.data(ASK, { id: 'own' }, more)).toEqual(answer('unknown'));
      expect(await clinic.data(ASK, { id: 'own-versioned' }, more)).toEqual(answer('male'));
      for (const id of ['foreign', 'foreign-twin', 'own-base-only']) {
        expect(failures(await clinic.ask(ASK, { id }, more))).toEqual([
          'not-found at Observation.subject.resource (1:52)',
        ]);
      }
    }
  });

  test('a base URL that is not the one of the store is refused', async () => {
    const fault = new FhirError(
      'invalid',
      'baseUrl must be the one that the store was opened with: only the store uses it',
    );
    await expect(clinic.ask(ASK, { id: 'own' }, { baseUrl: 'https://other.base/fhir' })).rejects.toEqual(fault);
  });

  test('the container: the resource that contains the reference', async () => {
    const query =
      '{ Observation(id: container) { subject { resource { resourceType id ... on Observation { status } } } } }';
    expect(await clinic.data(query)).toEqual({
      Observation: { subject: { resource: { resourceType: 'Observation', id: 'container', status: 'final' } } },
    });
  });

  test.each(['identifier-only', 'display-only', 'not-text'])('nothing to resolve: %s', async (id) => {
    expect(await clinic.data(ASK, { id })).toEqual({ Observation: { subject: { resource: null } } });
  });

  test('no reference at all', async () => {
    expect(await clinic.data(ASK, { id: 'none' })).toEqual({ Observation: { subject: null } });
  });
});

describe('a reference without a target is null, with an error that gives the location and the reason', () => {
  test.each([
    ['missing', 'not-found', 'Patient/nobody was not found'],
    ['deleted', 'gone', 'Patient/deleted was deleted'],
    ['unknown-type', 'not-found', 'Nothing/1 was not found'],
    ['lost-version', 'not-found', 'Patient/1 was not found'],
    ['lost-contained', 'not-found', 'The reference names a contained resource that is not there'],
    ['urn', 'not-found', 'The reference is a URN, which leads to no resource of this service'],
    ['foreign', 'not-found', 'The reference leads outside this service'],
    ['malformed', 'invalid', 'The reference is malformed; expected Type/id, #id or a URL'],
    ['empty', 'invalid', 'The reference is malformed; expected Type/id, #id or a URL'],
  ])('%s: %s', async (id, code, message) => {
    const result = await clinic.ask(ASK, { id });
    expect(result.data).toEqual({ Observation: { subject: { resource: null } } });
    expect(failures(result)).toEqual([`${code} at Observation.subject.resource (1:52)`]);
    expect(messages(result)).toEqual([message]);
  });

  test('one error per location, each with its path, in addition to the found targets', async () => {
    const result = await clinic.ask(
      '{ ObservationList(_id: "missing,relative,deleted", _sort: "_id") { subject { who: resource { id } } } }',
    );
    expect(result.data).toEqual({
      ObservationList: [{ subject: { who: null } }, { subject: { who: null } }, { subject: { who: { id: '1' } } }],
    });
    expect(failures(result)).toEqual([
      'gone at ObservationList.0.subject.who (1:78)',
      'not-found at ObservationList.1.subject.who (1:78)',
    ]);
  });
});

describe('optional: true', () => {
  const OPTIONAL = ASK.replace('resource {', 'resource(optional: true) {');

  test.each(['missing', 'deleted', 'foreign', 'urn', 'lost-contained', 'lost-version'])('no error: %s', async (id) => {
    expect(await clinic.data(OPTIONAL, { id })).toEqual({ Observation: { subject: { resource: null } } });
  });

  test('an existing target is still found', async () => {
    expect(await clinic.data(OPTIONAL, { id: 'relative' })).toEqual(answer('unknown'));
  });

  test('as a variable, with and without a default', async () => {
    const query = ASK.replace('resource {', 'resource(optional: $o) {');
    const optional = query.replace('$id: ID!', '$id: ID!, $o: Boolean = true');
    const unsaid = query.replace('$id: ID!', '$id: ID!, $o: Boolean');
    expect(failures(await clinic.ask(optional, { id: 'missing' }))).toEqual([]);
    expect(failures(await clinic.ask(optional, { id: 'missing', o: false }))).toHaveLength(1);
    expect(failures(await clinic.ask(unsaid, { id: 'missing' }))).toHaveLength(1);
  });
});

describe('type: only resources of that type', () => {
  const query = `query($id: ID!, $type: String) {
    Observation(id: $id) { subject { resource(type: $type) { resourceType } } }
  }`;

  test.each([
    ['relative', 'Patient', { resourceType: 'Patient' }],
    ['relative', 'Group', null],
    ['relative', null, { resourceType: 'Patient' }],
    ['group', 'Group', { resourceType: 'Group' }],
    ['contained', 'Patient', { resourceType: 'Patient' }],
    ['contained', 'Device', null],
    ['missing', 'Group', null],
    ['foreign', 'Patient', 'error'],
    ['missing', 'Patient', 'error'],
  ])('%s as %s', async (id, type, resource) => {
    const result = await clinic.ask(query, { id, type });
    const found = resource === 'error' ? null : resource;
    expect(result.data).toEqual({ Observation: { subject: { resource: found } } });
    expect(failures(result)).toHaveLength(resource === 'error' ? 1 : 0);
  });

  test.each(['Patient', '"Patient"'])('as a literal: %s', async (literal) => {
    const text = `{ Observation(id: relative) { subject { resource(type: ${literal}) { id } } } }`;
    expect(await clinic.data(text)).toEqual({ Observation: { subject: { resource: { id: '1' } } } });
  });

  test('a literal that is not a type is refused', async () => {
    const result = await clinic.ask('{ Observation(id: relative) { subject { resource(type: Patent) { id } } } }');
    expect(messages(result)).toEqual(['"Patent" is not a resource type.']);
    expect(failures(result)).toEqual(['invalid (1:56)']);
  });
});

describe('contained resources', () => {
  test('refer to one another through their container', async () => {
    const { data } = await openClinic([
      {
        resourceType: 'MedicationRequest',
        id: '1',
        contained: [
          { resourceType: 'Medication', id: 'm', manufacturer: { reference: '#o' } },
          { resourceType: 'Organization', id: 'o', name: 'Maker', partOf: { reference: '#' } },
        ],
        medicationReference: { reference: '#m' },
      },
    ]);
    const query = `{
      MedicationRequest(id: 1) {
        medicationReference { resource { ... on Medication {
          manufacturer { resource { ... on Organization { name partOf { resource { id resourceType } } } } }
        } } }
      }
    }`;
    expect(await data(query)).toEqual({
      MedicationRequest: {
        medicationReference: {
          resource: {
            manufacturer: {
              resource: { name: 'Maker', partOf: { resource: { id: '1', resourceType: 'MedicationRequest' } } },
            },
          },
        },
      },
    });
  });

  test('are a list of resources, each selected by its type', async () => {
    const query = '{ Observation(id: relative) { contained { id resourceType ... on Patient { gender } } } }';
    expect(await clinic.data(query)).toEqual({
      Observation: { contained: [{ id: 'p', resourceType: 'Patient', gender: 'female' }] },
    });
  });

  test('refer to the store like other resources', async () => {
    const { data } = await openClinic([
      { resourceType: 'Organization', id: '1', name: 'Clinic' },
      {
        resourceType: 'Observation',
        id: '1',
        contained: [{ resourceType: 'Patient', id: 'p', managingOrganization: { reference: 'Organization/1' } }],
        subject: { reference: '#p' },
      },
    ]);
    const query = `{ Observation(id: 1) { subject { resource { ... on Patient {
      managingOrganization { resource { ... on Organization { name } } }
    } } } } }`;
    expect(await data(query)).toEqual({
      Observation: { subject: { resource: { managingOrganization: { resource: { name: 'Clinic' } } } } },
    });
  });

  test('of another resource are out of reach', async () => {
    const { ask } = await openClinic([
      { resourceType: 'Patient', id: '1', contained: [{ resourceType: 'Organization', id: 'o' }] },
      { resourceType: 'Observation', id: '1', subject: { reference: 'Patient/1#o' } },
    ]);
    const result = await ask('{ Observation(id: 1) { subject { resource { id } } } }');
    expect(failures(result)).toEqual(['invalid at Observation.subject.resource (1:34)']);
  });
});

describe('fields selected directly on resource', () => {
  test('have the types of the allowed targets of the reference', async () => {
    const query =
      '{ ObservationList(_id: "relative,group", _sort: "_id") { subject { resource { gender quantity } } } }';
    expect(await clinic.data(query)).toEqual({
      ObservationList: [
        { subject: { resource: { gender: null, quantity: 12 } } },
        { subject: { resource: { gender: 'unknown', quantity: null } } },
      ],
    });
  });

  test('can have objects and reverse lists', async () => {
    const query = `{ Observation(id: relative) { subject { resource {
      meta { versionId }
      ObservationList(_reference: subject, _id: "versioned,relative") { id }
    } } } }`;
    expect(await clinic.data(query)).toEqual({
      Observation: {
        subject: { resource: { meta: { versionId: '2' }, ObservationList: [{ id: 'relative' }, { id: 'versioned' }] } },
      },
    });
  });

  test('are merged with the fields of fragments next to them', async () => {
    const query = '{ Observation(id: relative) { subject { resource { id ... on Patient { id gender } gender } } } }';
    expect(await clinic.data(query)).toEqual({
      Observation: { subject: { resource: { id: '1', gender: 'unknown' } } },
    });
  });

  test('that no target has are refused', async () => {
    const result = await clinic.ask(
      '{ Observation(id: relative) { subject { resource { valueQuantity { value } } } } }',
    );
    expect(messages(result)[0]).toMatch(/^Cannot query field "valueQuantity" on type "Resource"\./);
    expect(failures(result)).toEqual(['invalid (1:52)']);
  });

  test('are refused as choices by their base name, which only dialect hl7 has', async () => {
    for (const query of [
      '{ Observation(id: relative) { value { id } } }',
      '{ ObservationList { hasMember { resource { value { id } } } } }',
      '{ ObservationList { hasMember { resource { ... on Observation { value } } } } }',
    ]) {
      expect(messages(await clinic.ask(query))).toEqual([
        expect.stringContaining('Cannot query field "value" on type'),
      ]);
    }
  });

  test('on which the targets differ are refused; a fragment distinguishes them', async () => {
    const direct = '{ Observation(id: relative) { subject { resource { name { id } } } } }';
    expect(messages(await clinic.ask(direct))[0]).toMatch(/^Cannot query field "name" on type "Resource"\./);
    const told =
      '{ Observation(id: relative) { subject { resource { ... on Patient { name { family } } ... on Location { title: name } } } } }';
    expect(await clinic.data(told)).toEqual({ Observation: { subject: { resource: { name: null } } } });
  });

  test('a fragment on a type that is not a target of the reference selects nothing', async () => {
    const query = '{ Observation(id: relative) { subject { resource { id ... on Practitioner { gender } } } } }';
    expect(await clinic.data(query)).toEqual({ Observation: { subject: { resource: { id: '1' } } } });
  });
});

describe('lists of references', () => {
  test('return one object per reference, in order', async () => {
    const { ask } = await openClinic([
      { resourceType: 'Observation', id: 'a', status: 'final' },
      { resourceType: 'Observation', id: 'b', status: 'amended' },
      {
        resourceType: 'DiagnosticReport',
        id: '1',
        result: [
          { reference: 'Observation/b' },
          { display: 'lost' },
          { reference: 'Observation/x' },
          { reference: 'Observation/a' },
          { reference: 'Observation/b' },
        ],
      },
    ]);
    const result = await ask(
      '{ DiagnosticReport(id: 1) { result { display resource { ... on Observation { status } } } } }',
    );
    expect(result.data).toEqual({
      DiagnosticReport: {
        result: [
          { display: null, resource: { status: 'amended' } },
          { display: 'lost', resource: null },
          { display: null, resource: null },
          { display: null, resource: { status: 'final' } },
          { display: null, resource: { status: 'amended' } },
        ],
      },
    });
    expect(failures(result)).toEqual(['not-found at DiagnosticReport.result.2.resource (1:46)']);
  });
});
