import { expect, test } from 'vitest';
import {
  type AuditRecord,
  createBot,
  createProject,
  createRepository,
  executeFhirGraphql,
  importBundle,
  importNdjson,
  invite,
  type ResourceStore,
  searchMembers,
  serverCaller,
  systemCaller,
  toAuditEvent,
  updateBot,
  updateMember,
} from '../../src/index.js';
import { codeOf, overStores } from '../repository/harness.js';

/** Two projects, each with a member: Ann in the north, Bob in the south. */
async function world(store: ResourceStore): Promise<{
  readonly north: string;
  readonly south: string;
  readonly ann: string;
  readonly bob: string;
  readonly bobsMembership: string;
}> {
  const above = { store, caller: serverCaller() };
  const [north, south] = [
    (await createProject({ resourceType: 'Project', name: 'North' }, above)).id,
    (await createProject({ resourceType: 'Project', name: 'South' }, above)).id,
  ];
  const person = (firstName: string): Parameters<typeof invite>[1] => ({
    resourceType: 'Practitioner',
    firstName,
    lastName: 'Lee',
    email: `${firstName}@example.org`,
  });
  const { user: ann } = await invite(north, person('ann'), { store, caller: systemCaller(north) });
  const { user: bob, membership } = await invite(south, person('bob'), above);
  return { north, south, ann: ann.id, bob: bob.id, bobsMembership: membership.id };
}

async function aboveProjects(store: ResourceStore): Promise<string> {
  const found = await Promise.all(
    ['Project', 'User'].map((type) => store.search({ project: '', type, criteria: { kind: 'all' } })),
  );
  return JSON.stringify(found.map(({ matches }) => matches));
}

