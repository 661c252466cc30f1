import type { Role } from '../operation.js';
import { weight } from './weight.js';

const READS = ['read', 'vread', 'search', 'history'];

const TYPES = [
  'Condition',
  'AllergyIntolerance',
  'MedicationRequest',
  'Immunization',
  'DiagnosticReport',
  'Appointment',
  'Communication',
  'Coverage',
  'DocumentReference',
  'Task',
];

/** A policy as large as real policies: a dozen rules and more, several parameters, one criterion with many values. */
export const LARGE: Role = {
  role: 'a Practitioner with a large policy',
  who: {
    as: 'Practitioner',
    rules: [
      {
        resourceType: 'Patient',
        criteria: 'Patient?organization=%organization&active:not=false',
        hiddenFields: ['photo'],
      },
      { resourceType: 'Patient', criteria: 'Patient?general-practitioner=%gp', readonlyFields: ['identifier'] },
      {
        resourceType: 'Encounter',
        criteria: `Encounter?status=planned,arrived,triaged,in-progress,onleave,finished,cancelled,entered-in-error,unknown&service-provider=%organization`,
      },
      {
        resourceType: 'Observation',
        criteria: `Observation?code=${Array.from({ length: 60 }, (_, n) => `http://loinc.org|${29_410 + n}-7`).join(',')}&subject:Patient.organization=%organization`,
      },
      {
        resourceType: 'Observation',
        criteria: 'Observation?category=laboratory&status:not=entered-in-error',
        interaction: READS,
      },
      { resourceType: 'Practitioner', readonly: true },
      { resourceType: 'Organization', readonly: true },
      { resourceType: 'Location', criteria: 'Location?organization=%organization', readonly: true },
      { resourceType: 'Questionnaire', readonly: true },
      {
        resourceType: 'ValueSet',
        criteria: `ValueSet?url=${Array.from({ length: 40 }, (_, n) => `http://example.org/vs/${n}`).join(',')},http://example.org/vs/units`,
        readonly: true,
      },
      ...TYPES.map((resourceType) => ({
        resourceType,
        criteria: `${resourceType}?patient.organization=%organization`,
        writeConstraint: [{ language: 'text/fhirpath', expression: '%after.id.exists()' }],
      })).filter(({ resourceType }) => resourceType !== 'Coverage' && resourceType !== 'Communication'),
    ],
    parameters: [{ organization: 'Organization/north', gp: 'Practitioner/doc' }],
  },
  operations: [
    ['lists patients', { search: 'Patient' }, ['ann', 'cal']],
    ['lists weights and laboratory', { search: 'Observation' }, ['ann-glucose', 'ann-w1', 'ann-w2', 'cal-glucose']],
    ['lists visits by state', { search: 'Encounter?status=finished' }, ['ann-visit']],
    [
      'finds by a long list of codes',
      { search: `Observation?code=${Array.from({ length: 80 }, (_, n) => `${29_403 + n}-7`).join(',')}&_sort=-date` },
      ['ann-w2', 'ann-w1'],
    ],
    [
      'finds by a long list of ids',
      { search: `Patient?_id=${Array.from({ length: 200 }, (_, n) => `p${n}`).join(',')},ann,cal` },
      ['ann', 'cal'],
    ],
    ['sees a value set', { search: 'ValueSet' }, ['units']],
    ['writes a weight', { create: weight('ann') }, { status: 'final' }],
    [
      'edits a patient beside a hidden photo',
      { edit: 'Patient/cal', set: { maritalStatus: { text: 'Single' } } },
      { maritalStatus: { text: 'Single' } },
    ],
    [
      'makes a task',
      {
        create: { resourceType: 'Task', status: 'requested', intent: 'order', for: { reference: 'Patient/ann' } },
        as: 'task',
      },
      { status: 'requested' },
    ],
    ['completes it', { edit: 'Task/@{task.id}', set: { status: 'completed' } }, { status: 'completed' }],
    [
      'opens a chart',
      {
        graphql:
          '{ Patient(id: ann) { ConditionList(_reference: patient) { id } AllergyIntoleranceList(_reference: patient) { id } MedicationRequestList(_reference: patient) { id } DiagnosticReportList(_reference: patient) { result { resource { ... on Observation { id } } } } AppointmentList(_reference: patient) { id } DocumentReferenceList(_reference: patient) { id } TaskList(_reference: patient, status: "requested") { id } } }',
      },
      {
        Patient: {
          ConditionList: [{ id: 'ann-gout' }],
          AllergyIntoleranceList: [{ id: 'ann-peanut' }],
          MedicationRequestList: [{ id: 'ann-pill' }],
          DiagnosticReportList: [{ result: [{ resource: { id: 'ann-glucose' } }, { resource: { id: 'ann-w2' } }] }],
          AppointmentList: [{ id: 'ann-date' }],
          DocumentReferenceList: [{ id: 'ann-letter' }],
          TaskList: [{ id: 'call-ann' }],
        },
      },
    ],
  ],
};
