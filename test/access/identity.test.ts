import type { Project, ProjectMembership } from '@medplum/fhirtypes';
import { describe, expect, test } from 'vitest';
import {
  type AnyResource,
  type AuditRecord,
  executeFhirGraphql,
  listMemberships,
  type MemberCaller,
  MemoryStore,
  type ResourceStore,
  serverCaller,
  signIn,
  systemCaller,
  whoAmI,
} from '../../src/index.js';
import { SERVER_SCOPE } from '../../src/store.js';
import { codeOf, faultOf, overStores, repositoryOf, system } from '../repository/harness.js';
import { storeWith } from '../support/store-with.js';

const EXTERNAL = 'https://idp.example|ann';

/** A member of a project, through the guard, with its profile and User. */
async function enrol(
  store: ResourceStore,
  project: string,
  person: string,
  more: Partial<ProjectMembership> = {},
): Promise<string> {
  const trusted = repositoryOf(store, serverCaller(project));
  await trusted.update({ resourceType: 'User', id: person, firstName: 'First', lastName: person });
  await trusted.update({ resourceType: 'Practitioner', id: person });
  const id = `${project}-${person}`;
  await trusted.update({
    resourceType: 'ProjectMembership',
    id,
    project: { reference: `Project/${project}` },
    user: { reference: `User/${person}` },
    profile: { reference: `Practitioner/${person}`, display: `Dr. ${person}` },
    ...more,
  });
  return id;
}

overStores('an external id', (open) => {
  test('names exactly the member of a project', async () => {
    const store = open();
    await system(store);
    await enrol(store, 'clinic', 'ann', { externalId: EXTERNAL });
    await enrol(store, 'clinic', 'bob', { externalId: 'bob' });
    const caller = await signIn(store, { project: 'Project/clinic', externalId: EXTERNAL });
    expect(caller).toMatchObject({ project: 'clinic', membership: 'clinic-ann', user: 'User/ann' });
    for (const externalId of ['BOB', 'bo', 'bob ', 'ann', '*']) {
      const fault = await faultOf(signIn(store, { project: 'clinic', externalId }));
      expect([fault.code, fault.message]).toEqual(['membership-missing', 'No such member in Project/clinic']);
    }
  });

  test('alone names the member of the only project', async () => {
    const store = open();
    await system(store);
    await system(store, 'other');
    await enrol(store, 'other', 'bob', { externalId: 'bob' });
    await enrol(store, 'clinic', 'ann', { externalId: EXTERNAL });
    expect(await signIn(store, { externalId: EXTERNAL })).toMatchObject({
      project: 'clinic',
      membership: 'clinic-ann',
    });
    const fault = await faultOf(signIn(store, { externalId: 'nobody' }));
    expect([fault.code, fault.message]).toEqual(['membership-missing', 'No such member in any project']);
  });

  test('alone is refused if several projects fit, without naming them', async () => {
    const store = open();
    await system(store);
    await system(store, 'other');
    await enrol(store, 'clinic', 'ann', { externalId: EXTERNAL });
    await enrol(store, 'other', 'ann', { externalId: EXTERNAL });
    const fault = await faultOf(signIn(store, { externalId: EXTERNAL }));
    expect([fault.code, fault.message, fault.details]).toEqual([
      'membership-ambiguous',
      'The person has several memberships; name the project, or one of those that listMemberships finds',
      undefined,
    ]);
    expect(JSON.stringify([fault.message, fault.outcome])).not.toMatch(/clinic|other|ann/);
    // Those that cannot be used do not count.
    const trusted = repositoryOf(store, serverCaller('other'));
    const membership = await trusted.read('ProjectMembership', 'other-ann');
    await trusted.update({ ...membership, active: false });
    expect(await signIn(store, { externalId: EXTERNAL })).toMatchObject({ membership: 'clinic-ann' });
    await trusted.update(membership);
    const project = await trusted.read('Project', 'clinic');
    await trusted.update({ ...project, active: false });
    expect(await signIn(store, { externalId: EXTERNAL })).toMatchObject({ membership: 'other-ann' });
    await trusted.update({ ...membership, active: false });
    // The error of the first sign-in.
    expect(await codeOf(signIn(store, { externalId: EXTERNAL }))).toMatch(/^(membership-inactive|project-missing)$/);
  });

  test('follows the membership: a removed id names nobody, and a reassigned id names the new member', async () => {
    const store = open();
    await system(store);
    await enrol(store, 'clinic', 'ann', { externalId: EXTERNAL });
    await enrol(store, 'clinic', 'ann');
    expect(await codeOf(signIn(store, { externalId: EXTERNAL }))).toBe('membership-missing');
    await enrol(store, 'clinic', 'bob', { externalId: EXTERNAL });
    expect(await signIn(store, { externalId: EXTERNAL })).toMatchObject({ user: 'User/bob' });
    await repositoryOf(store, serverCaller('clinic')).delete('ProjectMembership', 'clinic-bob');
    expect(await codeOf(signIn(store, { externalId: EXTERNAL }))).toBe('membership-missing');
  });

  test.each([
    ['unauthenticated', { externalId: undefined }],
    ['unauthenticated', { externalId: null }],
    ['unauthenticated', { externalId: '' }],
    ['unauthenticated', { project: 'clinic' }],
    ['unauthenticated', { project: undefined, externalId: EXTERNAL }],
    ['unauthenticated', { project: 'clinic', externalId: '' }],
    ['invalid', { externalId: 7 }],
    ['invalid', { project: 'clinic', externalId: { reference: EXTERNAL } }],
  ])('is %s as %j', async (code, identity) => {
    const store = open();
    await system(store);
    await enrol(store, 'clinic', 'ann', { externalId: EXTERNAL });
    expect(await codeOf(signIn(store, identity as never))).toBe(code);
  });
});

