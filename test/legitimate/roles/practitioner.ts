import type { Role } from '../operation.js';
import { WRITING } from './practitioner-writes.js';

const DASHBOARD = `query chart($id: ID!) {
  Patient(id: $id) {
    name(use: official) { given family }
    birthDate
    managingOrganization { resource { ... on Organization { name } } }
    weights: ObservationList(_reference: subject, code: "29463-7", _sort: "-date", _count: 2) { valueQuantity { value } }
    labs: ObservationList(_reference: subject, category: "laboratory") { id }
    ConditionList(_reference: subject) { code { text } }
    AllergyIntoleranceList(_reference: patient) { code { text } criticality }
    MedicationRequestList(_reference: subject, status: "active") { medicationCodeableConcept { text } }
    ImmunizationList(_reference: patient) { id }
    EncounterList(_reference: subject) { status DiagnosticReportList(_reference: encounter) { id } }
    AppointmentList(_reference: patient) { start }
    DocumentReferenceList(_reference: subject) { content { attachment { contentType } } }
    CoverageList(_reference: beneficiary) { payor { resource { ... on Organization { name } } } }
    CareTeamList(_reference: subject) { id }
    TaskList(_reference: patient) { status }
  }
}`;

/** Staff without a policy: the whole clinical record. */
export const PRACTITIONER: Role = {
  role: 'a Practitioner without a policy',
  who: { as: 'Practitioner', profile: 'Practitioner/doc' },
  operations: [
    ['reads a patient', { read: 'Patient/ann' }, { id: 'ann', birthDate: '1970-05-01' }],
    ['lists patients', { search: 'Patient' }, ['ann', 'bob', 'cal', 'dan']],
    ['finds a patient by name', { search: 'Patient?name=hil' }, ['ann']],
    ['finds a patient by number', { search: 'Patient?identifier=urn:mrn|2' }, ['bob']],
    ['finds patients by two conditions', { search: 'Patient?gender=female&birthdate=gt2000' }, ['cal']],
    ['counts patients', { count: 'Patient?gender=male' }, 2],
    ['pages through patients', { search: 'Patient?_count=2&_offset=1&_sort=-birthdate' }, ['bob', 'ann']],
    ['finds patients by a chain', { search: 'Patient?organization.name=north' }, ['ann', 'cal']],
    ['finds own patients', { search: 'Patient?general-practitioner=Practitioner/doc' }, ['ann']],
    ['finds by _has', { search: 'Patient?_has:Observation:patient:code=2345-7' }, ['ann', 'cal']],
    ['finds by _filter', { search: 'Patient?_filter=family eq dale and gender eq male' }, ['bob', 'dan']],
    ['finds what is absent', { search: 'Patient?birthdate:missing=true' }, ['dan']],
    ['finds by several ids', { search: 'Patient?_id=ann,dan' }, ['ann', 'dan']],
    [
      'pages by criteria',
      { type: 'Patient', criteria: { criteria: { kind: 'all' }, count: 2, offset: 1 } },
      ['bob', 'cal'],
    ],
    ['finds by a value', { search: 'Observation?value-quantity=gt70' }, ['bob-w1']],
    ['finds by a day', { search: 'Observation?date=2024-03' }, ['ann-glucose', 'cal-glucose']],
    ['sorts by a token', { search: 'Encounter?_sort=status' }, ['ann-visit', 'bob-stay']],
    [
      'sorts by two keys',
      { search: 'Observation?_sort=code,-date&_count=3' },
      ['cal-glucose', 'ann-glucose', 'ann-w2'],
    ],
    ['finds free slots', { search: 'Slot?status=free&start=ge2024-09-01' }, ['doc-free']],
    ['finds own appointments', { search: 'Appointment?actor=Practitioner/doc' }, ['ann-date']],
    ['reads its own profile', { read: 'Practitioner/doc' }, { gender: 'female' }],
    ['reads a file', { read: 'Binary/ann-photo' }, { contentType: 'image/png' }],
    [
      'opens a chart of a dozen lists at once',
      { graphql: DASHBOARD, variables: { id: 'ann' } },
      {
        Patient: {
          name: [{ given: ['Ann'], family: 'Hill' }],
          birthDate: '1970-05-01',
          managingOrganization: { resource: { name: 'North' } },
          weights: [{ valueQuantity: { value: 61.5 } }, { valueQuantity: { value: 60 } }],
          labs: [{ id: 'ann-glucose' }],
          ConditionList: [{ code: { text: 'Gout' } }],
          AllergyIntoleranceList: [{ code: { text: 'Peanut' }, criticality: 'high' }],
          MedicationRequestList: [{ medicationCodeableConcept: { text: 'Allopurinol' } }],
          ImmunizationList: [],
          EncounterList: [{ status: 'finished', DiagnosticReportList: [{ id: 'ann-report' }] }],
          AppointmentList: [{ start: '2024-09-01T08:00:00Z' }],
          DocumentReferenceList: [{ content: [{ attachment: { contentType: 'text/plain' } }] }],
          CoverageList: [{ payor: [{ resource: { name: 'South' } }] }],
          CareTeamList: [],
          TaskList: [{ status: 'requested' }],
        },
      },
    ],
    [
      'asks a list by GraphQL with names in snake case',
      { graphql: '{ PatientList(address_city: "Bern") { id } }' },
      { PatientList: [{ id: 'ann' }] },
    ],
    [
      'resolves a report to its results',
      {
        graphql:
          '{ DiagnosticReport(id: "ann-report") { result { resource { ... on Observation { id encounter { resource { ... on Encounter { status } } } } } } } }',
      },
      {
        DiagnosticReport: {
          result: [
            { resource: { id: 'ann-glucose', encounter: { resource: { status: 'finished' } } } },
            { resource: { id: 'ann-w2', encounter: { resource: { status: 'finished' } } } },
          ],
        },
      },
    ],
    [
      'asks for a connection',
      { graphql: '{ PatientConnection(_sort: "birthdate", _count: 1) { count edges { resource { id } } } }' },
      { PatientConnection: { count: 4, edges: [{ resource: { id: 'ann' } }] } },
    ],
    [
      'sorts a list of GraphQL by a token',
      { graphql: '{ ObservationList(_sort: "code", _count: 2) { id } }' },
      { ObservationList: [{ id: 'ann-glucose' }, { id: 'cal-glucose' }] },
    ],
    [
      'takes the latest value of each patient',
      {
        graphql:
          '{ PatientList(_id: "ann,bob") { id ObservationList(_reference: subject, _sort: "-date", _count: 1) { id } } }',
      },
      {
        PatientList: [
          { id: 'ann', ObservationList: [{ id: 'ann-glucose' }] },
          { id: 'bob', ObservationList: [{ id: 'bob-w1' }] },
        ],
      },
    ],
    [
      'filters elements by FHIRPath',
      { graphql: `{ Patient(id: ann) { name(fhirpath: "family.exists().not()") { given } } }` },
      { Patient: { name: [{ given: ['Annie'] }] } },
    ],
    [
      'filters a list by _filter',
      { graphql: '{ PatientList(_filter: "birthdate lt 1980 or family eq moor") { id } }' },
      { PatientList: [{ id: 'ann' }, { id: 'cal' }] },
    ],
    [
      'asks about one instance',
      { graphql: '{ birthDate EncounterList(_reference: subject) { id } }', focus: 'Patient/bob' },
      { birthDate: '1985-11-30', EncounterList: [{ id: 'bob-stay' }] },
    ],
    [
      'flattens in the dialect of HL7',
      { graphql: '{ Patient(id: bob) { name @flatten @first { family } } }', dialect: 'hl7' },
      { Patient: { family: 'Dale' } },
    ],
    [
      'uses fragments and aliases',
      {
        graphql:
          'query { a: Patient(id: ann) { ...who } b: Patient(id: bob) { ...who } } fragment who on Patient { id gender }',
      },
      { a: { id: 'ann', gender: 'female' }, b: { id: 'bob', gender: 'male' } },
    ],
    [
      'asks for a schema as MedplumClient does',
      { graphql: '{ StructureDefinitionList(_filter: "name eq Patient") { name } }' },
      { StructureDefinitionList: [] },
    ],
    ...WRITING,
  ],
};
