import type { Role } from '../operation.js';
import { OWN_RULES } from './own-rules.js';

/** A caregiver, without a policy. */
export const RELATED: Role = {
  role: 'a RelatedPerson',
  who: { as: 'RelatedPerson', patient: 'Patient/bob' },
  operations: [
    ['sees its patient', { search: 'Patient' }, ['bob']],
    ['reads it', { read: 'Patient/bob' }, { birthDate: '1985-11-30' }],
    ['lists its values', { search: 'Observation' }, ['bob-w1']],
    ['lists its visits', { search: 'Encounter?status=in-progress' }, ['bob-stay']],
    ['lists its vaccinations', { search: 'Immunization' }, ['bob-shot']],
    ['lists its teams', { search: 'CareTeam' }, ['bob-team']],
    ['sees itself', { read: '@{me.profile}' }, { patient: { reference: 'Patient/bob' } }],
    [
      'opens a chart',
      {
        graphql:
          '{ PatientList { ImmunizationList(_reference: patient) { vaccineCode { text } } EncounterList(_reference: subject) { period { start } } } }',
      },
      {
        PatientList: [
          {
            ImmunizationList: [{ vaccineCode: { text: 'Influenza' } }],
            EncounterList: [{ period: { start: '2024-06-01' } }],
          },
        ],
      },
    ],
    ['changes its own User', { edit: '@{me.user}', set: { lastName: 'Dale' } }, { lastName: 'Dale' }],
  ],
};

export const RELATED_WITH_POLICY: Role = {
  role: 'a RelatedPerson with the policy of a portal',
  who: { as: 'RelatedPerson', patient: 'Patient/ann', rules: OWN_RULES },
  operations: [
    ['sees its patient', { search: 'Patient' }, ['ann']],
    ['lists values', { search: 'Observation?code=29463-7' }, ['ann-w1', 'ann-w2']],
    [
      'changes the address of its patient',
      { edit: 'Patient/ann', set: { address: [{ city: 'Chur' }] } },
      { address: [{ city: 'Chur' }] },
    ],
    [
      'writes a message',
      { create: { resourceType: 'Communication', status: 'completed', subject: { reference: 'Patient/ann' } } },
      { status: 'completed' },
    ],
  ],
};