overStores('the memberships of a person', (open) => {
  test('are listed over all projects, by User or external id, in the order of their names', async () => {
    const store = open();
    for (const project of ['north', 'south', 'west']) await system(store, project);
    await enrol(store, 'south', 'ann', { externalId: EXTERNAL, admin: true });
    await enrol(store, 'north', 'ann', { externalId: EXTERNAL });
    await enrol(store, 'north', 'bob', { externalId: 'bob' });
    await enrol(store, 'west', 'ann', { externalId: EXTERNAL, active: false });
    const expected = [
      {
        membership: 'ProjectMembership/north-ann',
        project: 'Project/north',
        projectName: 'north',
        profile: 'Practitioner/ann',
        profileName: 'Dr. ann',
        admin: false,
      },
      expect.objectContaining({ membership: 'ProjectMembership/south-ann', projectName: 'south', admin: true }),
    ];
    expect(await listMemberships({ externalId: EXTERNAL }, { store })).toEqual(expected);
    expect(await listMemberships({ user: 'User/ann' }, { store })).toEqual(expected);
    expect(await listMemberships({ user: 'nobody' }, { store })).toEqual([]);
    for (const { membership } of await listMemberships({ user: 'ann' }, { store })) {
      expect(await signIn(store, { membership })).toMatchObject({ user: 'User/ann' });
    }
    expect(await codeOf(listMemberships({ externalId: '' }, { store }))).toBe('unauthenticated');
    expect(await codeOf(listMemberships(undefined as never, { store }))).toBe('unauthenticated');
    expect(await codeOf(listMemberships({ user: 'Patient/1' }, { store }))).toBe('invalid');
  });

  test('are found if the directory was written by an older version, without identities', async () => {
    const store = open();
    await system(store, 'north');
    await system(store, 'south');
    await enrol(store, 'north', 'ann', { externalId: EXTERNAL });
    await enrol(store, 'south', 'bob', { externalId: 'bob' });
    const key = { project: SERVER_SCOPE, type: 'ProjectMembership', id: 'north-ann' };
    const resource: AnyResource = { resourceType: 'ProjectMembership', id: 'north-ann' };
    await store.commit([
      { kind: 'put', key, resource: { ...resource, project: { reference: 'Project/north' } } as never },
    ]);
    expect(await signIn(store, { externalId: EXTERNAL })).toMatchObject({ membership: 'north-ann' });
    // The next write of the membership completes the entry, and one search suffices.
    await enrol(store, 'north', 'ann', { externalId: EXTERNAL });
    const searched: string[] = [];
    const counted = storeWith(store, {
      search(query, options) {
        searched.push(`${query.project}/${query.type}`);
        return store.search(query, options);
      },
      accessEpoch: (options) => store.accessEpoch!(options),
      readsAreCurrent: true,
    });
    for (let time = 0; time < 3; time += 1) await listMemberships({ user: 'ann' }, { store: counted });
    // The first time, it also searches for entries that name nobody.
    expect(searched).toEqual(Array.from({ length: 4 }, () => '/ProjectMembership'));
  });
});

