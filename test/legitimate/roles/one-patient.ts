import type { Role } from '../operation.js';

/** A consultant for one patient: a compartment as a parameter, in both of its forms. */
export const ONE_PATIENT: Role = {
  role: 'a Practitioner for one patient',
  who: {
    as: 'Practitioner',
    rules: [
      { resourceType: '*', compartment: { reference: '%case' }, readonly: true },
      { resourceType: 'Communication', criteria: 'Communication?_compartment=%case' },
    ],
    parameters: [{ case: 'Patient/ann' }],
  },
  operations: [
    ['sees the patient', { search: 'Patient' }, ['ann']],
    ['lists values', { search: 'Observation?_sort=-date&_count=2' }, ['ann-glucose', 'ann-w2']],
    ['lists visits', { search: 'Encounter' }, ['ann-visit']],
    ['reads the coverage', { read: 'Coverage/ann-cover' }, { status: 'active' }],
    ['counts tasks', { count: 'Task?status=requested' }, 1],
    [
      'writes a message',
      {
        create: { resourceType: 'Communication', status: 'completed', subject: { reference: 'Patient/ann' } },
        as: 'm',
      },
      { status: 'completed' },
    ],
    [
      'corrects it',
      { edit: 'Communication/@{m.id}', set: { status: 'entered-in-error' } },
      { meta: { versionId: '2' } },
    ],
    [
      'opens a chart',
      { graphql: '{ PatientList { CommunicationList(_reference: subject, _sort: "status") { status } } }' },
      { PatientList: [{ CommunicationList: [{ status: 'completed' }, { status: 'entered-in-error' }] }] },
    ],
  ],
};
