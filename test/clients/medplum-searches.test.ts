import { formatSearchQuery, MedplumClient, Operator, parseSearchRequest, type SearchRequest } from '@medplum/core';
import type { Bundle, Resource } from '@medplum/fhirtypes';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestService, type TestService } from '../../src/test-service.js';

// The searches that Medplum's React components send, each with its expected matches.

const ref = (reference: string): { reference: string } => ({ reference });
const ANN = ref('Patient/ann');
const DATA = [
  { resourceType: 'Organization', id: 'org', name: 'Clinic' },
  { resourceType: 'Practitioner', id: 'doc', name: [{ family: 'Stone', given: ['Ada'] }] },
  {
    ...{ resourceType: 'Patient', id: 'ann', name: [{ family: 'Kulas', given: ['Ann'] }], birthDate: '1980-02-03' },
    ...{ identifier: [{ system: 'urn:mrn', value: 'M-1' }], managingOrganization: ref('Organization/org') },
    generalPractitioner: [ref('Practitioner/doc')],
  },
  { resourceType: 'Patient', id: 'bob', name: [{ family: 'Brook' }], link: [{ other: ANN, type: 'refer' }] },
  { resourceType: 'Encounter', id: 'visit', status: 'finished', class: { code: 'AMB' }, subject: ANN },
  {
    ...{ resourceType: 'ServiceRequest', id: 'order', status: 'active', intent: 'order', subject: ANN },
    ...{ identifier: [{ value: 'O-1' }], encounter: ref('Encounter/visit') },
  },
  { resourceType: 'Task', id: 'todo', status: 'requested', intent: 'order', focus: ref('ServiceRequest/order') },
  {
    ...{ resourceType: 'Task', id: 'call', status: 'completed', intent: 'order', for: ANN },
    ...{ owner: ref('Practitioner/doc'), basedOn: [ref('ServiceRequest/order')] },
  },
  {
    ...{ resourceType: 'Observation', id: 'pulse', status: 'final', code: { coding: [{ code: '8867-4' }] } },
    ...{ subject: ANN, performer: [ref('Practitioner/doc')], effectiveDateTime: '2024-01-02' },
  },
  {
    ...{ resourceType: 'Provenance', id: 'made', target: [ref('Observation/pulse')], recorded: '2024-01-02T00:00:00Z' },
    agent: [{ who: ref('Practitioner/doc') }],
  },
  {
    ...{ resourceType: 'Communication', id: 'thread', status: 'in-progress', subject: ANN, topic: { text: 'Pulse' } },
    encounter: ref('Encounter/visit'),
  },
  {
    ...{ resourceType: 'Communication', id: 'message', status: 'completed', partOf: [ref('Communication/thread')] },
    ...{ sent: '2024-01-03T10:00:00Z', sender: ref('Practitioner/doc'), payload: [{ contentString: 'Fine' }] },
  },
  { resourceType: 'Schedule', id: 'desk', actor: [ref('Practitioner/doc')] },
  {
    ...{ resourceType: 'Slot', id: 'ten', schedule: ref('Schedule/desk'), status: 'free' },
    ...{ start: '2030-01-01T10:00:00Z', end: '2030-01-01T10:15:00Z' },
  },
  { resourceType: 'Questionnaire', id: 'form', url: 'https://clinic.example/form', status: 'active' },
  {
    ...{ resourceType: 'QuestionnaireResponse', id: 'filled', status: 'completed', subject: ANN },
    questionnaire: 'https://clinic.example/form',
  },
] as unknown as Resource[];

let service: TestService;
let medplum: MedplumClient;
beforeAll(async () => {
  service = await createTestService({ data: DATA, strictMode: false });
  medplum = new MedplumClient({ baseUrl: service.clientUrl, fetch: service.fetch });
});
afterAll(() => service.close());

/** `Patient/ann`, or `+Patient/ann` for included resources. */
function found({ entry = [] }: Bundle): readonly string[] {
  return entry
    .map(({ resource, search }) => `${search?.mode === 'include' ? '+' : ''}${resource!.resourceType}/${resource!.id}`)
    .sort();
}

describe('timelines and charts', () => {
  test.each<[Resource['resourceType'], { [name: string]: string | number }, readonly string[]]>([
    ['Communication', { subject: 'Patient/ann', _count: 100 }, ['Communication/thread']],
    ['Communication', { encounter: 'Encounter/visit' }, ['Communication/thread']],
    ['Device', { patient: 'Patient/ann', _count: 100 }, []],
    ['ServiceRequest', { subject: 'Patient/ann', _count: 100, _sort: '-_lastUpdated' }, ['ServiceRequest/order']],
    ['Coverage', { beneficiary: 'Patient/ann', _count: 100, _sort: '-_lastUpdated' }, []],
    ['Appointment', { patient: 'Patient/ann', _count: 100, _sort: '-_lastUpdated' }, []],
    ['Observation', { subject: 'Patient/ann', _count: 100, _sort: '-_lastUpdated' }, ['Observation/pulse']],
    ['DocumentReference', { related: 'ServiceRequest/order', _count: 100 }, []],
    ['Task', { 'based-on': 'ServiceRequest/order', _count: 100 }, ['Task/call']],
    [
      'Task',
      {
        _filter: 'based-on eq ServiceRequest/order or focus eq ServiceRequest/order or subject eq ServiceRequest/order',
        _count: 100,
      },
      ['Task/call', 'Task/todo'],
    ],
    ['Slot', { schedule: 'Schedule/desk,Schedule/x', start: 'gt2029-12-31', _count: 720 }, ['Slot/ten']],
  ])('%s %o', async (type, query, expected) => {
    expect(found(await medplum.search(type, query))).toEqual(expected);
  });
});

