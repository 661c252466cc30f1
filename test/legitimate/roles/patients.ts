import type { Role } from '../operation.js';
import { OWN_RULES } from './own-rules.js';

const FILE_RULES = [
  { resourceType: 'Binary' },
  { resourceType: 'Patient', criteria: 'Patient?_id=%patient.id', readonly: true },
  { resourceType: 'DocumentReference', criteria: 'DocumentReference?subject=%patient' },
];

/** A person who reads its own record, without a policy. */
export const PATIENT: Role = {
  role: 'a Patient',
  who: { as: 'Patient', profile: 'Patient/ann' },
  operations: [
    ['reads its record', { read: 'Patient/ann' }, { birthDate: '1970-05-01' }],
    ['finds only itself', { search: 'Patient' }, ['ann']],
    ['counts itself', { count: 'Patient?gender=female' }, 1],
    ['lists its values', { search: 'Observation?_sort=-date' }, ['ann-glucose', 'ann-w2', 'ann-w1']],
    ['lists its visits', { search: 'Encounter' }, ['ann-visit']],
    ['lists its conditions', { search: 'Condition' }, ['ann-gout']],
    ['lists its allergies', { search: 'AllergyIntolerance' }, ['ann-peanut']],
    ['lists its medication', { search: 'MedicationRequest?status=active' }, ['ann-pill']],
    ['lists its appointments', { search: 'Appointment?date=ge2024' }, ['ann-date']],
    ['lists its documents', { search: 'DocumentReference' }, ['ann-letter']],
    ['lists its messages', { search: 'Communication' }, ['ann-hello']],
    ['lists its coverage', { search: 'Coverage' }, ['ann-cover']],
    ['reads the history of its record', { history: 'Patient/ann' }, ['1']],
    ['reads a version', { vread: 'Patient/ann/_history/1' }, { id: 'ann' }],
    ['reads its report', { read: 'DiagnosticReport/ann-report' }, { status: 'final' }],
    [
      'opens its portal by one query',
      {
        graphql: `{
          PatientList { name(use: official) { given } }
          ObservationList(code: "29463-7", _sort: "-date", _count: 1) { valueQuantity { value unit } }
          DiagnosticReportList { result { resource { ... on Observation { id } } } }
          MedicationRequestList(status: "active") { medicationCodeableConcept { text } }
          AppointmentConnection(_sort: "date", _count: 5) { count edges { resource { start } } }
        }`,
      },
      {
        PatientList: [{ name: [{ given: ['Ann'] }] }],
        ObservationList: [{ valueQuantity: { value: 61.5, unit: 'kg' } }],
        DiagnosticReportList: [{ result: [{ resource: { id: 'ann-glucose' } }, { resource: { id: 'ann-w2' } }] }],
        MedicationRequestList: [{ medicationCodeableConcept: { text: 'Allopurinol' } }],
        AppointmentConnection: { count: 1, edges: [{ resource: { start: '2024-09-01T08:00:00Z' } }] },
      },
    ],
    [
      'asks about itself as an instance',
      {
        graphql: '{ gender ObservationList(_reference: subject, category: "laboratory") { id } }',
        focus: 'Patient/ann',
      },
      { gender: 'female', ObservationList: [{ id: 'ann-glucose' }] },
    ],
    [
      'follows references without errors where they lead elsewhere',
      { graphql: '{ Patient(id: ann) { generalPractitioner { reference resource(optional: true) { id } } } }' },
      { Patient: { generalPractitioner: [{ reference: 'Practitioner/doc', resource: null }] } },
    ],
    ['changes its own User', { edit: '@{me.user}', set: { firstName: 'Anna' } }, { firstName: 'Anna' }],
    ['knows what it may do', { explain: 'Observation' }, ['read', 'vread', 'search', 'history']],
  ],
};

