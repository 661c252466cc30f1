import type { Role } from '../operation.js';
import { weight } from './weight.js';

export const CARE_TEAM: Role = {
  role: 'a Practitioner of a care team',
  who: {
    as: 'Practitioner',
    profile: 'Practitioner/doc',
    rules: [
      { resourceType: 'CareTeam', criteria: 'CareTeam?participant=%profile', readonly: true },
      { resourceType: 'Patient', criteria: 'Patient?_has:CareTeam:patient:participant=%profile' },
      {
        resourceType: 'Observation',
        criteria: 'Observation?subject:Patient._has:CareTeam:patient:participant=%profile',
      },
      { resourceType: 'Practitioner', criteria: 'Practitioner?_id=%profile.id' },
    ],
  },
  operations: [
    ['sees its patients', { search: 'Patient' }, ['bob']],
    ['sees its teams', { search: 'CareTeam' }, ['bob-team']],
    ['sees their observations', { search: 'Observation' }, ['bob-w1']],
    [
      'reads the chart',
      {
        graphql:
          '{ CareTeamList { subject { resource { ... on Patient { birthDate ObservationList(_reference: subject) { id } } } } } }',
      },
      { CareTeamList: [{ subject: { resource: { birthDate: '1985-11-30', ObservationList: [{ id: 'bob-w1' }] } } }] },
    ],
    ['writes a weight', { create: weight('bob') }, { status: 'final' }],
    ['edits its patient', { edit: 'Patient/bob', set: { active: true } }, { active: true }],
    ['edits its own profile', { edit: 'Practitioner/doc', set: { gender: 'other' } }, { gender: 'other' }],
  ],
};
