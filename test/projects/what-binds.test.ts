import { beforeEach, describe, expect, test } from 'vitest';
import {
  type Caller,
  createBot,
  createClient,
  createProject,
  createRepository,
  initialize,
  type Initialized,
  invite,
  type InviteBody,
  removeMember,
  resendInvitation,
  type ResourceStore,
  rotateClientSecret,
  searchMembers,
  serverCaller,
  signIn,
  systemCaller,
  updateClient,
  updateMember,
} from '../../src/index.js';
import { storeWith } from '../support/store-with.js';
import { type Clinic, memoryStore, openClinic, patient, person, policy, put, rejection, stores } from './harness.js';

const POWERS = [{ resourceType: 'Project' }, { resourceType: 'ProjectMembership' }];

describe.each(stores)('a super administrator under a policy on %s', (_name, makeStore) => {
  let store: ResourceStore;
  let first: Initialized;
  /** The client of `initialize`, with a policy, and a clinic. */
  let bound: Caller;
  let home: string;
  let clinic: string;

  beforeEach(async () => {
    store = makeStore();
    first = await initialize(store);
    home = first.project.id!;
    clinic = (await createProject({ resourceType: 'Project', name: 'Clinic' }, { store, caller: first.caller })).id!;
    await put(store, home, policy('powers', POWERS));
    const accessPolicy = { reference: 'AccessPolicy/powers' } as const;
    await updateMember(first.membership.id, { accessPolicy }, { store, caller: systemCaller(home) });
    bound = await signIn(store, { membership: first.membership.id });
  });

  test('grants no super-admin rights and changes nobody who has them', async () => {
    const context = { store, caller: bound };
    const { membership, client } = await createClient(home, { name: 'Other' }, { store, caller: serverCaller() });
    const calls: readonly (() => Promise<unknown>)[] = [
      () => createClient(home, { name: 'Free' }, context),
      () => createBot(home, { name: 'Free' }, context),
      () => invite(home, person('Practitioner', 'Eve', { admin: true }), context),
      () => rotateClientSecret({ project: home, client: client.id }, context),
      () => rotateClientSecret({ project: home, client: first.client.id }, context),
      () => updateClient({ project: home, client: client.id }, { jwksUri: 'https://evil.example' }, context),
      () => updateMember(first.membership.id, { accessPolicy: null }, context),
      () => updateMember(membership.id, { admin: true }, context),
      () => removeMember(membership.id, context),
      () => resendInvitation(membership.id, context),
    ];
    for (const call of calls) expect((await rejection(call())).code, String(call)).toBe('forbidden');
    expect((await searchMembers(home, '', context)).total).toBe(2);
  });

  test('changes no policy of its project, neither its own nor another, and not the Project', async () => {
    await put(store, home, policy('other'));
    const repository = createRepository({ store, caller: bound });
    for (const id of ['powers', 'other']) {
      const stored = await repository.read('AccessPolicy', id);
      expect((await rejection(repository.update({ ...stored, resource: [{ resourceType: '*' }] }))).code).toBe('forbidden'); // prettier-ignore
      expect((await rejection(repository.delete('AccessPolicy', id))).code).toBe('forbidden');
    }
    expect((await rejection(repository.create(policy('new')))).code).toBe('forbidden');
    const project = await repository.read('Project', home);
    expect((await rejection(repository.update({ ...project, name: 'Mine' }))).code).toBe('forbidden');
  });

  test('has its granted rights in ordinary projects', async () => {
    const context = { store, caller: bound };
    const ordinary = await createProject({ resourceType: 'Project', name: 'Second' }, context);
    const { membership } = await invite(ordinary.id, person('Practitioner', 'Ada', { admin: true }), context);
    expect(await updateMember(membership.id, { userName: 'ada' }, context)).toMatchObject({ userName: 'ada' });
    const { client } = await createClient(clinic, { name: 'Feed' }, context);
    await rotateClientSecret({ project: clinic, client: client.id }, context);
  });

  test('reveals no clinical data through its searches for members', async () => {
    await put(store, clinic, patient('pat', { birthDate: '1980-05-05' }));
    await invite(clinic, person('Patient', 'Pat', { membership: { profile: { reference: 'Patient/pat' } } }), {
      store,
      caller: first.caller,
    });
    for (const caller of [bound, serverCaller()]) {
      for (const query of [
        'profile:Patient.birthdate=1980-05-05',
        'profile:Patient.birthdate=1990-05-05',
        'profile:Patient.general-practitioner:Practitioner.name=x',
        '_filter=profile:Patient.birthdate eq 1980-05-05',
        '_filter=not (profile:Patient.gender eq male)',
        'profile:Patient._has:Observation:subject:code=x',
      ]) {
        const error = await rejection(searchMembers(clinic, query, { store, caller }));
        expect(error.code, query).toMatch(/forbidden|invalid|unsupported/);
      }
      expect((await searchMembers(clinic, 'name=Smith', { store, caller })).total).toBe(1);
      expect((await searchMembers(clinic, 'profile:ClientApplication.name=x', { store, caller })).total).toBe(0);
    }
    const error = await rejection(
      searchMembers(clinic, 'profile:Patient.birthdate=1980-05-05', { store, caller: bound }),
    );
    expect(error).toMatchObject({ code: 'forbidden' });
    expect(error.message).toContain('cannot lead to Patient');
  });

  test.each([
    ['a compartment of the rule', { compartment: { reference: 'Patient/1' } }, {}],
    ['a compartment of the policy', {}, { compartment: { reference: 'Patient/1' } }],
    ['criteria', { criteria: 'Project?name=x' }, {}],
    ['hidden fields', { hiddenFields: ['name'] }, {}],
    ['readonly', { readonly: true }, {}],
    ['another interaction', { interaction: ['read'] }, {}],
  ])('keeps no right by a rule with %s', async (_, rule, more) => {
    await put(store, home, {
      ...policy('powers', POWERS.map((one) => ({ ...one, ...(one.resourceType === 'Project' ? rule : { ...rule, criteria: 'criteria' in rule ? 'ProjectMembership?active=true' : undefined, hiddenFields: 'hiddenFields' in rule ? ['admin'] : undefined }) })) as never), // prettier-ignore
      ...more,
    });
    const caller = await signIn(store, { membership: first.membership.id });
    const context = { store, caller };
    const made = createProject({ resourceType: 'Project', name: 'Second' }, context);
    expect((await rejection(made)).code).toBe('forbidden');
    expect((await rejection(createClient(clinic, { name: 'Feed' }, context))).code).toBe('forbidden');
  });
});

