import type { Role } from '../operation.js';

const person = (firstName: string, more: object = {}): object => ({
  resourceType: 'Practitioner',
  firstName,
  lastName: 'Test',
  email: `${firstName.toLowerCase()}@example.org`,
  ...more,
});
const NEW = ['user profile membership', 'sent'];
const staff = (...organizations: string[]): object => ({
  membership: {
    access: organizations.map((organization) => ({
      policy: { reference: 'AccessPolicy/@{staff.id}' },
      parameter: [{ name: 'organization', valueReference: { reference: `Organization/${organization}` } }],
    })),
  },
});
const STAFF_RULES = [
  { resourceType: 'Patient', criteria: 'Patient?organization=%organization' },
  { resourceType: 'Observation', criteria: 'Observation?subject:Patient.organization=%organization' },
];

/** The first administrator of a clinic, without a policy of its own. */
export const ADMINISTRATOR: Role = {
  role: 'a project administrator',
  who: { as: 'Practitioner', admin: true },
  operations: [
    // clinical work
    ['reads the record', { read: 'Patient/ann' }, { birthDate: '1970-05-01' }],
    ['writes the record', { create: { resourceType: 'Patient', gender: 'male' }, as: 'new' }, { gender: 'male' }],
    [
      'changes an organization',
      { edit: 'Organization/north', set: { name: 'North Clinic' } },
      { name: 'North Clinic' },
    ],
    [
      'imports lines under ids of another system',
      {
        ndjson: [
          { resourceType: 'Patient', id: 'legacy-1' },
          { resourceType: 'Patient', id: 'legacy-2', active: true },
        ],
      },
      { created: 2, updated: 0, unchanged: 0, failed: 0 },
    ],
    [
      'imports a transaction',
      {
        bundle: 'transaction',
        entries: [
          {
            method: 'PUT',
            url: 'Organization/east',
            resource: { resourceType: 'Organization', id: 'east', name: 'East' },
          },
        ],
      },
      { created: 1, updated: 0, deleted: 0, unchanged: 0, failed: 0 },
    ],
    // the project
    ['reads its project', { read: 'Project/@{clinic.id}' }, { name: 'Clinic' }],
    ['renames it', { edit: 'Project/@{clinic.id}', set: { name: 'Riverside' } }, { name: 'Riverside' }],
    ['finds it', { search: 'Project' }, ['@{clinic.id}']],
    // policies
    [
      'writes a policy',
      { create: { resourceType: 'AccessPolicy', name: 'Staff', resource: STAFF_RULES }, as: 'staff' },
      { name: 'Staff' },
    ],
    ['finds it', { search: 'AccessPolicy?name=staff' }, ['@{staff.id}']],
    [
      'writes a policy with every element of a rule',
      {
        create: {
          resourceType: 'AccessPolicy',
          name: 'Everything',
          compartment: { reference: '%patient' },
          resource: [
            {
              resourceType: 'Observation',
              criteria: 'Observation?status:not=entered-in-error&category=laboratory',
              interaction: ['read', 'search', 'create', 'update'],
              hiddenFields: ['note', 'component.valueQuantity'],
              readonlyFields: ['subject'],
              writeConstraint: [{ language: 'text/fhirpath', expression: "%after.status != 'cancelled'" }],
            },
            { resourceType: '*', readonly: true },
          ],
        },
        as: 'everything',
      },
      { name: 'Everything' },
    ],
    ['deletes a policy that nobody has', { remove: 'AccessPolicy/@{everything.id}' }, 'gone'],
    // invites, with each option
    ['invites a Practitioner', { invite: person('Pia'), as: 'pia' }, NEW],
    ['who signs in', { signIn: { membership: '@{pia.membership}' } }, ['Practitioner', false]],
    [
      'invites without an e-mail',
      { invite: person('Pim', { sendEmail: false }) },
      ['user profile membership', 'skipped'],
    ],
    ['the same, as text', { invite: person('Pum', { sendEmail: 'false' }) }, ['user profile membership', 'skipped']],
    ['invites with an e-mail, as text', { invite: person('Pam', { sendEmail: 'true' }) }, NEW],
    ['invites a Patient', { invite: person('Pat', { resourceType: 'Patient' }), as: 'pat' }, NEW],
    [
      'invites a Patient whose record is there',
      { invite: person('Ann', { resourceType: 'Patient', membership: { profile: 'Patient/ann' } }), as: 'ann' },
      ['user membership', 'sent'],
    ],
    [
      'invites a RelatedPerson',
      { invite: person('Rex', { resourceType: 'RelatedPerson', patient: 'Patient/cal' }), as: 'rex' },
      NEW,
    ],
    [
      'names the patient by a Reference',
      { invite: person('Rea', { resourceType: 'RelatedPerson', patient: { reference: 'Patient/cal' } }) },
      NEW,
    ],
    [
      'invites for a profile that is there',
      { invite: person('Dora', { membership: { profile: { reference: 'Practitioner/doc' } } }), as: 'dora' },
      ['user membership', 'sent'],
    ],
    ['invites an administrator', { invite: person('Boss2', { admin: true }), as: 'boss2' }, NEW],
    [
      'the same in membership',
      { invite: person('Boss3', { membership: { resourceType: 'ProjectMembership', admin: true } }), as: 'boss3' },
      NEW,
    ],
    ['invites with a policy and a parameter', { invite: person('Ben', staff('north')), as: 'ben' }, NEW],
    ['invites with the same policy twice', { invite: person('Bea', staff('north', 'south')), as: 'bea' }, NEW],
    [
      'invites with accessPolicy',
      { invite: person('Bix', { membership: { accessPolicy: { reference: 'AccessPolicy/@{staff.id}' } } }) },
      NEW,
    ],
    [
      'invites with the deprecated access',
      { invite: person('Bob', { access: [{ policy: { reference: 'AccessPolicy/@{staff.id}' } }] }) },
      NEW,
    ],
    [
      'invites by the id of an identity provider',
      { invite: { resourceType: 'Practitioner', firstName: 'Eli', lastName: 'Test', externalId: 'idp|1' }, as: 'eli' },
      ['user profile membership', 'skipped'],
    ],
    [
      'with both, id and address',
      { invite: person('Eva', { membership: { externalId: 'idp|2', userName: 'eva' } }), as: 'eva' },
      NEW,
    ],
    ['invites a User of this project only', { invite: person('Loc', { scope: 'project' }) }, NEW],
    [
      'invites a Patient with a User above projects',
      { invite: person('Glo', { resourceType: 'Patient', scope: 'server' }) },
      NEW,
    ],
    ['demands a second factor', { invite: person('Mfa', { mfaRequired: true }) }, NEW],
    [
      'invites somebody who is not active yet',
      { invite: person('Lat', { membership: { active: false } }), as: 'lat' },
      NEW,
    ],
    [
      'invites with an identifier',
      { invite: person('Ide', { membership: { identifier: [{ system: 'urn:hr', value: '7' }] } }) },
      NEW,
    ],
    ['invites with a new profile', { invite: person('Nea', { newProfile: true }) }, NEW],
    [
      'writes down a namesake',
      { create: { resourceType: 'Patient', telecom: [{ system: 'email', value: 'nia@example.org' }] }, as: 'nia' },
      { resourceType: 'Patient' },
    ],
    [
      'invites beside a profile with the same address',
      { invite: person('Nia', { resourceType: 'Patient', newProfile: true }), as: 'nia2' },
      NEW,
    ],
    [
      'invites for the profile with the same address',
      {
        invite: person('Nia', {
          resourceType: 'Patient',
          membership: { profile: 'Patient/@{nia.id}' },
          forceNewMembership: true,
        }),
      },
      ['membership', 'sent'],
    ],
    ['removes that member', { dismiss: '@{nia2.membership}' }, 'membership-missing'],
    ['tries an invite out', { invite: person('Dry', { dryRun: true }) }, ['user profile membership', 'skipped']],
    [
      'invites again with upsert',
      { invite: person('Pia', { upsert: true, membership: { admin: false } }) },
      ['', 'sent'],
    ],
    [
      'gives a second membership to the same person',
      { invite: person('Pia', { forceNewMembership: true, sendEmail: false }), as: 'pia2' },
      ['membership', 'skipped'],
    ],
    ['sends an invitation again', { resend: '@{pat.membership}' }, 'sent'],
    // members
    [
      'finds the Patient members',
      { members: 'profile-type=Patient' },
      ['Ann Test', 'Glo Test', 'Nia Test', 'Pat Test'],
    ],
    ['finds the RelatedPersons', { members: 'profile-type=RelatedPerson' }, ['Rea Test', 'Rex Test']],
    ['finds a member by name', { members: 'name=ben' }, ['Ben Test']],
    ['finds a member by address', { members: 'email=BEN@Example.org' }, ['Ben Test']],
    ['finds the inactive', { members: 'active=false' }, ['Lat Test']],
    ['finds by id of the identity provider', { members: 'external-id=idp|1' }, ['Eli Test']],
    ['finds by user name', { members: 'user-name=eva' }, ['Eva Test']],
    [
      'finds by policy',
      { members: 'access-policy=AccessPolicy/@{staff.id}&_count=1&_sort=_id&profile=@{bea.profile}' },
      ['Bea Test'],
    ],
    ['finds a member by identifier', { members: 'identifier=urn:hr|7' }, ['Ide Test']],
    ['finds administrators', { members: 'admin=true' }, ['Bo Boss', 'Boss2 Test', 'Boss3 Test', 'Mia Member']],
    [
      'reads a membership',
      { read: 'ProjectMembership/@{ben.membership}' },
      { access: [{ parameter: [{ name: 'organization' }] }] },
    ],
    [
      'gives another policy',
      { member: '@{pia.membership}', changes: { accessPolicy: { reference: 'AccessPolicy/@{staff.id}' } } },
      { accessPolicy: { reference: 'AccessPolicy/@{staff.id}' } },
    ],
    ['takes it away', { member: '@{pia.membership}', changes: { accessPolicy: null } }, { active: true }],
    [
      'changes the parameters of a member',
      { member: '@{ben.membership}', changes: (staff('south') as { membership: object }).membership },
      { access: [{ parameter: [{ valueReference: { reference: 'Organization/south' } }] }] },
    ],
    ['changes the user name', { member: '@{eva.membership}', changes: { userName: 'eva2' } }, { userName: 'eva2' }],
    [
      'changes the external id',
      { member: '@{eli.membership}', changes: { externalId: 'idp|3' } },
      { externalId: 'idp|3' },
    ],
    ['activates a member', { member: '@{lat.membership}', changes: { active: true } }, { active: true }],
    ['who signs in', { signIn: { membership: '@{lat.membership}' } }, ['Practitioner', false]],
    ['promotes a member', { member: '@{dora.membership}', changes: { admin: true } }, { admin: true }],
    ['demotes a colleague', { member: '@{boss2.membership}', changes: { admin: false } }, { admin: false }],
    [
      'edits the policy of others',
      {
        edit: 'AccessPolicy/@{staff.id}',
        set: { resource: [...STAFF_RULES, { resourceType: 'Encounter', readonly: true }] },
      },
      { resource: [{}, {}, { resourceType: 'Encounter' }] },
    ],
    ['sees a change of a policy in its history', { history: 'AccessPolicy/@{staff.id}' }, ['2', '1']],
    // leaving and coming back
    ['removes a member', { dismiss: '@{bea.membership}' }, 'membership-missing'],
    ['keeps the profile', { read: '@{bea.profile}' }, { resourceType: 'Practitioner' }],
    [
      'invites the removed person again, with the profile of before',
      { invite: person('Bea', staff('north')), as: 'bea2' },
      ['membership', 'sent'],
    ],
    ['finds the same profile', { members: 'profile=@{bea.profile}' }, ['Bea Test']],
    ['removes it once more', { dismiss: '@{bea2.membership}' }, 'membership-missing'],
    [
      'invites it with its profile named',
      { invite: person('Bea', { membership: { profile: '@{bea.profile}' } }) },
      ['membership', 'sent'],
    ],
    ['removes a RelatedPerson', { dismiss: '@{rex.membership}' }, 'membership-missing'],
    ['removes an administrator', { dismiss: '@{boss3.membership}' }, 'membership-missing'],
    ['removes a second membership', { dismiss: '@{pia2.membership}' }, 'membership-missing'],
    [
      'after which the person signs in by project and user',
      { signIn: { project: '@{clinic.id}', user: '@{pia.user}' } },
      ['Practitioner', false],
    ],
    // programs
    [
      'makes a client',
      { newClient: { name: 'Feed', description: 'From the laboratory' }, as: 'feed' },
      { name: 'Feed' },
    ],
    [
      'makes a client with a policy',
      { newClient: { name: 'Limited', accessPolicy: { reference: 'AccessPolicy/@{staff.id}' } } },
      { name: 'Limited' },
    ],
    ['rotates its secret', { rotate: '@{feed.client}' }, true],
    ['makes a bot', { newBot: { name: 'Reminder' }, as: 'bot' }, { name: 'Reminder' }],
    ['which signs in', { signIn: { project: '@{clinic.id}', client: 'Bot/@{bot.client}' } }, ['Bot', false]],
    ['finds the programs', { members: 'profile-type=ClientApplication,Bot' }, ['Feed', 'Limited', 'Reminder']],
    [
      'gives a program a policy',
      { member: '@{feed.membership}', changes: { accessPolicy: { reference: 'AccessPolicy/@{staff.id}' } } },
      { active: true },
    ],
    ['takes a program away', { dismiss: '@{bot.membership}' }, 'membership-missing'],
    // Users
    ['sees the Users of its members', { read: '@{ben.user}' }, { email: 'ben@example.org', firstName: 'Ben' }],
    ['changes its own User', { edit: '@{me.user}', set: { lastName: 'Renamed' } }, { lastName: 'Renamed' }],
    [
      'asks for members by GraphQL',
      { graphql: '{ ProjectMembershipList(profile_type: "Bot") { id } AccessPolicyList { name } }' },
      { ProjectMembershipList: [], AccessPolicyList: [{ name: 'Staff' }] },
    ],
  ],
};
