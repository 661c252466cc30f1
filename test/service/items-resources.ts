import type { Bundle, Practitioner, Project, ProjectMembership, User } from '@medplum/fhirtypes';
import { createBot, createClient, createRepository, invite, signIn, systemCaller } from 'fhirgraph';
import { expect } from 'vitest';
import { bodyOf, type Items, somebody } from './item.js';
import type { World } from './world.js';

/** Sections 1 and 2: the tasks of the service, its resources and their fields. */
export const RESOURCES: Items = [
  [
    '1 ¶1',
    'stores FHIR R4 resources and serves them over HTTP',
    async ({ http }) => {
      const made = await http('POST', '/fhir/R4/Patient', {
        body: { resourceType: 'Patient', birthDate: '1980-01-02' },
      });
      const { id } = bodyOf<{ id: string }>(made);
      const read = await http('GET', `/fhir/R4/Patient/${id}`);
      expect([made.status, read.status, read.body]).toMatchObject([201, 200, { birthDate: '1980-01-02' }]);
    },
  ],
  [
    '1 -1',
    'one request fetches several linked resources, of each the elements asked for',
    async ({ query }) => {
      const asked = '{ Encounter(id: "visit") { status subject { resource { ... on Patient { id } } } } }';
      expect(await query(asked)).toEqual({
        Encounter: { status: 'finished', subject: { resource: { id: 'cleo' } } },
      });
    },
  ],
  [
    '1 -2',
    'reads, searches, references, reverse references and filters, all in one query',
    async ({ query }) => {
      const data = await query(`{
        Patient(id: "cleo") {
          name(use: "official") { family }
          ObservationList(_reference: subject, _sort: "_id", _count: 1) { encounter { resource { ... on Encounter { id } } } }
        }
        PatientList(address_city: "Springfield", _sort: "_id") { id }
      }`);
      expect(data).toEqual({
        Patient: { name: [{ family: 'Brook' }], ObservationList: [{ encounter: { resource: { id: 'visit' } } }] },
        PatientList: [{ id: 'cleo' }, { id: 'eva' }],
      });
    },
  ],
  [
    '1 -3',
    'a membership joins a User to a Project through a profile and, if wanted, a policy',
    async ({ store, project, administrator }) => {
      const access = [{ policy: { reference: 'AccessPolicy/own-profile' } }];
      const body = { ...somebody(), resourceType: 'Practitioner', membership: { access } } as const;
      const { membership, user, profile } = await invite(project, body, { store, caller: administrator });
      expect(membership).toMatchObject({
        project: { reference: `Project/${project}` },
        user: { reference: `User/${user.id}` },
        profile: { reference: `Practitioner/${profile.id}` },
        access,
      });
      const caller = await signIn(store, { project, user: user.id });
      expect([caller.project, caller.profile]).toEqual([project, `Practitioner/${profile.id}`]);
    },
  ],
  [
    '1 -4',
    'administrators create projects, invite, remove and search members through the API',
    async ({ http, invite, project, tokens }) => {
      const made = await http('POST', '/fhir/R4/Project', {
        body: { resourceType: 'Project', name: 'Hillside Clinic' },
        token: tokens.operator,
      });
      expect(made.status).toBe(201);
      const { id } = bodyOf<ProjectMembership>(await invite({ ...somebody(), sendEmail: false }));
      const search = `/fhir/R4/ProjectMembership?_id=${id!}`;
      expect((await http('GET', search)).body).toMatchObject({ total: 1 });
      expect((await http('DELETE', `/admin/projects/${project}/members/${id!}`)).status).toBeLessThan(300);
      expect((await http('GET', search)).body).toMatchObject({ total: 0 });
    },
  ],
  [
    '2.1 User',
    'a User is above the projects and can join several',
    async (world) => {
      const { user, memberships } = await inTwoProjects(world);
      const callers = await Promise.all(memberships.map((one) => signIn(world.store, { membership: one.id! })));
      expect(callers.map((caller) => caller.user)).toEqual([`User/${user.id!}`, `User/${user.id!}`]);
      expect(new Set(callers.map(({ project }) => project)).size).toBe(2);
      expect(user.project).toBeUndefined();
    },
  ],
  [
    '2.1 User',
    'a User changes itself; a project administrator cannot',
    async ({ store, project, administrator }) => {
      const body = { ...somebody(), resourceType: 'Practitioner' } as const;
      const { user } = await invite(project, body, { store, caller: administrator });
      const caller = await signIn(store, { project, user: user.id });
      const own = createRepository({ store, caller });
      const changed = { ...(await own.read('User', user.id)), firstName: 'Renamed' };
      await expect(createRepository({ store, caller: administrator }).update(changed)).rejects.toMatchObject({
        code: 'forbidden',
      });
      expect(await own.update(changed)).toMatchObject({ firstName: 'Renamed' });
    },
  ],
  [
    '2.1 User',
    'an unknown User is made by the invite',
    async ({ store, project, administrator }) => {
      const body = { ...somebody(), resourceType: 'Practitioner' } as const;
      const { user, created } = await invite(project, body, { store, caller: administrator });
      expect([created.user, user.firstName, user.lastName, user.email]).toEqual([
        true,
        body.firstName,
        'Test',
        body.email,
      ]);
    },
  ],
  [
    '2.1 Project',
    'a Project is an isolated set of resources',
    async (world) => {
      const { store, memberships } = await inTwoProjects(world);
      const seen = memberships.map(async (one) => {
        const { entry = [] } = await createRepository({
          store,
          caller: await signIn(store, { membership: one.id! }),
        }).search('Patient', '_id=cleo');
        return entry.length;
      });
      expect(await Promise.all(seen)).toEqual([1, 0]);
    },
  ],
  [
    '2.1 Project',
    'it has a name and strictMode',
    async ({ http, project }) => {
      const { name, strictMode } = bodyOf<Project>(await http('GET', `/fhir/R4/Project/${project}`));
      expect([name, strictMode]).toEqual(['Riverside Clinic', true]);
      const invalid = { body: { resourceType: 'Observation', status: 'final' } };
      expect((await http('POST', '/fhir/R4/Observation', invalid)).status).toBe(422);
    },
  ],
  [
    '2.1 ProjectMembership',
    'it is made by the invite, and grants access; its elements are profile, admin and access',
    async ({ invite, token, query }) => {
      const access = [
        {
          policy: { reference: 'AccessPolicy/staff' },
          parameter: [{ name: 'organization', valueReference: { reference: 'Organization/south' } }],
        },
      ];
      const membership = bodyOf<ProjectMembership>(
        await invite({ ...somebody(), membership: { admin: false, access } }),
      );
      expect(membership).toMatchObject({
        resourceType: 'ProjectMembership',
        profile: { reference: expect.stringMatching(/^Practitioner\//) as string },
        admin: false,
        access,
      });
      expect(await query('{ PatientList { id } }', await token(membership.user.reference!))).toEqual({
        PatientList: [{ id: 'eva' }],
      });
    },
  ],
  [
    '2.1 ProjectMembership',
    'it is not edited directly',
    async ({ http, invite }) => {
      const membership = bodyOf<ProjectMembership>(await invite(somebody()));
      const path = `/fhir/R4/ProjectMembership/${membership.id!}`;
      expect((await http('PUT', path, { body: { ...membership, admin: true } })).status).toBe(403);
      expect((await http('DELETE', path)).status).toBe(403);
    },
  ],
  [
    '2.2 Patient',
    'gives a person access to its own records',
    async ({ invite, token, query }) => {
      const body = { ...somebody({ resourceType: 'Patient' }), membership: { profile: 'Patient/cleo' } };
      const { user } = bodyOf<ProjectMembership>(await invite(body));
      const seen = await query(
        '{ PatientList { id } ObservationList(_sort: "_id") { id } }',
        await token(user.reference!),
      );
      expect(seen).toEqual({ PatientList: [{ id: 'cleo' }], ObservationList: [{ id: 'glucose' }, { id: 'sodium' }] });
    },
  ],
  [
    '2.2 Practitioner',
    'staff sees the data of several patients',
    async ({ invite, token, query }) => {
      const { user } = bodyOf<ProjectMembership>(await invite(somebody()));
      const { PatientList } = await query('{ PatientList(_id: "cleo,eva,fay") { id } }', await token(user.reference!));
      expect(PatientList).toEqual([{ id: 'cleo' }, { id: 'eva' }, { id: 'fay' }]);
    },
  ],
  [
    '2.2 RelatedPerson',
    'a caregiver sees the records of its patient',
    async ({ invite, token, query }) => {
      const body = { ...somebody({ resourceType: 'RelatedPerson' }), patient: { reference: 'Patient/eva' } };
      const { user, profile } = bodyOf<ProjectMembership>(await invite(body));
      expect(profile.reference).toMatch(/^RelatedPerson\//);
      expect(await query('{ PatientList { id } }', await token(user.reference!))).toEqual({
        PatientList: [{ id: 'eva' }],
      });
    },
  ],
  [
    '2.2 ClientApplication',
    'a program with credentials of its own',
    async ({ store, project, administrator, token, query }) => {
      const { client, secret } = await createClient(project, { name: 'Feed' }, { store, caller: administrator });
      expect(secret.length).toBeGreaterThan(20);
      const seen = await query('{ Patient(id: "fay") { gender } }', await token(`ClientApplication/${client.id}`));
      expect(seen).toEqual({ Patient: { gender: 'female' } });
    },
  ],
  [
    '2.2 Bot',
    'a function that is a member',
    async ({ store, project, administrator }) => {
      const { bot, membership } = await createBot(project, { name: 'Reminder' }, { store, caller: administrator });
      const caller = await signIn(store, { project, client: `Bot/${bot.id}` });
      expect([caller.membership, caller.profile]).toEqual([membership.id, `Bot/${bot.id}`]);
      expect(await createRepository({ store, caller }).read('Patient', 'fay')).toMatchObject({ gender: 'female' });
    },
  ],
  [
    '2.2 #1',
    'each member has one profile in a project',
    async (world) => {
      const { memberships } = await inTwoProjects(world);
      const profiles = memberships.map(({ profile }) => profile.reference);
      expect(new Set(profiles).size).toBe(2);
      for (const profile of profiles) expect(profile).toMatch(/^Practitioner\//);
    },
  ],
  [
    '2.2 #2',
    'policies refer to the profile of the current user',
    async ({ store, project, invite, token, query }) => {
      const access = [{ policy: { reference: 'AccessPolicy/own-profile' } }];
      const { user, profile } = bodyOf<ProjectMembership>(await invite({ ...somebody(), membership: { access } }));
      await createRepository({ store, caller: systemCaller(project) }).update({
        resourceType: 'Patient',
        id: 'of-mine',
        generalPractitioner: [{ reference: profile.reference! }],
      });
      const asked = '{ PatientList { id } PractitionerList { id } }';
      expect(await query(asked, await token(user.reference!))).toEqual({
        PatientList: [{ id: 'of-mine' }],
        PractitionerList: [{ id: profile.reference!.split('/')[1] }],
      });
    },
  ],
  [
    '2.2 #3',
    'the profile of a member is not to be deleted; where it is gone, the login does not work',
    async (world) => {
      const { http, invite, token } = world;
      const { user, profile } = bodyOf<ProjectMembership>(await invite(somebody()));
      expect((await http('DELETE', `/fhir/R4/${profile.reference!}`)).status).toBe(409);
      await lose(world, profile.reference!);
      const body = { query: '{ PatientList { id } }' };
      const answer = await http('POST', '/fhir/R4/$graphql', { body, token: await token(user.reference!) });
      expect(answer.status).toBe(403);
    },
  ],
  [
    '2.2 #4',
    'removing a membership leaves the profile, so that the membership can be made again',
    async ({ http, invite, project }) => {
      const body = somebody();
      const { id, profile } = bodyOf<ProjectMembership>(await invite(body));
      await http('DELETE', `/admin/projects/${project}/members/${id!}`);
      expect(bodyOf<Practitioner>(await http('GET', `/fhir/R4/${profile.reference!}`)).name![0]!.family).toBe('Test');
      expect(bodyOf<ProjectMembership>(await invite(body)).profile.reference).toBe(profile.reference);
    },
  ],
  [
    '2.3 policy',
    'an item of access names an AccessPolicy',
    async ({ invite, token, query }) => {
      const access = [{ policy: { reference: 'AccessPolicy/own-profile' } }];
      const { user } = bodyOf<ProjectMembership>(await invite({ ...somebody(), membership: { access } }));
      expect(await query('{ OrganizationList { id } }', await token(user.reference!))).toEqual({
        OrganizationList: [],
      });
    },
  ],
  [
    '2.3 parameter',
    'and gives values to its parameters',
    async (world) => expect(await patientsOfStaff(world, 'north')).toEqual([{ id: 'cleo' }]),
  ],
  [
    '2.3 ¶1',
    'the same policy several times, each with other values',
    async (world) => expect(await patientsOfStaff(world, 'north', 'south')).toEqual([{ id: 'cleo' }, { id: 'eva' }]),
  ],
  [
    '2.4 profile-type',
    'narrows a search of members by type of profile; takes :not and lists',
    async ({ http, project, store, administrator }) => {
      await createClient(project, { name: 'Another feed' }, { store, caller: administrator });
      const types = async (search: string): Promise<unknown> => {
        const { entry = [] } = bodyOf<Bundle>(await http('GET', `/fhir/R4/ProjectMembership?${search}`));
        const members = entry.flatMap(({ resource }) =>
          resource!.resourceType === 'ProjectMembership' ? [resource] : [],
        );
        return [...new Set(members.map(({ profile }) => profile.reference!.split('/')[0]))].sort();
      };
      expect(await types('profile-type=Practitioner')).toEqual(['Practitioner']);
      expect(await types('profile-type=ClientApplication')).toEqual(['ClientApplication']);
      expect(await types('profile-type=Practitioner,ClientApplication')).toEqual(['ClientApplication', 'Practitioner']);
      expect(await types('profile-type:not=ClientApplication,Bot')).not.toContain('ClientApplication');
    },
  ],
];

/** A member of the clinic and of a new project. */
async function inTwoProjects({
  store,
  project,
  administrator,
  tokens,
  http,
}: World): Promise<{ store: World['store']; user: User; memberships: readonly ProjectMembership[] }> {
  const made = await http('POST', '/fhir/R4/Project', {
    body: { resourceType: 'Project', name: 'Lakeside Clinic' },
    token: tokens.operator,
  });
  const body = { ...somebody(), resourceType: 'Practitioner' } as const;
  const first = await invite(project, body, { store, caller: administrator });
  const second = await http('POST', `/admin/projects/${bodyOf<Project>(made).id!}/invite`, {
    body,
    token: tokens.operator,
  });
  return { store, user: first.user, memberships: [first.membership, bodyOf(second)] };
}

/** The resources that staff of these organizations sees. */
async function patientsOfStaff({ invite, token, query }: World, ...organizations: readonly string[]): Promise<unknown> {
  const access = organizations.map((id) => ({
    policy: { reference: 'AccessPolicy/staff' },
    parameter: [{ name: 'organization', valueReference: { reference: `Organization/${id}` } }],
  }));
  const { user, ...membership } = bodyOf<ProjectMembership>(await invite({ ...somebody(), membership: { access } }));
  expect(membership.access).toEqual(access);
  return (await query('{ PatientList(_sort: "_id") { id } }', await token(user.reference!)))['PatientList'];
}

/** Deletes a resource directly in the store, as in a damaged database. */
export async function lose({ store, project }: World, reference: string): Promise<void> {
  const [type, id] = reference.split('/') as [string, string];
  await store.commit([{ kind: 'delete', key: { project, type, id } }]);
}