describe.each(stores)('a project administrator on %s', (_name, makeStore) => {
  let clinic: Clinic;
  let own: string;

  beforeEach(async () => {
    clinic = await openClinic(makeStore());
    own = clinic.first.membership.id!;
    await put(clinic.store, clinic.project, policy('wide', [{ resourceType: '*' }]), policy('narrow'));
  });

  const bind = async (): Promise<Caller> => {
    const accessPolicy = { reference: 'AccessPolicy/narrow' } as const;
    await updateMember(own, { accessPolicy }, { store: clinic.store, caller: clinic.superAdmin });
    return signIn(clinic.store, { membership: own });
  };

  test('changes neither the rights of its own membership nor, if bound, its limits', async () => {
    for (const caller of [clinic.admin, await bind()]) {
      const context = { store: clinic.store, caller };
      for (const changes of [
        { accessPolicy: null },
        { accessPolicy: { reference: 'AccessPolicy/wide' } },
        { access: [{ policy: { reference: 'AccessPolicy/wide' } }] },
        { admin: false },
        { active: false },
        { externalId: 'other' },
      ] as const) {
        // A write without a difference is not a change.
        if (caller === clinic.admin && 'accessPolicy' in changes && changes.accessPolicy === null) continue;
        expect((await rejection(updateMember(own, changes as never, context))).code).toBe('forbidden');
      }
      expect((await rejection(removeMember(own, context))).code).toBe('forbidden');
      const upsert = person('Practitioner', 'Ada', { upsert: true, membership: { accessPolicy: { reference: 'AccessPolicy/wide' } } }); // prettier-ignore
      expect((await rejection(invite(clinic.project, upsert, context))).code).toBe('forbidden');
      expect(await updateMember(own, { userName: `ada-${caller === clinic.admin}` }, context)).toHaveProperty(
        'userName',
      );
    }
  });

  test('who is bound creates no second membership for itself, and changes no policy that binds it', async () => {
    const caller = await bind();
    const context = { store: clinic.store, caller };
    const another = person('Practitioner', 'Ada', { forceNewMembership: true, admin: true });
    expect((await rejection(invite(clinic.project, another, context))).code).toBe('forbidden');
    // Signed in before it was bound: the current state of its membership decides.
    for (const stale of [caller, clinic.admin]) {
      const repository = createRepository({ store: clinic.store, caller: stale });
      const narrow = await repository.read('AccessPolicy', 'narrow');
      const error = await rejection(repository.update({ ...narrow, resource: [{ resourceType: '*' }] }));
      expect(error.code).toBe('forbidden');
      expect(error.message).toContain('AccessPolicy/narrow, which binds the caller');
      const operations = [{ op: 'add' as const, path: '/resource/-', value: { resourceType: '*' } }];
      expect((await rejection(repository.patch('AccessPolicy', 'narrow', operations))).code).toBe('forbidden');
      expect((await rejection(repository.delete('AccessPolicy', 'narrow'))).code).toBe('forbidden');
      expect(await repository.update({ ...(await repository.read('AccessPolicy', 'wide')), name: 'w' })).toHaveProperty(
        'name',
        'w',
      );
    }
  });

  test('cannot bypass this through the User of the other scope, nor through a profile that only opens a compartment', async () => {
    const { store, project, superAdmin } = clinic;
    const twin = (name: string): InviteBody =>
      person('Practitioner', name, { forceNewMembership: true, scope: 'project' });
    const patient = await invite(project, person('Patient', 'Pat', { admin: true, scope: 'server' }), {
      store,
      caller: superAdmin,
    });
    const pat = await signIn(store, { membership: patient.membership.id });
    const callers: readonly (readonly [Caller, string])[] = [
      [await bind(), 'Ada'],
      [pat, 'Pat'],
    ];
    for (const [caller, name] of callers) {
      const context = { store, caller };
      expect((await rejection(invite(project, twin(name), context))).code).toBe('forbidden');
      const { membership } = await invite(project, twin(name), { store, caller: superAdmin });
      expect((await rejection(updateMember(membership.id, { admin: true }, context))).code).toBe('forbidden');
      expect((await rejection(removeMember(membership.id, context))).code).toBe('forbidden');
    }
  });

  test('who is bound changes no policy of its other memberships', async () => {
    const { store, project, superAdmin } = clinic;
    const membership = { accessPolicy: { reference: 'AccessPolicy/wide' } } as const;
    const another = person('Practitioner', 'Ada', { forceNewMembership: true, membership });
    await invite(project, another, { store, caller: superAdmin });
    const repository = createRepository({ store, caller: await bind() });
    const wide = await repository.read('AccessPolicy', 'wide');
    const error = await rejection(repository.update({ ...wide, name: 'Wider' }));
    expect(error).toMatchObject({ code: 'forbidden' });
    expect(error.message).toContain('AccessPolicy/wide, which binds the caller');
  });

  test('a super administrator under a policy does not change its membership in an ordinary project', async () => {
    const { store, superAdmin } = clinic;
    await put(store, superAdmin.project, policy('powers', POWERS));
    const above = { store, caller: superAdmin };
    const accessPolicy = { reference: 'AccessPolicy/powers' } as const;
    const { membership } = await invite(superAdmin.project, person('Practitioner', 'Ada', { membership: { accessPolicy } }), above); // prettier-ignore
    const context = { store, caller: await signIn(store, { membership: membership.id }) };
    await bind();
    expect((await rejection(updateMember(own, { accessPolicy: null }, context))).code).toBe('forbidden');
    expect((await rejection(removeMember(own, context))).code).toBe('forbidden');
  });

  test('an administrator who becomes bound during its invite creates no second membership for itself', async () => {
    const { store, project } = clinic;
    let raced = false;
    const racing = storeWith(store, {
      async search(query, options) {
        const page = await store.search(query, options);
        if (!raced && query.type === 'ProjectMembership') {
          raced = true;
          await bind();
        }
        return page;
      },
    });
    const another = person('Practitioner', 'Ada', { forceNewMembership: true });
    const error = await rejection(invite(project, another, { store: racing, caller: clinic.admin }));
    expect(error.code).toBe('forbidden');
    expect(raced).toBe(true);
  });

  test('invites, and sets the access of others', async () => {
    const context = { store: clinic.store, caller: await bind() };
    const { membership } = await invite(clinic.project, person('Practitioner', 'Bob', { admin: true }), context);
    const access = [{ policy: { reference: 'AccessPolicy/wide' } }] as const;
    expect(await updateMember(membership.id, { access: access as never }, context)).toMatchObject({ access });
    await removeMember(membership.id, context);
  });
});

