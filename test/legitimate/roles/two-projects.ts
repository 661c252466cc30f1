import type { Role } from '../operation.js';

/** One User in two projects: its access depends on the project of its sign-in. */
export const TWO_PROJECTS: readonly Role[] = [
  {
    role: 'a User with memberships in two projects, in the first one',
    who: { as: 'Practitioner', memberships: 'first' },
    operations: [
      ['lists the patients there', { search: 'Patient' }, ['ann', 'bob', 'cal', 'dan']],
      ['reads a resource whose id is taken in both', { read: 'Patient/ann' }, { birthDate: '1970-05-01' }],
      ['writes there', { create: { resourceType: 'Patient', gender: 'other' } }, { gender: 'other' }],
      [
        'signs in by project and user',
        { signIn: { project: '@{clinic.id}', user: '@{me.user}' } },
        ['Practitioner', false],
      ],
      [
        'and in the other project, as an administrator',
        { signIn: { project: '@{second.id}', user: '@{me.user}' } },
        ['Practitioner', true],
      ],
    ],
  },
  {
    role: 'a User with memberships in two projects, in the second one',
    who: { as: 'Practitioner', memberships: 'second' },
    operations: [
      ['lists the patients there', { search: 'Patient' }, ['ann']],
      ['reads a resource whose id is taken in both', { read: 'Patient/ann' }, { name: [{ family: 'Namesake' }] }],
      [
        'administers there',
        {
          invite: { resourceType: 'Practitioner', firstName: 'Kim', lastName: 'Test', email: 'kim@example.org' },
          project: 'second',
          as: 'kim',
        },
        ['user profile membership', 'sent'],
      ],
      [
        'finds the members there',
        { members: 'profile-type=Practitioner', project: 'second' },
        ['Kim Test', 'Mia Member'],
      ],
      ['removes a member there', { dismiss: '@{kim.membership}' }, 'membership-missing'],
      ['changes its own User', { edit: '@{me.user}', set: { firstName: 'Maria' } }, { firstName: 'Maria' }],
    ],
  },
];
