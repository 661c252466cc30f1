import type { Operation, Role } from '../operation.js';

const policy = (name: string, ...resource: object[]): { resourceType: string; name: string; resource: object[] } => ({
  resourceType: 'AccessPolicy',
  name,
  resource,
});
const ada = { resourceType: 'Practitioner', firstName: 'Ada', lastName: 'Stone', email: 'ada@example.org' };

/** From an empty project to a project with its own administrators. */
const FOUNDING: readonly Operation[] = [
  [
    'creates a project',
    { newProject: { resourceType: 'Project', name: 'Lakeside', strictMode: true }, as: 'lakeside' },
    { name: 'Lakeside', strictMode: true },
  ],
  [
    'creates a second one, not strict',
    { newProject: { resourceType: 'Project', name: 'Hillside', strictMode: false }, as: 'hillside' },
    { strictMode: false },
  ],
  [
    'invites its first administrator',
    { invite: { ...ada, admin: true }, project: 'lakeside', as: 'ada' },
    ['user profile membership', 'sent'],
  ],
  ['who signs in as one', { signIn: { membership: '@{ada.membership}' } }, ['Practitioner', true]],
  [
    'invites the same person to the second project',
    { invite: { ...ada, admin: true, sendEmail: false }, project: 'hillside', as: 'ada2' },
    ['profile membership', 'skipped'],
  ],
];

/** The client of `initialize`: above all projects, without a policy. */
export const SUPER_ADMIN: Role = {
  role: 'the super administrator',
  who: 'operations',
  operations: [
    ...FOUNDING,
    ['finds all members of a project', { members: '', project: 'lakeside' }, ['Ada Stone']],
    [
      'finds the people of a project',
      { members: 'profile-type:not=ClientApplication,Bot', project: 'clinic' },
      ['Bo Boss'],
    ],
    ['finds a member by e-mail', { members: 'email=ADA@example.org', project: 'hillside' }, ['Ada Stone']],
    [
      'invites a second administrator',
      {
        invite: { ...ada, firstName: 'Al', email: 'al@example.org', membership: { admin: true } },
        project: 'lakeside',
        as: 'al',
      },
      ['user profile membership', 'sent'],
    ],
    ['changes a member of a project', { member: '@{ada.membership}', changes: { admin: false } }, { admin: false }],
    ['promotes it again', { member: '@{ada.membership}', changes: { admin: true } }, { admin: true }],
    ['deactivates a member', { member: '@{al.membership}', changes: { active: false } }, { active: false }],
    ['activates it', { member: '@{al.membership}', changes: { active: true } }, { active: true }],
    ['sends an invitation again', { resend: '@{al.membership}' }, 'sent'],
    ['removes a member', { dismiss: '@{al.membership}' }, 'membership-missing'],
    [
      'invites the removed person again, with the profile of before',
      { invite: { ...ada, firstName: 'Al', email: 'al@example.org' }, project: 'lakeside' },
      ['membership', 'sent'],
    ],
    [
      'invites a Patient',
      { invite: { ...ada, resourceType: 'Patient', email: 'pat@example.org' }, project: 'lakeside' },
      ['user profile membership', 'sent'],
    ],
    [
      'makes a client for a project',
      { newClient: { name: 'Feed' }, project: 'lakeside', as: 'feed' },
      { name: 'Feed' },
    ],
    ['which signs in', { signIn: { membership: '@{feed.membership}' } }, ['ClientApplication', false]],
    ['rotates its secret', { rotate: '@{feed.client}', project: 'lakeside' }, true],
    [
      'keeps the previous secret for a while',
      { rotate: '@{feed.client}', project: 'lakeside', keepOldFor: 86_400_000 },
      true,
    ],
    ['makes a bot for a project', { newBot: { name: 'Reminder' }, project: 'lakeside' }, { name: 'Reminder' }],
    [
      'writes a policy for a client of its own',
      {
        create: policy(
          'Provisioning',
          { resourceType: 'Project', interaction: ['create'] },
          { resourceType: 'ProjectMembership', interaction: ['create'] },
        ),
        as: 'policy',
      },
      { name: 'Provisioning' },
    ],
    [
      'makes a restricted super-admin client',
      {
        newClient: { name: 'Provisioner', accessPolicy: { reference: 'AccessPolicy/@{policy.id}' } },
        project: 'operations',
        as: 'provisioner',
      },
      { name: 'Provisioner' },
    ],
    ['which signs in', { signIn: { membership: '@{provisioner.membership}' } }, ['ClientApplication', false]],
    [
      'widens that policy',
      {
        edit: 'AccessPolicy/@{policy.id}',
        set: policy('Provisioning', { resourceType: 'Project', interaction: ['create'] }),
      },
      { resource: [{ resourceType: 'Project' }] },
    ],
    ['rotates the secret of that client', { rotate: '@{provisioner.client}', project: 'operations' }, true],
    [
      'invites a colleague as a super administrator',
      {
        invite: { ...ada, email: 'ops@example.org', firstName: 'Olga', admin: true },
        project: 'operations',
        as: 'olga',
      },
      ['user profile membership', 'sent'],
    ],
    ['removes the colleague', { dismiss: '@{olga.membership}' }, 'membership-missing'],
    ['reads its own project', { read: 'Project/@{operations.id}' }, { name: 'Operations', superAdmin: true }],
    ['finds the policies of its own project', { search: 'AccessPolicy?name=provisioning' }, ['@{policy.id}']],
    [
      'tries an invite out',
      { invite: { ...ada, email: 'try@example.org', dryRun: true }, project: 'lakeside' },
      ['user profile membership', 'skipped'],
    ],
    ['finds nobody who was only tried', { members: 'email=try@example.org', project: 'lakeside' }, []],
  ],
};

const RULE = (resourceType: string, ...interaction: string[]): object => ({ resourceType, interaction });

/** A client that can set up projects, restricted as in the service document. */
export const PROVISIONER: Role = {
  role: 'a super administrator under a policy',
  who: {
    as: 'ClientApplication',
    superAdmin: true,
    rules: [RULE('Project', 'create'), RULE('ProjectMembership', 'create', 'search', 'update', 'delete')],
  },
  operations: [
    ...FOUNDING,
    ['finds the members of a project', { members: '', project: 'lakeside' }, ['Ada Stone']],
    ['finds members by type of profile', { members: 'profile-type=Practitioner', project: 'hillside' }, ['Ada Stone']],
    [
      'invites staff',
      { invite: { ...ada, email: 'kim@example.org', firstName: 'Kim' }, project: 'lakeside', as: 'kim' },
      ['user profile membership', 'sent'],
    ],
    [
      'makes a member an administrator of the project',
      { member: '@{kim.membership}', changes: { admin: true } },
      { admin: true },
    ],
    ['deactivates a member', { member: '@{kim.membership}', changes: { active: false } }, { active: false }],
    ['removes a member', { dismiss: '@{kim.membership}' }, 'membership-missing'],
    [
      'invites it again',
      { invite: { ...ada, email: 'kim@example.org', firstName: 'Kim' }, project: 'lakeside' },
      ['membership', 'sent'],
    ],
    [
      'makes a client for a project',
      { newClient: { name: 'Feed' }, project: 'lakeside', as: 'feed' },
      { name: 'Feed' },
    ],
    [
      'signs the first administrator in',
      { signIn: { project: '@{lakeside.id}', user: '@{ada.user}' } },
      ['Practitioner', true],
    ],
  ],
};
