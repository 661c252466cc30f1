import type { Operation } from '../operation.js';

/** Writes of staff, through every interface. */
export const WRITING: readonly Operation[] = [
  [
    'creates a patient, whose id the server makes',
    { create: { resourceType: 'Patient', gender: 'other' }, as: 'new' },
    { gender: 'other', meta: { versionId: '1' } },
  ],
  [
    'edits it',
    { edit: 'Patient/@{new.id}', set: { birthDate: '2001-01-01' } },
    { birthDate: '2001-01-01', meta: { versionId: '2' } },
  ],
  [
    'patches it',
    { patch: 'Patient/@{new.id}', operations: [{ op: 'add', path: '/active', value: true }] },
    { active: true, birthDate: '2001-01-01', meta: { versionId: '3' } },
  ],
  [
    'patches it after a test',
    {
      patch: 'Patient/@{new.id}',
      operations: [
        { op: 'test', path: '/active', value: true },
        { op: 'replace', path: '/active', value: false },
      ],
      ifMatch: 'W/"3"',
    },
    { active: false, meta: { versionId: '4' } },
  ],
  ['reads an old version', { vread: 'Patient/@{new.id}/_history/2' }, { birthDate: '2001-01-01' }],
  ['reads the history', { history: 'Patient/@{new.id}' }, ['4', '3', '2', '1']],
  ['reads a page of the history', { history: 'Patient/@{new.id}', count: 1 }, ['4']],
  ['deletes it', { remove: 'Patient/@{new.id}', ifMatch: '4' }, 'gone'],
  ['sees the deletion in the history', { history: 'Patient/@{new.id}', count: 2 }, ['DELETE', '4']],
  [
    'updates under an id of its own choice',
    { update: { resourceType: 'Basic', id: 'chosen', code: { text: 'x' } } },
    { id: 'chosen', meta: { versionId: '1' } },
  ],
  [
    'updates with If-Match',
    { update: { resourceType: 'Basic', id: 'chosen', code: { text: 'y' } }, ifMatch: '1' },
    { code: { text: 'y' } },
  ],
  [
    'creates on condition: there is one',
    { create: { resourceType: 'Patient', gender: 'male' }, ifNoneExist: 'identifier=urn:mrn|2' },
    { id: 'bob', gender: 'male' },
  ],
  [
    'creates on condition: there is none',
    {
      create: { resourceType: 'Patient', identifier: [{ system: 'urn:mrn', value: '9' }] },
      ifNoneExist: 'identifier=urn:mrn|9',
      as: 'nine',
    },
    { identifier: [{ value: '9' }], meta: { versionId: '1' } },
  ],
  [
    'writes a visit in one transaction, with links',
    {
      transaction: 'transaction',
      entries: [
        {
          method: 'POST',
          url: 'Encounter',
          fullUrl: 'urn:uuid:61ebe359-bfdc-4613-8bf2-c5e300945f0a',
          resource: {
            resourceType: 'Encounter',
            status: 'finished',
            class: { code: 'AMB' },
            subject: { reference: 'Patient/dan' },
          },
        },
        {
          method: 'POST',
          url: 'Observation',
          resource: {
            resourceType: 'Observation',
            status: 'final',
            code: { text: 'Pulse' },
            subject: { reference: 'Patient/dan' },
            encounter: { reference: 'urn:uuid:61ebe359-bfdc-4613-8bf2-c5e300945f0a' },
          },
        },
        { method: 'PUT', url: 'Patient/dan', resource: { resourceType: 'Patient', id: 'dan', active: true } },
      ],
    },
    ['201', '201', '200'],
  ],
  [
    'finds what the transaction linked',
    {
      graphql:
        '{ Patient(id: dan) { EncounterList(_reference: subject) { ObservationList(_reference: encounter) { code { text } } } } }',
    },
    { Patient: { EncounterList: [{ ObservationList: [{ code: { text: 'Pulse' } }] }] } },
  ],
  [
    'reads and writes in a batch',
    {
      transaction: 'batch',
      entries: [
        { method: 'GET', url: 'Patient/ann' },
        { method: 'GET', url: 'Observation?subject=Patient/ann&_count=1' },
        { method: 'POST', url: 'Basic', resource: { resourceType: 'Basic', code: { text: 'b' } } },
        { method: 'DELETE', url: 'Basic/chosen' },
      ],
    },
    ['200', '200', '201', '204'],
  ],
  [
    'updates by condition in a transaction',
    {
      transaction: 'transaction',
      entries: [
        {
          method: 'PUT',
          url: 'Patient?identifier=urn:mrn|9',
          resource: { resourceType: 'Patient', identifier: [{ system: 'urn:mrn', value: '9' }], gender: 'unknown' },
        },
      ],
    },
    ['200'],
  ],
  [
    'creates by condition in a transaction',
    {
      transaction: 'transaction',
      entries: [
        {
          method: 'POST',
          url: 'Patient',
          ifNoneExist: 'identifier=urn:mrn|1',
          resource: { resourceType: 'Patient', identifier: [{ system: 'urn:mrn', value: '1' }] },
        },
      ],
    },
    ['200'],
  ],
  [
    'updates if the version is the one that was read, in a transaction',
    {
      transaction: 'transaction',
      entries: [
        {
          method: 'PUT',
          url: 'Location/ward',
          ifMatch: 'W/"1"',
          resource: { resourceType: 'Location', id: 'ward', name: 'Ward 8' },
        },
      ],
    },
    ['200'],
  ],
  [
    'writes by a mutation',
    {
      graphql:
        'mutation { PatientCreate(res: { name: { family: "Graph" }, birthDate: "2020-02-02" }) { name { family } meta { versionId } } }',
    },
    { PatientCreate: { name: [{ family: 'Graph' }], meta: { versionId: '1' } } },
  ],
  [
    'writes several by one mutation',
    {
      graphql: `mutation ($task: TaskResourceInput!) {
          TaskUpdate(id: "call-ann", res: $task, ifMatch: "1") { status }
          CommunicationCreate(res: { status: completed, subject: { reference: "Patient/ann" } }) { subject { resource { ... on Patient { id } } } }
        }`,
      variables: {
        task: { resourceType: 'Task', status: 'completed', intent: 'order', for: { reference: 'Patient/ann' } },
      },
    },
    { TaskUpdate: { status: 'completed' }, CommunicationCreate: { subject: { resource: { id: 'ann' } } } },
  ],
  [
    'patches by a mutation',
    {
      graphql:
        'mutation { SlotPatch(id: "doc-free", patch: [{ op: "replace", path: "/status", value: "busy" }]) { status } }',
    },
    { SlotPatch: { status: 'busy' } },
  ],
  ['deletes by a mutation', { graphql: 'mutation { ValueSetDelete(id: "units") }' }, { ValueSetDelete: null }],
  [
    'imports a Bundle of its own',
    {
      bundle: 'batch',
      entries: [
        {
          method: 'POST',
          url: 'Flag',
          resource: {
            resourceType: 'Flag',
            status: 'active',
            code: { text: 'Fall' },
            subject: { reference: 'Patient/ann' },
          },
        },
      ],
    },
    { created: 1, updated: 0, deleted: 0, unchanged: 0, failed: 0 },
  ],
  [
    'writes a file',
    { create: { resourceType: 'Binary', contentType: 'text/plain', data: 'aGk=' }, as: 'file' },
    { data: 'aGk=' },
  ],
  ['reads it again', { read: 'Binary/@{file.id}' }, { contentType: 'text/plain' }],
  ['changes its own User', { edit: '@{me.user}', set: { firstName: 'Dora' } }, { firstName: 'Dora' }],
  ['changes its own profile', { edit: 'Practitioner/doc', set: { gender: 'other' } }, { gender: 'other' }],
  [
    'knows what it may do',
    { explain: 'Patient' },
    ['read', 'vread', 'search', 'history', 'create', 'update', 'delete'],
  ],
];