overStores('the trusted code of a project', (open) => {
  test('changes nothing above its project, on any path', async () => {
    const store = open();
    const { north, south, ann, bob } = await world(store);
    const caller = systemCaller(north);
    const repository = createRepository({ store, caller });
    const user = await repository.read('User', ann);
    const project = await repository.read('Project', north);
    const other = { resourceType: 'Project', id: south, name: 'Taken' } as const;
    const bundle = (resource: object, url: string): never =>
      ({
        resourceType: 'Bundle',
        type: 'transaction',
        entry: [{ resource, request: { method: 'PUT', url } }],
      }) as never;
    const before = await aboveProjects(store);
    const attempts: readonly (() => Promise<unknown>)[] = [
      () => importBundle(bundle({ ...project, superAdmin: true }, `Project/${north}`), { store, caller }),
      () => importBundle(bundle({ ...user, email: 'eve@example.org' }, `User/${ann}`), { store, caller }),
      () => importBundle(bundle(other, `Project/${south}`), { store, caller }),
      () => repository.update({ ...project, superAdmin: true }),
      () => repository.update({ ...project, strictMode: false }),
      () => repository.update(other),
      () => repository.update({ ...user, firstName: 'Eve' }),
      () => repository.update({ ...user, id: bob }),
      () => repository.create({ resourceType: 'User', firstName: 'New', lastName: 'User' }),
      () => repository.create({ resourceType: 'Project', name: 'New' }),
      () => repository.patch('Project', north, [{ op: 'add', path: '/superAdmin', value: true }]),
      () => repository.patch('Project', north, [{ op: 'add', path: '/systemSecret', value: [{ name: 'key', valueString: 'x' }] }]), // prettier-ignore
      () => repository.delete('Project', north),
      () => repository.delete('Project', south),
      () => repository.delete('User', ann),
      () => createProject({ resourceType: 'Project', name: 'New' }, { store, caller }),
      () => searchMembers(south, '', { store, caller }),
    ];
    for (const attempt of attempts) expect(await codeOf(attempt()), String(attempt)).toBe('forbidden');
    const lines = [project, user].map((one) => `${JSON.stringify({ ...one, superAdmin: true, admin: true })}\n`);
    await importNdjson(lines, { store, caller }).catch(() => undefined);
    const mutation = `mutation { UserDelete(id: "${ann}") { id } }`;
    expect((await executeFhirGraphql(mutation, { store, caller })).errors).toHaveLength(1);
    expect(await aboveProjects(store)).toBe(before);
  });

  test('creates and changes no system Bot, and restores no Project that the operator deleted', async () => {
    const store = open();
    const { north } = await world(store);
    const [own, above] = [systemCaller(north), serverCaller(north)].map((caller) => ({ store, caller })) as [
      { readonly store: ResourceStore; readonly caller: ReturnType<typeof systemCaller> },
      { readonly store: ResourceStore; readonly caller: ReturnType<typeof serverCaller> },
    ];
    const repository = createRepository(own);
    const { bot } = await createBot(north, { name: 'Root', system: true }, above);
    const root = await repository.read('Bot', bot.id);
    const project = await repository.read('Project', north);
    const put = (resource: { readonly resourceType: string; readonly id?: string }): never =>
      ({
        resourceType: 'Bundle',
        type: 'transaction',
        entry: [{ resource, request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` } }],
      }) as never;
    const attempts: readonly (() => Promise<unknown>)[] = [
      () => createBot(north, { name: 'New', system: true }, own),
      () => updateBot({ project: north, bot: bot.id }, { code: 'steal()' }, own),
      () => repository.create({ resourceType: 'Bot', name: 'New', system: true }),
      () => repository.update({ ...root, code: 'steal()' }),
      () => repository.update({ ...root, system: false }),
      () => importBundle(put({ ...root, code: 'steal()' } as never), own),
      () => importBundle(put({ resourceType: 'Bot', id: 'new', name: 'New', system: true } as never), own),
    ];
    for (const attempt of attempts) expect(await codeOf(attempt()), String(attempt)).toBe('forbidden');
    expect(await repository.read('Bot', bot.id)).toEqual(root);
    expect(await repository.create({ resourceType: 'Bot', name: 'Plain', code: 'work()' })).toHaveProperty('code');
    await createRepository(above).delete('Project', north);
    expect(await codeOf(repository.update(project))).toBe('forbidden');
    expect(await codeOf(importBundle(put(project as never), own))).toBe('forbidden');
  });

  test('reads its own Project and the Users of its members, and no others', async () => {
    const store = open();
    const { north, south, ann, bob } = await world(store);
    const caller = systemCaller(north);
    const repository = createRepository({ store, caller });
    expect(await repository.read('User', ann)).toMatchObject({ firstName: 'ann' });
    expect(await codeOf(repository.read('User', bob))).toBe('not-found');
    expect(await codeOf(repository.vread('User', bob, '1'))).toBe('not-found');
    expect(await codeOf(repository.read('Project', south))).toBe('not-found');
    expect((await repository.search('User', 'email=bob@example.org&_total=accurate')).total).toBe(0);
    expect((await repository.search('User')).entry!.map(({ resource }) => resource!.id)).toEqual([ann]);
    expect((await repository.search('Project')).entry!.map(({ resource }) => resource!.id)).toEqual([north]);
    const { data } = await executeFhirGraphql('{ UserList { id } ProjectList { id } }', { store, caller });
    expect(JSON.parse(JSON.stringify(data))).toEqual({ UserList: [{ id: ann }], ProjectList: [{ id: north }] });
  });

  test('changes the name and the secrets of its own Project, and elements that it omits are kept', async () => {
    const store = open();
    const { north } = await world(store);
    const repository = createRepository({ store, caller: systemCaller(north) });
    const secret = [{ name: 'key', valueString: 'open sesame' }];
    const changed = await repository.update({ resourceType: 'Project', id: north, name: 'Northern', secret });
    expect(changed).toMatchObject({ name: 'Northern', strictMode: true });
    const [found] = await store.read([{ project: '', type: 'Project', id: north }]);
    expect(found).toMatchObject({ resource: { name: 'Northern', strictMode: true, secret } });
  });

  test('creates its own Project if it is missing, but never as a super-admin project', async () => {
    const store = open();
    const repository = createRepository({ store, caller: systemCaller('west') });
    const project = { resourceType: 'Project', id: 'west', name: 'West' } as const;
    expect(await codeOf(repository.update({ ...project, superAdmin: true }))).toBe('forbidden');
    expect(await repository.update(project)).toMatchObject({ name: 'West' });
  });

  test('never undoes a change that the operator makes at the same moment', async () => {
    const store = open();
    const { north } = await world(store);
    let raced = false;
    const racing: ResourceStore = new Proxy(store, {
      get: (target, name) => {
        if (name === 'commit' && !raced) {
          raced = true;
          return async (...args: Parameters<ResourceStore['commit']>) => {
            const operator = createRepository({ store, caller: serverCaller() });
            await operator.patch('Project', north, [{ op: 'replace', path: '/strictMode', value: false }]);
            return target.commit(...args);
          };
        }
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
      },
    });
    const repository = createRepository({ store: racing, caller: systemCaller(north) });
    await repository.update({ resourceType: 'Project', id: north, name: 'Northern' });
    const [found] = await store.read([{ project: '', type: 'Project', id: north }]);
    expect(found).toMatchObject({ resource: { name: 'Northern', strictMode: false } });
  });
});

overStores('the trusted code of the operator', (open) => {
  test('works above projects: creates them, verifies addresses, administers members anywhere', async () => {
    const store = open();
    const { north, bob, bobsMembership } = await world(store);
    const context = { store, caller: serverCaller() };
    const repository = createRepository(context);
    expect((await repository.search('User', '_total=accurate')).total).toBe(2);
    await repository.patch('User', bob, [{ op: 'add', path: '/emailVerified', value: true }]);
    expect(await repository.read('User', bob)).toMatchObject({ emailVerified: true });
    await repository.update({ resourceType: 'Project', id: north, name: 'North', superAdmin: true });
    expect(await repository.read('Project', north)).toMatchObject({ superAdmin: true });
    expect(await updateMember(bobsMembership, { admin: true }, context)).toMatchObject({ admin: true });
    expect(await codeOf(updateMember('none', { admin: true }, context))).toBe('not-found');
  });

  test('reaches the resources of a project only if it names that project', async () => {
    const store = open();
    const { north } = await world(store);
    const above = createRepository({ store, caller: serverCaller() });
    expect(await codeOf(above.create({ resourceType: 'Patient' }))).toBe('forbidden');
    expect(await codeOf(above.delete('ProjectMembership', 'any'))).toBe('forbidden');
    for (const type of ['Patient', 'ProjectMembership', 'Practitioner'] as const) {
      expect((await above.search(type, '_total=accurate')).total).toBe(0);
    }
    const within = createRepository({ store, caller: serverCaller(north) });
    const patient = await within.create({ resourceType: 'Patient', gender: 'other' });
    expect(await createRepository({ store, caller: systemCaller(north) }).read('Patient', patient.id)).toMatchObject({
      gender: 'other',
    });
    expect((await within.search('User', '_total=accurate')).total).toBe(2);
  });

  test('is named in the audit trail, with its project if it has one', async () => {
    const store = open();
    const { north } = await world(store);
    const records: AuditRecord[] = [];
    const audit = (record: AuditRecord): void => void records.push(record);
    for (const caller of [serverCaller(), serverCaller(north)]) {
      await createRepository({ store, caller, audit }).search('User');
    }
    expect(records.map(({ who }) => who)).toEqual([{ kind: 'server' }, { kind: 'server', project: north }]);
    expect(toAuditEvent(records[0]!).agent).toEqual([{ altId: 'server', requestor: true }]);
  });
});
