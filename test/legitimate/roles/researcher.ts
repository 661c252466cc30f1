import type { Role } from '../operation.js';

export const RESEARCHER: Role = {
  role: 'a researcher without names',
  who: {
    as: 'Practitioner',
    rules: [
      {
        resourceType: 'Patient',
        readonly: true,
        hiddenFields: ['text', 'name', 'telecom', 'address', 'identifier', 'photo', 'contact'],
      },
      { resourceType: 'Observation', readonly: true },
    ],
  },
  operations: [
    ['counts by gender', { count: 'Patient?gender=female' }, 2],
    ['finds by year of birth', { search: 'Patient?birthdate=lt1990&_sort=birthdate' }, ['ann', 'bob']],
    ['finds values', { search: 'Observation?code-value-quantity=29463-7$gt60.5' }, ['ann-w2', 'bob-w1']],
    [
      'joins both',
      {
        graphql:
          '{ PatientList(gender: "female") { birthDate ObservationList(_reference: subject, code: "2345-7") { valueQuantity { value } } } }',
      },
      {
        PatientList: [
          { birthDate: '1970-05-01', ObservationList: [{ valueQuantity: { value: 5 } }] },
          { birthDate: '2015-03-03', ObservationList: [{ valueQuantity: { value: 6 } }] },
        ],
      },
    ],
    ['finds by a chain that nothing hides', { search: 'Observation?subject:Patient.gender=male' }, ['bob-w1']],
  ],
};
