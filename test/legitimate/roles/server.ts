import type { Role } from '../operation.js';

/** The operator's own code, above projects. */
export const OPERATOR: Role = {
  role: 'the operator above projects',
  who: 'server',
  operations: [
    [
      'creates a project',
      { newProject: { resourceType: 'Project', name: 'Lakeside', strictMode: true }, as: 'lakeside' },
      { name: 'Lakeside' },
    ],
    ['reads it', { read: 'Project/@{lakeside.id}' }, { strictMode: true }],
    [
      'invites its first administrator',
      {
        invite: {
          resourceType: 'Practitioner',
          firstName: 'Ada',
          lastName: 'Stone',
          email: 'ada@example.org',
          admin: true,
        },
        project: 'lakeside',
        as: 'ada',
      },
      ['user profile membership', 'sent'],
    ],
    ['finds the members of any project', { members: '', project: 'clinic' }, ['Bo Boss']],
    ['finds a User by e-mail', { search: 'User?email=ada@example.org&_count=1' }, ['@{ada.userId}']],
    [
      'notes that the address was verified',
      { patch: '@{ada.user}', operations: [{ op: 'add', path: '/emailVerified', value: true }] },
      { emailVerified: true },
    ],
    [
      'changes an address',
      { edit: '@{ada.user}', set: { email: 'ada.stone@example.org' } },
      { email: 'ada.stone@example.org' },
    ],
    [
      'changes a project',
      { edit: 'Project/@{lakeside.id}', set: { name: 'Lakeside Clinic' } },
      { name: 'Lakeside Clinic' },
    ],
    ['deactivates a member', { member: '@{ada.membership}', changes: { userName: 'ada' } }, { userName: 'ada' }],
  ],
};

/** The operator's own code that sets up or moves a whole project. */
export const MOVER: Role = {
  role: 'the operator within a project',
  who: 'server of the clinic',
  operations: [
    [
      'imports records, Users and policies under their ids',
      {
        ndjson: [
          { resourceType: 'User', id: 'moved', firstName: 'Mo', lastName: 'Ved', email: 'moved@example.org' },
          { resourceType: 'Practitioner', id: 'moved', name: [{ family: 'Ved' }] },
          { resourceType: 'AccessPolicy', id: 'moved', resource: [{ resourceType: 'Patient', readonly: true }] },
          { resourceType: 'Patient', id: 'moved', gender: 'other' },
        ],
      },
      { created: 4, updated: 0, unchanged: 0, failed: 0 },
    ],
    [
      'imports a membership',
      {
        ndjson: [
          {
            resourceType: 'ProjectMembership',
            id: 'moved',
            project: { reference: 'Project/@{clinic.id}' },
            user: { reference: 'User/moved' },
            profile: { reference: 'Practitioner/moved' },
            access: [{ policy: { reference: 'AccessPolicy/moved' } }],
          },
        ],
      },
      { created: 1, updated: 0, unchanged: 0, failed: 0 },
    ],
    ['the member signs in', { signIn: { membership: 'moved' } }, ['Practitioner', false]],
    ['reads the records', { search: 'Patient?gender=other' }, ['moved']],
    [
      'asks by GraphQL',
      { graphql: '{ UserList(_id: "moved") { email } PatientList(_id: "ann") { id } }' },
      { UserList: [{ email: 'moved@example.org' }], PatientList: [{ id: 'ann' }] },
    ],
  ],
};
