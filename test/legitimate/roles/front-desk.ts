import type { Role } from '../operation.js';

/** Hidden elements beside ordinary work: callers who do not touch them are not hindered. */
export const FRONT_DESK: Role = {
  role: 'a front desk with hidden and readonly fields',
  who: {
    as: 'Practitioner',
    rules: [
      { resourceType: 'Patient', hiddenFields: ['contact', 'photo', 'telecom.value'], readonlyFields: ['identifier'] },
      { resourceType: 'Observation', readonly: true, hiddenFields: ['value', 'note'] },
      { resourceType: 'Appointment' },
      { resourceType: 'Slot' },
    ],
  },
  operations: [
    ['lists patients', { search: 'Patient?name=hill' }, ['ann']],
    ['reads a patient', { read: 'Patient/ann' }, { identifier: [{ value: '1' }], telecom: [{ system: 'phone' }] }],
    [
      'reads, changes the address and writes back',
      { edit: 'Patient/ann', set: { address: [{ city: 'Thun' }] } },
      { address: [{ city: 'Thun' }] },
    ],
    [
      'does it again with the next version',
      { edit: 'Patient/ann', set: { maritalStatus: { text: 'Widowed' } } },
      { meta: { versionId: '3' } },
    ],
    [
      'patches beside hidden fields',
      { patch: 'Patient/ann', operations: [{ op: 'replace', path: '/address/0/city', value: 'Chur' }] },
      { address: [{ city: 'Chur' }] },
    ],
    [
      'patches a name',
      { patch: 'Patient/ann', operations: [{ op: 'add', path: '/name/0/prefix', value: ['Dr.'] }] },
      { name: [{ prefix: ['Dr.'] }, {}] },
    ],
    ['corrects a birth date', { edit: 'Patient/bob', set: { birthDate: '1985-12-01' } }, { birthDate: '1985-12-01' }],
    [
      'by a mutation',
      {
        graphql:
          'mutation { PatientPatch(id: "ann", patch: [{ op: "add", path: "/active", value: false }]) { active telecom { system value } } }',
      },
      { PatientPatch: { active: false, telecom: [{ system: 'phone', value: null }] } },
    ],
    [
      'registers a patient',
      { create: { resourceType: 'Patient', name: [{ family: 'New' }], birthDate: '1999-09-09' }, as: 'new' },
      { name: [{ family: 'New' }] },
    ],
    [
      'edits it',
      { edit: 'Patient/@{new.id}', set: { gender: 'female' } },
      { gender: 'female', birthDate: '1999-09-09' },
    ],
    [
      'registers once only',
      { create: { resourceType: 'Patient', name: [{ family: 'Dale' }] }, ifNoneExist: 'identifier=urn:mrn|2' },
      { id: 'bob' },
    ],
    [
      'sees observations without values',
      { graphql: '{ Observation(id: "ann-w1") { status effectiveDateTime valueQuantity { value } } }' },
      { Observation: { status: 'final', effectiveDateTime: '2024-01-01', valueQuantity: null } },
    ],
    ['books a slot', { edit: 'Slot/doc-free', set: { status: 'busy' } }, { status: 'busy' }],
    [
      'updates in a transaction what it read',
      {
        transaction: 'transaction',
        entries: [
          {
            method: 'PUT',
            url: 'Patient/dan',
            ifMatch: 'W/"1"',
            resource: {
              resourceType: 'Patient',
              id: 'dan',
              gender: 'male',
              name: [{ text: 'Dan', family: 'Dale' }],
              birthDate: '1990-01-01',
            },
          },
        ],
      },
      ['200'],
    ],
    [
      'updates by a mutation without what is hidden',
      {
        graphql:
          'mutation { PatientUpdate(id: "dan", res: { gender: male, name: { family: "Dale" }, active: true }) { active birthDate } }',
      },
      { PatientUpdate: { active: true, birthDate: null } },
    ],
    [
      'imports an update of its own',
      {
        bundle: 'batch',
        entries: [
          { method: 'PUT', url: 'Patient/dan', resource: { resourceType: 'Patient', id: 'dan', gender: 'male' } },
        ],
      },
      { created: 0, updated: 1, deleted: 0, unchanged: 0, failed: 0 },
    ],
    [
      'books in one transaction',
      {
        transaction: 'transaction',
        entries: [
          {
            method: 'POST',
            url: 'Appointment',
            resource: {
              resourceType: 'Appointment',
              status: 'booked',
              participant: [{ actor: { reference: 'Patient/ann' }, status: 'accepted' }],
            },
          },
          {
            method: 'PUT',
            url: 'Slot/doc-free',
            ifMatch: 'W/"2"',
            resource: {
              resourceType: 'Slot',
              id: 'doc-free',
              schedule: { reference: 'Schedule/doc-week' },
              status: 'busy-unavailable',
              start: '2024-09-02T08:00:00Z',
              end: '2024-09-02T08:30:00Z',
            },
          },
        ],
      },
      ['201', '200'],
    ],
    [
      'moves an appointment',
      {
        patch: 'Appointment/ann-date',
        operations: [
          { op: 'replace', path: '/start', value: '2024-09-01T09:00:00Z' },
          { op: 'replace', path: '/end', value: '2024-09-01T09:30:00Z' },
        ],
      },
      { start: '2024-09-01T09:00:00Z' },
    ],
    ['searches appointments', { search: 'Appointment?date=ge2024-09-01&patient=ann' }, ['ann-date']],
    ['deletes a patient registered by mistake', { remove: 'Patient/@{new.id}' }, 'gone'],
  ],
};