async function annAt(store: ResourceStore, more: Partial<ProjectMembership> = {}): Promise<MemberCaller> {
  await system(store);
  const secrets = { secret: [{ name: 'key', valueString: 'hidden' }], setting: [{ name: 'shown', valueString: 'x' }] };
  const project = { resourceType: 'Project', id: 'clinic', name: 'Clinic', description: 'Riverside', ...secrets };
  await repositoryOf(store, serverCaller()).update(project as Project);
  const policy = { resourceType: 'AccessPolicy', id: 'none', resource: [{ resourceType: 'Observation' }] } as const;
  await repositoryOf(store, serverCaller('clinic')).update({ ...policy, resource: [...policy.resource] });
  await enrol(store, 'clinic', 'bob');
  const access = [{ policy: { reference: 'AccessPolicy/none' } }];
  return signIn(store, { membership: await enrol(store, 'clinic', 'ann', { access, externalId: 'a', ...more }) });
}

overStores('a member', (open) => {
  test('reads its own User, membership and project, and no others', async () => {
    const store = open();
    const caller = await annAt(store);
    const mine = repositoryOf(store, caller);
    expect(await mine.read('ProjectMembership', 'clinic-ann')).toEqual({
      resourceType: 'ProjectMembership',
      id: 'clinic-ann',
      meta: expect.anything() as unknown,
      project: { reference: 'Project/clinic' },
      user: { reference: 'User/ann' },
      profile: { reference: 'Practitioner/ann', display: 'Dr. ann' },
      externalId: 'a',
    });
    expect(await mine.read('Project', 'clinic')).toEqual({
      resourceType: 'Project',
      id: 'clinic',
      meta: expect.anything() as unknown,
      name: 'Clinic',
      description: 'Riverside',
    });
    expect(await codeOf(mine.read('ProjectMembership', 'clinic-bob'))).toBe('not-found');
    expect(await codeOf(mine.read('User', 'bob'))).toBe('not-found');
    expect((await mine.search('ProjectMembership', 'access-policy=AccessPolicy/none&_total=accurate')).total).toBe(0);
    expect((await mine.search('ProjectMembership', '_total=accurate')).total).toBe(1);
    for (const write of [{ name: 'Mine' }, { description: 'x' }]) {
      expect(await codeOf(mine.update({ ...(await mine.read('Project', 'clinic')), ...write }))).toBe('forbidden');
    }
    const query =
      '{ Project(id: "clinic") { name } ProjectMembershipList { admin user { resource { ... on User { lastName } } } } }';
    const { data } = await executeFhirGraphql(query, { store, caller });
    expect(data).toEqual({
      Project: { name: 'Clinic' },
      ProjectMembershipList: [{ admin: null, user: { resource: { lastName: 'ann' } } }],
    });
  });

  test('of an administrator sees settings, and never secrets', async () => {
    const store = open();
    const caller = await annAt(store, { admin: true });
    const { project, membership } = await whoAmI(caller, { store });
    expect(project).toMatchObject({ setting: [{ name: 'shown', valueString: 'x' }] });
    expect(project).not.toHaveProperty('secret');
    expect(membership).toMatchObject({ admin: true, access: [{ policy: { reference: 'AccessPolicy/none' } }] });
    const mine = repositoryOf(store, caller);
    expect(await mine.update({ ...(await mine.read('Project', 'clinic')), name: 'Renamed' })).toMatchObject({
      name: 'Renamed',
    });
  });

  test('finds out who it is', async () => {
    const store = open();
    const caller = await annAt(store);
    const found = await whoAmI(caller, { store });
    expect(found).toMatchObject({
      membership: { id: 'clinic-ann', profile: { display: 'Dr. ann' } },
      project: { id: 'clinic', name: 'Clinic' },
      user: { id: 'ann', lastName: 'ann' },
    });
    // The policy shows no Practitioner.
    expect(found.profile).toBeUndefined();
    expect(found.membership.meta).not.toHaveProperty('project');
    expect((await whoAmI(caller, { store, extendedMeta: true })).membership.meta).toHaveProperty('project');
    await repositoryOf(store, serverCaller('clinic')).update({
      resourceType: 'AccessPolicy',
      id: 'none',
      resource: [{ resourceType: 'Practitioner', hiddenFields: ['name'] }],
    });
    const again = await signIn(store, { membership: 'clinic-ann' });
    expect((await whoAmI(again, { store })).profile).toMatchObject({ resourceType: 'Practitioner', id: 'ann' });
    await repositoryOf(store, serverCaller('clinic')).delete('ProjectMembership', 'clinic-ann');
    expect(await codeOf(whoAmI(caller, { store }))).toBe('membership-missing');
  });
});