describe('threads', () => {
  test('have their messages, only those that were sent', async () => {
    const query = new URLSearchParams({ 'part-of': 'Communication/thread', _sort: '-sent', 'sent:missing': 'false' });
    const messages = await medplum.searchResources('Communication', query, { cache: 'no-cache' });
    expect(messages.map(({ id }) => id)).toEqual(['message']);
  });

  test('are listed with the last message and the number of messages', async () => {
    const query =
      'part-of:missing=true&_revinclude=Communication:part-of&_include=Communication:subject&_total=accurate';
    const page = await medplum.search('Communication', query);
    expect([page.total, found(page)]).toEqual([1, ['+Communication/message', '+Patient/ann', 'Communication/thread']]);
    const count = await medplum.search('Communication', 'status=in-progress&_summary=count');
    expect([count.total, count.entry]).toEqual([1, undefined]);
  });
});

describe('tables', () => {
  const tables: readonly (readonly [SearchRequest, readonly string[], readonly string[]])[] = [
    [
      { resourceType: 'Patient', fields: ['id', '_lastUpdated', 'name', 'birthDate', 'gender'], count: 20, offset: 0 },
      ['Patient/ann', 'Patient/bob'],
      ['birthDate', 'id', 'meta', 'name', 'resourceType'],
    ],
    [
      {
        ...{ resourceType: 'Task', fields: ['id', 'code', 'owner', 'subject'], total: 'accurate' },
        filters: [{ code: 'status', operator: Operator.NOT, value: 'requested' }],
        sortRules: [{ code: '_lastUpdated', descending: true }],
      },
      ['Task/call'],
      ['for', 'id', 'intent', 'meta', 'owner', 'resourceType', 'status'],
    ],
    [
      {
        ...{ resourceType: 'Patient', fields: ['name.family', 'email', 'actions'] },
        filters: [
          { code: 'name', operator: Operator.CONTAINS, value: 'ula' },
          { code: '_lastUpdated', operator: Operator.GREATER_THAN_OR_EQUALS, value: '2000-01-01' },
        ],
      },
      ['Patient/ann'],
      ['id', 'meta', 'name', 'resourceType'],
    ],
  ];
  test.each(tables)('%o', async (request, expected, elements) => {
    const page = await medplum.search(request.resourceType, formatSearchQuery({ total: 'accurate', ...request }));
    expect([page.total, found(page)]).toEqual([expected.length, expected]);
    const ann = page.entry!.find(({ resource }) => resource!.id !== 'bob')!;
    expect(Object.keys(ann.resource!).sort()).toEqual(elements);
    // The links are searches that the client can read, too.
    const self = page.link!.find(({ relation }) => relation === 'self')!.url;
    expect(parseSearchRequest(self.slice(self.lastIndexOf('/') + 1)).fields).toEqual(request.fields);
  });

  test('the next page', async () => {
    const pages: string[][] = [];
    for await (const page of medplum.searchResourcePages('Patient', '_count=1&_sort=-name')) {
      pages.push(page.map(({ id }) => id));
    }
    expect(pages).toEqual([['ann'], ['bob']]);
  });
});

describe('includes', () => {
  test.each<[Resource['resourceType'], string, readonly string[]]>([
    [
      'Observation',
      'code=8867-4&_include=Observation:patient&_include:iterate=Patient:link',
      ['+Patient/ann', 'Observation/pulse'],
    ],
    ['Observation', 'code=8867-4&_revinclude=Provenance:target', ['+Provenance/made', 'Observation/pulse']],
    [
      'Patient',
      '_id=ann&_include=Patient:general-practitioner&_include=Patient:organization&_revinclude=Task:patient',
      ['+Organization/org', '+Practitioner/doc', '+Task/call', 'Patient/ann'],
    ],
    [
      'QuestionnaireResponse',
      'subject=Patient/ann&_include=QuestionnaireResponse:questionnaire',
      ['+Questionnaire/form', 'QuestionnaireResponse/filled'],
    ],
    [
      'Encounter',
      '_id=visit&_revinclude=ServiceRequest:encounter&_include=*',
      ['+Patient/ann', '+ServiceRequest/order', 'Encounter/visit'],
    ],
  ])('%s?%s', async (type, query, expected) => {
    expect(found(await medplum.search(type, query))).toEqual(expected);
  });
});

test('inputs for references, and the search of the head line', async () => {
  const query = new URLSearchParams({ name: 'sto', _count: '10' });
  expect((await medplum.searchResources('Practitioner', query)).map(({ id }) => id)).toEqual(['doc']);
  expect((await medplum.searchOne('Patient', 'identifier=M-1'))?.id).toBe('ann');
  const { data } = (await medplum.graphql(`{
    Patients1: PatientList(name: "kul", _count: 5) { resourceType id identifier { system value } name { given family } birthDate photo { url } }
    Patients2: PatientList(identifier: "kul", _count: 5) { resourceType id }
    ServiceRequestList(identifier: "O-1", _count: 5) { resourceType id identifier { system value } subject { display } }
  }`)) as { data: unknown };
  expect(data).toMatchObject({
    Patients1: [{ id: 'ann', identifier: [{ system: 'urn:mrn', value: 'M-1' }] }],
    Patients2: [],
    ServiceRequestList: [{ id: 'order', subject: { display: null } }],
  });
});
