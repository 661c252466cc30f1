import type { AccessPolicy, OperationOutcome, Patient, Project, ProjectMembership, User } from '@medplum/fhirtypes';
import {
  createProject,
  createRepository,
  initialize,
  invite as inviteByCode,
  type InviteBody,
  MemoryStore,
  removeMember,
  searchMembers,
  signIn,
  systemCaller,
  verifyClientSecret,
  createClient,
} from 'fhirgraph';
import { expect } from 'vitest';
import { bodyOf, type Items, somebody } from './item.js';
import { lose } from './items-resources.js';
import type { World } from './world.js';

/** Sections 4.2 to 9: people, projects, and general promises. */
export const PEOPLE: Items = [
  ['4.2 Method', 'POST', async ({ invite }) => expect((await invite(somebody())).status).toBe(200)],
  [
    '4.2 Path',
    '{base_url}/admin/projects/<project_id>/invite, without a version',
    async ({ http, project }) => {
      expect((await http('POST', `/admin/projects/${project}/invite`, { body: somebody() })).status).toBe(200);
    },
  ],
  [
    '4.2 Request headers',
    'a bearer token, and JSON',
    async ({ http, project }) => {
      const path = `/admin/projects/${project}/invite`;
      const answer = await http('POST', path, { body: somebody(), token: null });
      expect([answer.status, (answer.body as OperationOutcome).resourceType]).toEqual([401, 'OperationOutcome']);
      expect((await http('POST', path, { body: somebody() })).type).toMatch(/json/);
    },
  ],
  [
    '4.2 Who may call',
    'administrators of the project',
    async ({ invite, token }) => {
      const { user } = bodyOf<ProjectMembership>(await invite(somebody()));
      expect((await invite(somebody(), await token(user.reference!))).status).toBe(403);
      const boss = bodyOf<ProjectMembership>(await invite({ ...somebody(), membership: { admin: true } }));
      expect((await invite(somebody(), await token(boss.user.reference!))).status).toBe(200);
    },
  ],
  ...(['Patient', 'Practitioner', 'RelatedPerson'] as const).map((resourceType): Items[number] => [
    '4.2 resourceType',
    `${resourceType}: the type of the profile that is made`,
    async ({ invite, http }) => {
      const patient = resourceType === 'RelatedPerson' ? { patient: { reference: 'Patient/fay' } } : {};
      const { profile } = bodyOf<ProjectMembership>(await invite({ ...somebody({ resourceType }), ...patient }));
      expect(bodyOf(await http('GET', `/fhir/R4/${profile.reference!}`))).toMatchObject({ resourceType });
    },
  ]),
  ['4.2 firstName', 'the given name', async (world) => expect((await invited(world)).name.given).toEqual(['Given'])],
  ['4.2 lastName', 'the family name', async (world) => expect((await invited(world)).name.family).toBe('Family')],
  [
    '4.2 email',
    'the address of the invitee',
    async (world) => {
      const { email, user, profile } = await invited(world);
      expect(user.email).toBe(email);
      expect(profile.telecom).toContainEqual(expect.objectContaining({ system: 'email', value: email }));
    },
  ],
  ...(
    [
      [true, 1],
      [false, 0],
      ['true', 1],
      ['false', 0],
    ] as const
  ).map(([sendEmail, mails]): Items[number] => [
    '4.2 sendEmail',
    `${JSON.stringify(sendEmail)}: ${mails === 1 ? 'an e-mail goes out' : 'no e-mail goes out'}`,
    async ({ invite, box }) => {
      const body = { ...somebody(), sendEmail };
      bodyOf(await invite(body));
      expect(box.arrived.filter(({ recipients }) => recipients.includes(body.email))).toHaveLength(mails);
    },
  ]),
  [
    '4.2 membership',
    'a partial ProjectMembership: admin and access',
    async ({ invite, store }) => {
      const access = [
        {
          policy: { reference: 'AccessPolicy/staff' },
          parameter: [{ name: 'organization', valueReference: { reference: 'Organization/north' } }],
        },
      ];
      const { id, ...made } = bodyOf<ProjectMembership>(
        await invite({ ...somebody(), membership: { resourceType: 'ProjectMembership', admin: true, access } }),
      );
      expect([made.admin, made.access]).toEqual([true, access]);
      expect((await signIn(store, { membership: id! })).admin).toBe(true);
    },
  ],
  [
    '4.2 admin',
    'true at the top of the body makes an administrator',
    async ({ invite }) => {
      expect(bodyOf<ProjectMembership>(await invite({ ...somebody(), admin: true })).admin).toBe(true);
      expect(bodyOf<ProjectMembership>(await invite(somebody())).admin ?? false).toBe(false);
    },
  ],
  [
    '4.2 #1',
    'a User is made if there is none, and found if there is one',
    async ({ store, project, tokens, http, administrator: caller }) => {
      const body = { ...somebody(), resourceType: 'Practitioner' } as const;
      const first = await inviteByCode(project, body, { store, caller });
      const made = await http('POST', '/fhir/R4/Project', {
        body: { resourceType: 'Project', name: 'Seaside Clinic' },
        token: tokens.operator,
      });
      const path = `/admin/projects/${bodyOf<Project>(made).id!}/invite`;
      const second = bodyOf<ProjectMembership>(await http('POST', path, { body, token: tokens.operator }));
      expect(first.created.user).toBe(true);
      expect(second.user.reference).toBe(`User/${first.user.id}`);
    },
  ],
  [
    '4.2 #2',
    'a profile of the type is made',
    async ({ store, project, administrator: caller }) => {
      const body = { ...somebody(), resourceType: 'Patient' } as const;
      const { created, profile } = await inviteByCode(project, body, { store, caller });
      expect([created.profile, profile.resourceType]).toEqual([true, 'Patient']);
    },
  ],
  [
    '4.2 #3',
    'a membership links User, profile and policy',
    async ({ store, project, administrator: caller }) => {
      const policy = { reference: 'AccessPolicy/own-profile' };
      const body: InviteBody = { ...somebody(), resourceType: 'Practitioner', membership: { access: [{ policy }] } };
      const { user, profile, membership } = await inviteByCode(project, body, { store, caller });
      expect([membership.user.reference, membership.profile.reference, membership.access]).toEqual([
        `User/${user.id}`,
        `Practitioner/${profile.id}`,
        [{ policy }],
      ]);
    },
  ],
  [
    '4.2 #4',
    'an invitation e-mail is sent to the user, by SMTP',
    async ({ invite, box }) => {
      const body = { ...somebody(), sendEmail: 'true' };
      bodyOf(await invite(body));
      const { email, recipients } = box.arrived.at(-1)!;
      expect([recipients, email.subject]).toEqual([[body.email], 'Invitation to Riverside Clinic']);
      expect(email.text).toContain(`Hello ${body.firstName}`);
    },
  ],
  [
    '4.2 ¶1',
    'a Practitioner can be tried out before: dryRun, and sign-in shows the rights',
    async ({ store, project, administrator: caller }) => {
      const body = { ...somebody(), resourceType: 'Practitioner' } as const;
      const members = async (): Promise<number | undefined> =>
        (await searchMembers(project, '_summary=count', { store, caller })).total;
      const before = await members();
      const { created } = await inviteByCode(project, { ...body, dryRun: true }, { store, caller });
      expect([created, await members()]).toEqual([{ user: true, profile: true, membership: true }, before]);
      const { membership } = await inviteByCode(project, body, { store, caller });
      expect((await signIn(store, { membership: membership.id })).admin).toBe(false);
    },
  ],
  [
    '4.3 #1',
    'a Project is created by resourceType, name and strictMode; it comes back with its id',
    async ({ http, tokens }) => {
      const body = { resourceType: 'Project', name: 'Parkside Clinic', strictMode: true };
      const answer = await http('POST', '/fhir/R4/Project', { body, token: tokens.operator });
      expect([answer.status, answer.body]).toMatchObject([201, { ...body, id: expect.any(String) as string }]);
    },
  ],
  [
    '4.3 #2',
    'its first administrator is invited, and administers it',
    async ({ http, tokens, token }) => {
      const made = await http('POST', '/fhir/R4/Project', {
        body: { resourceType: 'Project', name: 'Bayside Clinic', strictMode: false },
        token: tokens.operator,
      });
      const { id } = bodyOf<Project>(made);
      const path = `/admin/projects/${id!}/invite`;
      const first = await http('POST', path, { body: { ...somebody(), admin: true }, token: tokens.operator });
      const { user } = bodyOf<ProjectMembership>(first);
      const next = await http('POST', path, { body: somebody(), token: await token(user.reference!, id) });
      expect(next.status).toBe(200);
    },
  ],
  [
    '4.3 ¶1',
    'only a ClientApplication with super admin privileges creates projects',
    async ({ http, administrator }) => {
      const body = { resourceType: 'Project', name: 'Nowhere' };
      expect(administrator.admin).toBe(true);
      expect((await http('POST', '/fhir/R4/Project', { body })).status).toBe(403);
    },
  ],
  [
    '4.3 ¶1',
    'such a client can be restricted by an access policy',
    async () => {
      const store = new MemoryStore();
      const { project, caller } = await initialize(store, { name: 'Operations' });
      const policy = await createRepository({ store, caller: systemCaller(project.id) }).create<AccessPolicy>({
        resourceType: 'AccessPolicy',
        name: 'Creates projects and invites',
        resource: [
          { resourceType: 'Project', interaction: ['create'] },
          { resourceType: 'ProjectMembership', interaction: ['create'] },
        ],
      });
      const { client } = await createClient(
        project.id,
        { name: 'Provisioning', accessPolicy: { reference: `AccessPolicy/${policy.id}` } },
        { store, caller },
      );
      const restricted = await signIn(store, { project: project.id, client: client.id });
      const clinic = await createProject({ resourceType: 'Project', name: 'Clinic' }, { store, caller: restricted });
      const body = { ...somebody(), resourceType: 'Practitioner', admin: true } as const;
      const { membership } = await inviteByCode(clinic.id, body, { store, caller: restricted });
      expect(membership.admin).toBe(true);
      await expect(removeMember(membership.id, { store, caller: restricted })).rejects.toMatchObject({
        code: 'forbidden',
      });
    },
  ],
  [
    '4.3 ¶2',
    'a registration form of the host has all it needs: a Project and its first administrator',
    async ({ http, tokens }) => {
      const form = { clinic: 'Hilltop Clinic', ...somebody() };
      const made = await http('POST', '/fhir/R4/Project', {
        body: { resourceType: 'Project', name: form.clinic },
        token: tokens.operator,
      });
      const { clinic: _, ...person } = form;
      const path = `/admin/projects/${bodyOf<Project>(made).id!}/invite`;
      const { admin } = bodyOf<ProjectMembership>(
        await http('POST', path, { body: { ...person, admin: true }, token: tokens.operator }),
      );
      expect(admin).toBe(true);
    },
  ],
  ...(
    [
      ['4.4 -1', 'all members', '', ['ClientApplication', 'Patient', 'Practitioner']],
      ['4.4 -2', 'all human members', '?profile-type:not=ClientApplication,Bot', ['Patient', 'Practitioner']],
      ['4.4 -3', 'the Patient members', '?profile-type=Patient', ['Patient']],
      ['4.4 -4', 'the Practitioner members', '?profile-type=Practitioner', ['Practitioner']],
    ] as const
  ).map(([item, text, search, types]): Items[number] => [
    item,
    text,
    async ({ store, http, tokens, token }) => {
      const made = await http('POST', '/fhir/R4/Project', {
        body: { resourceType: 'Project', name: `Clinic of ${item}` },
        token: tokens.operator,
      });
      const project = bodyOf<Project>(made).id!;
      const path = `/admin/projects/${project}/invite`;
      const first = { body: { ...somebody(), admin: true }, token: tokens.operator };
      const { user } = bodyOf<ProjectMembership>(await http('POST', path, first));
      const admin = await token(user.reference!, project);
      await http('POST', path, { body: somebody({ resourceType: 'Patient' }), token: admin });
      await createClient(project, { name: 'Feed' }, { store, caller: systemCaller(project) });
      const { entry = [], total } = bodyOf<{ entry?: { resource: ProjectMembership }[]; total: number }>(
        await http('GET', `/fhir/R4/ProjectMembership${search}`, { token: admin }),
      );
      expect(entry.map(({ resource }) => resource.profile.reference!.split('/')[0]).sort()).toEqual(types);
      expect(total).toBe(types.length);
    },
  ]),
  [
    '4.5 -1',
    'administrators invite, with a role and a policy',
    async ({ store, project, administrator: caller }) => {
      const accessPolicy = { reference: 'AccessPolicy/own-profile' };
      const body = { ...somebody(), resourceType: 'Practitioner', membership: { admin: true, accessPolicy } } as const;
      const { membership } = await inviteByCode(project, body, { store, caller });
      expect([membership.admin, membership.accessPolicy]).toEqual([true, accessPolicy]);
    },
  ],
  [
    '4.5 -2',
    'administrators remove members, who then cannot sign in',
    async ({ http, invite, token, project }) => {
      const { id, user } = bodyOf<ProjectMembership>(await invite(somebody()));
      await http('DELETE', `/admin/projects/${project}/members/${id!}`);
      const asked = { body: { query: '{ PatientList { id } }' }, token: await token(user.reference!) };
      expect((await http('POST', '/fhir/R4/$graphql', asked)).status).toBe(403);
    },
  ],
  [
    '4.5 -3',
    'ProjectMemberships are not edited directly',
    async ({ store, project, administrator: caller }) => {
      const body = { ...somebody(), resourceType: 'Practitioner' } as const;
      const { membership } = await inviteByCode(project, body, { store, caller });
      const edited = createRepository({ store, caller }).update({ ...membership, admin: true });
      await expect(edited).rejects.toMatchObject({ code: 'forbidden' });
    },
  ],
  [
    '5 #1',
    'every request to both endpoints needs its bearer token',
    async ({ http, project }) => {
      for (const token of [null, 'no.valid.token']) {
        const query = { body: { query: '{ PatientList { id } }' }, token };
        expect((await http('POST', '/fhir/R4/$graphql', query)).status).toBe(401);
        expect((await http('POST', `/admin/projects/${project}/invite`, { body: somebody(), token })).status).toBe(401);
      }
    },
  ],
  [
    '5 #2',
    'a ClientApplication has credentials, and its policy limits it',
    async ({ store, project, administrator: caller, token, query }) => {
      const access = [
        {
          policy: { reference: 'AccessPolicy/staff' },
          parameter: [{ name: 'organization', valueReference: { reference: 'Organization/south' } }],
        },
      ];
      const { client, secret } = await createClient(project, { name: 'Limited feed', access }, { store, caller });
      expect(await verifyClientSecret({ project, client: client.id, secret }, { store })).toBe(true);
      expect(await query('{ PatientList { id } }', await token(`ClientApplication/${client.id}`))).toEqual({
        PatientList: [{ id: 'eva' }],
      });
    },
  ],
  [
    '5 #3',
    'creating a Project needs a ClientApplication with super admin privileges',
    async ({ http, tokens }) => {
      const body = { resourceType: 'Project', name: 'Roadside Clinic' };
      expect((await http('POST', '/fhir/R4/Project', { body })).status).toBe(403);
      expect((await http('POST', '/fhir/R4/Project', { body, token: tokens.operator })).status).toBe(201);
    },
  ],
  [
    '5 #4',
    'inviting, listing and removing members is for administrators',
    async ({ http, invite, token, project }) => {
      const { id, user } = bodyOf<ProjectMembership>(await invite(somebody()));
      const member = await token(user.reference!);
      const statuses = [
        await invite(somebody(), member),
        await http('GET', '/fhir/R4/ProjectMembership', { token: member }),
        await http('DELETE', `/admin/projects/${project}/members/${id!}`, { token: member }),
      ].map(({ status }) => status);
      expect(statuses).toEqual([403, 403, 403]);
    },
  ],
  [
    '5 #5',
    'there is a User whatever way a person signs in, also one known to another identity provider only',
    async ({ store, project, administrator: caller }) => {
      const { email: _, ...person } = somebody();
      const body = { ...person, resourceType: 'Practitioner', externalId: `idp|${person.firstName}` } as const;
      const { user, membership } = await inviteByCode(project, body, { store, caller });
      expect([user.resourceType, membership.externalId]).toEqual(['User', body.externalId]);
      expect((await signIn(store, { project, user: user.id })).membership).toBe(membership.id);
    },
  ],
  [
    '7 ¶1',
    'a member whose profile was deleted cannot sign in',
    async (world) => {
      const { id, profile } = bodyOf<ProjectMembership>(await world.invite(somebody()));
      await lose(world, profile.reference!);
      await expect(signIn(world.store, { membership: id! })).rejects.toMatchObject({ code: 'profile-missing' });
    },
  ],
  [
    '8 ¶1',
    'the cost of FHIRPath is bounded, with an error that names the limit',
    async ({ http }) => {
      const path = Array.from({ length: 30 }, () => 'name.given').join(' | ');
      const fields = Array.from(
        { length: 90 },
        (_, n) => `n${n}: name(fhirpath: "(${path} | '${n}').exists()") { use }`,
      );
      const query = `{ Patient(id: "cleo") { ${fields.join(' ')} } }`;
      const { body } = await http('POST', '/fhir/R4/$graphql', { body: { query } });
      const [error] = (body as { errors: { extensions: object }[] }).errors;
      expect(error!.extensions).toMatchObject({ code: 'too-costly', details: { limit: 'fhirpathSteps' } });
    },
  ],
  [
    '9 ¶1',
    'the FHIR path names its version, the administrative path none',
    async ({ http, project }) => {
      const body = { query: '{ PatientList { id } }' };
      expect((await http('POST', '/fhir/R5/$graphql', { body })).status).toBe(404);
      expect((await http('POST', '/fhir/R4/$graphql', { body })).status).toBe(200);
      expect((await http('POST', `/admin/R4/projects/${project}/invite`, { body: somebody() })).status).toBe(404);
    },
  ],
];

/** A person of a given name, and the result of the invite. */
async function invited({ invite, http, store }: World): Promise<{
  readonly email: string;
  readonly user: User;
  readonly profile: Patient;
  readonly name: { readonly given?: readonly string[]; readonly family?: string };
}> {
  const { email } = somebody();
  const body = { resourceType: 'Patient', firstName: 'Given', lastName: 'Family', email, sendEmail: false };
  const membership = bodyOf<ProjectMembership>(await invite(body));
  const profile = bodyOf<Patient>(await http('GET', `/fhir/R4/${membership.profile.reference!}`));
  const caller = await signIn(store, { membership: membership.id! });
  const user = await createRepository({ store, caller }).read('User', membership.user.reference!.split('/')[1]!);
  expect([user.firstName, user.lastName]).toEqual(['Given', 'Family']);
  return { email, user, profile, name: profile.name![0]! };
}