describe.each(stores)('a policy in use on %s', (_name, makeStore) => {
  test('cannot be deleted while a membership or the defaults of the project name it', async () => {
    const clinic = await openClinic(makeStore());
    const { store, project } = clinic;
    await put(store, project, ...['single', 'listed', 'default', 'patients', 'free'].map((id) => policy(id)));
    const context = { store, caller: clinic.admin };
    const invited = async (name: string, membership: object): Promise<string> =>
      (await invite(project, person('Practitioner', name, { membership }), context)).membership.id;
    const bob = await invited('Bob', { accessPolicy: { reference: 'AccessPolicy/single' } });
    const eve = await invited('Eve', { access: [{ policy: { reference: 'AccessPolicy/listed' } }] });
    const admin = createRepository(context);
    await admin.update({
      ...(await admin.read('Project', project)),
      defaultAccessPolicies: [{ profileType: 'Practitioner', accessPolicy: { reference: 'AccessPolicy/default' } }],
      defaultPatientAccessPolicy: { reference: 'AccessPolicy/patients' },
    });
    const inUse = [
      ['single', `ProjectMembership/${bob}`],
      ['listed', `ProjectMembership/${eve}`],
      ['default', `Project/${project}`],
      ['patients', `Project/${project}`],
    ] as const;
    for (const repository of [admin, createRepository({ store, caller: systemCaller(project) })]) {
      for (const [id, user] of inUse) {
        const error = await rejection(repository.delete('AccessPolicy', id));
        expect(error.code).toBe('conflict');
        expect(error.message).toContain(`AccessPolicy/${id} is used by ${user} and cannot be deleted`);
        expect(error.details).toMatchObject({ usedBy: user });
        const request = { method: 'DELETE' as const, url: `AccessPolicy/${id}` };
        const bundle = { resourceType: 'Bundle' as const, type: 'transaction' as const, entry: [{ request }] };
        expect((await rejection(repository.transaction(bundle))).code).toBe('conflict');
      }
    }
    await admin.delete('AccessPolicy', 'free');
    await removeMember(bob, context);
    await admin.delete('AccessPolicy', 'single');
    expect(await signIn(store, { membership: eve })).toMatchObject({ membership: eve });
  });
});

test('a policy that becomes a default at the moment of its deletion is kept, even if the clock does not advance', async () => {
  const now = new Date();
  const clinic = await openClinic(memoryStore({ clock: () => now }));
  const { store, project } = clinic;
  await put(store, project, policy('p'));
  let raced = false;
  const racing: ResourceStore = new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (name !== 'commit') return (value as () => unknown).bind(target);
      return async (...args: Parameters<ResourceStore['commit']>) => {
        if (!raced) {
          raced = true;
          const operator = createRepository({ store, caller: serverCaller() });
          const defaults = [{ profileType: 'Practitioner', accessPolicy: { reference: 'AccessPolicy/p' } }] as const;
          await operator.patch('Project', project, [{ op: 'add', path: '/defaultAccessPolicies', value: defaults }]);
        }
        return target.commit(...args);
      };
    },
  });
  const repository = createRepository({ store: racing, caller: clinic.admin });
  expect((await rejection(repository.delete('AccessPolicy', 'p'))).details).toMatchObject({
    usedBy: `Project/${project}`,
  });
});
