import type { Role } from '../operation.js';

/** Rules that add up: own patients completely, the others without contacts; values in a state that a string names. */
export const MIXED: Role = {
  role: 'a Practitioner with rules that hide different fields',
  who: {
    as: 'Practitioner',
    profile: 'Practitioner/doc',
    rules: [
      { resourceType: 'Patient', criteria: 'Patient?general-practitioner=%profile' },
      { resourceType: 'Patient', hiddenFields: ['contact', 'photo'] },
      { resourceType: 'Observation', criteria: 'Observation?status=%state', readonlyFields: ['subject'] },
    ],
    parameters: [{ state: 'final' }, { state: 'preliminary' }],
  },
  operations: [
    ['sees everybody', { search: 'Patient?_sort=birthdate&birthdate:missing=false' }, ['ann', 'bob', 'cal']],
    [
      'sees the contacts of its own patient',
      { graphql: '{ PatientList(_id: "ann,bob") { contact { name { family } } } }' },
      { PatientList: [{ contact: [{ name: { family: 'Hill' } }] }, { contact: null }] },
    ],
    ['edits its own patient', { edit: 'Patient/ann', set: { active: false } }, { active: false, contact: [{}] }],
    ['edits another one', { edit: 'Patient/bob', set: { active: true } }, { active: true }],
    [
      'patches another one',
      { patch: 'Patient/cal', operations: [{ op: 'add', path: '/active', value: true }] },
      { active: true },
    ],
    ['lists values in both states', { search: 'Observation?code=2345-7' }, ['ann-glucose', 'cal-glucose']],
    [
      'adds a note to a value',
      { edit: 'Observation/cal-glucose', set: { note: [{ text: 'Fasting' }] } },
      { note: [{ text: 'Fasting' }] },
    ],
    ['finds who is active', { search: 'Patient?active=true' }, ['bob', 'cal']],
    [
      'updates by a mutation',
      {
        graphql:
          'mutation ($id: ID!) { PatientPatch(id: $id, patch: [{ op: "replace", path: "/gender", value: "other" }], ifMatch: "2") { gender } }',
        variables: { id: 'bob' },
      },
      { PatientPatch: { gender: 'other' } },
    ],
  ],
};

/** An administrator whose policy shows the record only. */
export const ADMINISTRATOR_WITH_POLICY: Role = {
  role: 'a project administrator with a clinical policy',
  who: {
    as: 'Practitioner',
    admin: true,
    rules: [{ resourceType: 'Patient', readonly: true, hiddenFields: ['telecom'] }],
  },
  operations: [
    ['lists patients', { search: 'Patient?gender=male' }, ['bob', 'dan']],
    ['reads its project', { read: 'Project/@{clinic.id}' }, { name: 'Clinic' }],
    [
      'writes a policy for others',
      { create: { resourceType: 'AccessPolicy', name: 'Ward', resource: [{ resourceType: 'Encounter' }] }, as: 'ward' },
      { name: 'Ward' },
    ],
    [
      'invites with it',
      {
        invite: {
          resourceType: 'Practitioner',
          firstName: 'Kim',
          lastName: 'Test',
          email: 'kim@example.org',
          membership: { accessPolicy: { reference: 'AccessPolicy/@{ward.id}' } },
        },
        as: 'kim',
      },
      ['user profile membership', 'sent'],
    ],
    ['finds members', { members: 'profile-type=Practitioner' }, ['Bo Boss', 'Kim Test', 'Mia Member']],
    ['edits that policy', { edit: 'AccessPolicy/@{ward.id}', set: { name: 'Ward 7' } }, { name: 'Ward 7' }],
    ['changes a member', { member: '@{kim.membership}', changes: { userName: 'kim' } }, { userName: 'kim' }],
    ['makes a client', { newClient: { name: 'Feed' }, as: 'feed' }, { name: 'Feed' }],
    ['removes a member', { dismiss: '@{kim.membership}' }, 'membership-missing'],
    ['deletes the policy when nobody has it any more', { remove: 'AccessPolicy/@{ward.id}' }, 'gone'],
  ],
};