/** A person who can answer questionnaires and change contact data; from the policy cookbook. */
export const PORTAL: Role = {
  role: 'a Patient with a policy',
  who: { as: 'Patient', profile: 'Patient/ann', rules: OWN_RULES },
  operations: [
    ['finds itself', { search: 'Patient' }, ['ann']],
    [
      'changes its telephone number',
      { edit: 'Patient/ann', set: { telecom: [{ system: 'phone', value: '555-0111' }] } },
      { telecom: [{ value: '555-0111' }] },
    ],
    [
      'patches its address',
      { patch: 'Patient/ann', operations: [{ op: 'replace', path: '/address/0/city', value: 'Thun' }] },
      { address: [{ city: 'Thun' }] },
    ],
    ['reads a questionnaire', { search: 'Questionnaire?url=http://example.org/questionnaire/sleep' }, ['sleep']],
    [
      'answers it',
      {
        create: {
          resourceType: 'QuestionnaireResponse',
          status: 'in-progress',
          questionnaire: 'http://example.org/questionnaire/sleep',
          subject: { reference: 'Patient/ann' },
          item: [{ linkId: 'hours', answer: [{ valueInteger: 7 }] }],
        },
        as: 'answers',
      },
      { status: 'in-progress' },
    ],
    [
      'completes its answers',
      { edit: 'QuestionnaireResponse/@{answers.id}', set: { status: 'completed' } },
      { status: 'completed' },
    ],
    [
      'writes a message',
      {
        create: {
          resourceType: 'Communication',
          status: 'completed',
          subject: { reference: 'Patient/ann' },
          payload: [{ contentString: 'Thanks' }],
        },
        as: 'message',
      },
      { status: 'completed' },
    ],
    ['counts its messages', { count: 'Communication?status=completed' }, 2],
    ['finds free slots', { search: 'Slot' }, ['doc-free']],
    [
      'asks for an appointment',
      {
        create: {
          resourceType: 'Appointment',
          status: 'proposed',
          participant: [{ actor: { reference: 'Patient/ann' }, status: 'accepted' }],
        },
      },
      { status: 'proposed' },
    ],
    [
      'writes by a mutation',
      {
        graphql:
          'mutation { CommunicationCreate(res: { status: completed, subject: { reference: "Patient/ann" } }) { status subject { reference } } }',
      },
      { CommunicationCreate: { status: 'completed', subject: { reference: 'Patient/ann' } } },
    ],
    ['deletes a message', { remove: 'Communication/@{message.id}' }, 'not-found'],
    [
      'writes in a transaction',
      {
        transaction: 'transaction',
        entries: [
          {
            method: 'POST',
            url: 'Communication',
            resource: { resourceType: 'Communication', status: 'completed', subject: { reference: 'Patient/ann' } },
          },
        ],
      },
      ['201'],
    ],
  ],
};

export const FILES: Role = {
  role: 'a Patient whose policy opens files',
  who: { as: 'Patient', profile: 'Patient/ann', rules: FILE_RULES },
  operations: [
    ['reads the file of its record', { read: 'Binary/ann-photo' }, { contentType: 'image/png', data: 'aVZCT1I=' }],
    [
      'reads it by GraphQL',
      { graphql: '{ Binary(id: "ann-photo") { contentType } }' },
      { Binary: { contentType: 'image/png' } },
    ],
    [
      'adds a file of its own',
      {
        create: {
          resourceType: 'Binary',
          contentType: 'text/plain',
          data: 'aGk=',
          securityContext: { reference: 'Patient/ann' },
        },
        as: 'file',
      },
      { data: 'aGk=' },
    ],
    ['reads it again', { read: 'Binary/@{file.id}' }, { contentType: 'text/plain' }],
    [
      'writes about it',
      {
        create: {
          resourceType: 'DocumentReference',
          status: 'current',
          subject: { reference: 'Patient/ann' },
          content: [{ attachment: { url: 'Binary/@{file.id}' } }],
        },
      },
      { status: 'current' },
    ],
  ],
};