describe('who am I', () => {
  test('is answered to members only', async () => {
    const store = new MemoryStore();
    const fault = await faultOf(whoAmI(systemCaller('clinic'), { store }));
    expect([fault.code, fault.message]).toEqual(['invalid', 'Trusted code has no membership; sign in as a member']);
    expect(await codeOf(whoAmI(serverCaller(), { store }))).toBe('invalid');
    expect(await codeOf(whoAmI(undefined as never, { store }))).toBe('unauthenticated');
  });

  test('is one read with the signal of the call, and its record has the shown resources', async () => {
    const store = new MemoryStore();
    const caller = await annAt(store);
    const given: unknown[] = [];
    const seen = storeWith(store, {
      read(keys, options) {
        given.push(options?.signal);
        return store.read(keys, options);
      },
    });
    const { signal } = new AbortController();
    const records: AuditRecord[] = [];
    await whoAmI(caller, { store: seen, signal, audit: (record: AuditRecord) => void records.push(record) });
    expect(given).toEqual([signal]);
    // The policy shows no Practitioner.
    expect(records).toMatchObject([
      {
        interaction: 'who-am-i',
        returned: { total: 3, resources: [{ id: 'clinic-ann' }, { id: 'clinic' }, { id: 'ann' }] },
      },
    ]);
  });

  test('names the missing resource', async () => {
    const store = new MemoryStore();
    const caller = await annAt(store);
    const remove = (project: string, type: string, id: string): Promise<unknown> =>
      store.commit([{ kind: 'delete', key: { project, type, id } }]);
    const messageOf = async (): Promise<string> => {
      const { code, message } = await faultOf(whoAmI(caller, { store }));
      return `${code}: ${message}`;
    };
    await remove(SERVER_SCOPE, 'User', 'ann');
    expect((await whoAmI(caller, { store })).user).toBeUndefined();
    await remove(SERVER_SCOPE, 'Project', 'clinic');
    expect(await messageOf()).toBe('project-missing: Project/clinic does not exist');
    await remove('clinic', 'ProjectMembership', 'clinic-ann');
    expect(await messageOf()).toBe('membership-missing: ProjectMembership/clinic-ann was not found');
  });

  test('has no User for a client', async () => {
    const store = new MemoryStore();
    await system(store);
    const trusted = repositoryOf(store, serverCaller('clinic'));
    await trusted.update({ resourceType: 'ClientApplication', id: 'feed', name: 'Feed', secret: 'hidden' });
    await trusted.update({
      resourceType: 'ProjectMembership',
      id: 'feed',
      project: { reference: 'Project/clinic' },
      user: { reference: 'ClientApplication/feed' },
      profile: { reference: 'ClientApplication/feed' },
    });
    const { user, profile } = await whoAmI(await signIn(store, { membership: 'feed' }), { store });
    expect([user, profile?.resourceType]).toEqual([undefined, 'ClientApplication']);
    expect(profile).not.toHaveProperty('secret');
  });
});
