import { describe, expect, test } from 'vitest';
import {
  type AnyResource,
  type Caller,
  createBot,
  createClient,
  createProject,
  createRepository,
  executeFhirGraphql,
  importBundle,
  invite,
  type InviteResult,
  removeMember,
  resendInvitation,
  type ResourceStore,
  rotateClientSecret,
  searchMembers,
  serverCaller,
  signIn,
  systemCaller,
  updateBot,
  updateClient,
  updateMember,
} from '../../src/index.js';
import { SERVER_SCOPE } from '../../src/store.js';
import { type Clinic, contents, openClinic, person, policy, put, rejection, stores } from './harness.js';

interface Staff {
  readonly clinic: Clinic;
  /** Bob, an administrator, who signed in before any of his rights were removed. */
  readonly bob: Caller;
  readonly member: InviteResult;
  readonly pat: InviteResult;
  readonly client: string;
  readonly bot: string;
}

async function openStaff(store?: ResourceStore): Promise<Staff> {
  const clinic = await openClinic(store);
  const context = { store: clinic.store, caller: clinic.admin };
  const member = await invite(clinic.project, person('Practitioner', 'Bob', { admin: true }), context);
  const pat = await invite(clinic.project, person('Patient', 'Pat'), context);
  const { client } = await createClient(clinic.project, { name: 'Feed' }, context);
  const { bot } = await createBot(clinic.project, { name: 'Reminder' }, context);
  await put(clinic.store, clinic.project, policy('staff'));
  const bob = await signIn(clinic.store, { membership: member.membership.id });
  return { clinic, bob, member, pat, client: client.id, bot: bot.id };
}

type Operation = (staff: Staff, caller: Caller, store: ResourceStore) => Promise<unknown>;

/** The operations of administrators, through every interface. */
const OPERATIONS: Record<string, Operation> = {
  invite: ({ clinic }, caller, store) =>
    invite(clinic.project, person('Practitioner', 'Eve', { admin: true }), { store, caller }),
  'a dry run': ({ clinic }, caller, store) =>
    invite(clinic.project, person('Practitioner', 'Dry', { dryRun: true }), { store, caller }),
  're-promotion by invite': ({ clinic }, caller, store) =>
    invite(clinic.project, person('Practitioner', 'Bob', { upsert: true, admin: true }), { store, caller }),
  're-promotion by updateMember': ({ member }, caller, store) =>
    updateMember(member.membership.id, { admin: true, active: true }, { store, caller }),
  updateMember: ({ pat }, caller, store) => updateMember(pat.membership.id, { admin: true }, { store, caller }),
  resendInvitation: ({ pat }, caller, store) => resendInvitation(pat.membership.id, { store, caller }),
  removeMember: ({ pat }, caller, store) => removeMember(pat.membership.id, { store, caller }),
  searchMembers: ({ clinic }, caller, store) => searchMembers(clinic.project, undefined, { store, caller }),
  createClient: ({ clinic }, caller, store) => createClient(clinic.project, { name: 'New' }, { store, caller }),
  createBot: ({ clinic }, caller, store) => createBot(clinic.project, { name: 'New' }, { store, caller }),
  updateClient: ({ clinic, client }, caller, store) =>
    updateClient({ project: clinic.project, client }, { description: 'x' }, { store, caller }),
  updateBot: ({ clinic, bot }, caller, store) =>
    updateBot({ project: clinic.project, bot }, { description: 'x' }, { store, caller }),
  rotateClientSecret: ({ clinic, client }, caller, store) =>
    rotateClientSecret({ project: clinic.project, client }, { store, caller }),
  'a new policy': (_, caller, store) =>
    createRepository({ store, caller }).create({ resourceType: 'AccessPolicy', name: 'x' }),
  'a changed policy': (_, caller, store) =>
    createRepository({ store, caller }).patch('AccessPolicy', 'staff', [
      { op: 'replace', path: '/name', value: 'mine' },
    ]),
  'a deleted policy': (_, caller, store) => createRepository({ store, caller }).delete('AccessPolicy', 'staff'),
  'a changed project': ({ clinic }, caller, store) =>
    createRepository({ store, caller }).patch('Project', clinic.project, [
      { op: 'replace', path: '/name', value: 'mine' },
    ]),
  'a policy in a transaction': (_, caller, store) =>
    createRepository({ store, caller }).transaction({
      resourceType: 'Bundle',
      type: 'transaction',
      entry: [
        { request: { method: 'POST', url: 'Patient' }, resource: { resourceType: 'Patient' } },
        {
          request: { method: 'PUT', url: 'AccessPolicy/staff' },
          resource: policy('staff', [{ resourceType: 'Practitioner' }]),
        },
      ],
    }),
  'an imported policy': async (_, caller, store) => {
    const bundle = {
      resourceType: 'Bundle',
      type: 'transaction',
      entry: [
        {
          request: { method: 'PUT', url: 'AccessPolicy/staff' },
          resource: policy('staff', [{ resourceType: 'Practitioner' }]),
        },
      ],
    };
    return importBundle(bundle, { store, caller });
  },
  'a policy by GraphQL': async (_, caller, store) => {
    const query = 'mutation { AccessPolicyDelete(id: "staff") { id } }';
    const { errors } = await executeFhirGraphql(query, { store, caller });
    const code = errors?.[0]?.extensions?.['code'];
    if (code !== undefined) throw Object.assign(new Error('refused'), { code });
    return undefined;
  },
};

/** The right that the other administrator removed from Bob, and the resulting error code. */
const LOSSES: Record<string, { readonly code: string; readonly take: (staff: Staff) => Promise<unknown> }> = {
  'no administrator any more': {
    code: 'forbidden',
    take: ({ clinic, member }) =>
      updateMember(member.membership.id, { admin: false }, { store: clinic.store, caller: clinic.admin }),
  },
  deactivated: {
    code: 'membership-inactive',
    take: ({ clinic, member }) =>
      updateMember(member.membership.id, { active: false }, { store: clinic.store, caller: clinic.admin }),
  },
  removed: {
    code: 'membership-missing',
    take: ({ clinic, member }) => removeMember(member.membership.id, { store: clinic.store, caller: clinic.admin }),
  },
  'a User that is switched off': {
    code: 'membership-inactive',
    take: ({ clinic, member }) =>
      clinic.store.commit([
        {
          kind: 'put',
          key: { project: SERVER_SCOPE, type: 'User', id: member.user.id },
          resource: { ...member.user, status: 'off' } as AnyResource,
        },
      ]),
  },
  'in a project that was closed': {
    code: 'project-missing',
    take: async ({ clinic }) => {
      const repository = createRepository({ store: clinic.store, caller: serverCaller(clinic.project) });
      await repository.update({ ...(await repository.read('Project', clinic.project)), active: false });
    },
  },
};

async function codeOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => 'done',
    (error: unknown) => (error as { code?: unknown }).code ?? error,
  );
}

describe('an administrator who signed in before the change', () => {
  test.each(Object.entries(LOSSES))('%s can do nothing that administrators do', async (_, { code, take }) => {
    const staff = await openStaff();
    await take(staff);
    const before = await contents(staff.clinic.store, staff.clinic.project);
    for (const [name, operation] of Object.entries(OPERATIONS)) {
      expect([name, await codeOf(operation(staff, staff.bob, staff.clinic.store))]).toEqual([name, code]);
    }
    expect(await contents(staff.clinic.store, staff.clinic.project)).toEqual(before);
  });

  test('who was removed, and whose membership id was given to somebody else, is not treated as that person', async () => {
    const staff = await openStaff();
    const { clinic, member } = staff;
    await removeMember(member.membership.id, { store: clinic.store, caller: clinic.admin });
    await put(clinic.store, clinic.project, {
      ...clinic.first.membership,
      id: member.membership.id,
      externalId: 'other',
    } as AnyResource);
    expect(await codeOf(OPERATIONS['invite']!(staff, staff.bob, clinic.store))).toBe('membership-missing');
  });
});

test('who is still an administrator can do all of it', async () => {
  const staff = await openStaff();
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    if (name === 'a deleted policy' || name.startsWith('re-promotion')) continue;
    expect([name, await codeOf(operation(staff, staff.bob, staff.clinic.store))]).toEqual([name, 'done']);
  }
});

describe.each(stores)('a right that is removed just before the commit, on %s', (_name, makeStore) => {
  /** A store on which something happens right before the first commit. */
  function interrupted(store: ResourceStore, happen: () => Promise<unknown>): ResourceStore {
    let isDone = false;
    return new Proxy(store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return async (...values: unknown[]): Promise<unknown> => {
          if (name === 'commit' && !isDone) {
            isDone = true;
            await happen();
          }
          return Reflect.apply(member, target, values) as unknown;
        };
      },
    });
  }

  test.each(['no administrator any more', 'deactivated', 'removed'])('is checked: %s', async (loss) => {
    const { code, take } = LOSSES[loss]!;
    for (const name of ['invite', 'updateMember', 'a changed policy']) {
      const staff = await openStaff(makeStore());
      const store = interrupted(staff.clinic.store, () => take(staff));
      expect([name, await codeOf(OPERATIONS[name]!(staff, staff.bob, store))]).toEqual([name, code]);
    }
  });

  test('is checked also if the profile is deleted with the membership', async () => {
    const staff = await openStaff(makeStore());
    const { clinic, member } = staff;
    const store = interrupted(clinic.store, async () => {
      await removeMember(member.membership.id, { store: clinic.store, caller: clinic.admin });
      const repository = createRepository({ store: clinic.store, caller: systemCaller(clinic.project) });
      await repository.delete('Practitioner', member.profile.id);
    });
    expect(await codeOf(OPERATIONS['createClient']!(staff, staff.bob, store))).toBe('membership-missing');
  });

  test('a harmless change of the own membership does not fail the commit', async () => {
    const staff = await openStaff(makeStore());
    const { clinic, member } = staff;
    const store = interrupted(clinic.store, () =>
      updateMember(member.membership.id, { userName: 'bob' }, { store: clinic.store, caller: clinic.admin }),
    );
    expect(await codeOf(OPERATIONS['createClient']!(staff, staff.bob, store))).toBe('done');
    const own = updateMember(member.membership.id, { userName: 'robert' }, { store: clinic.store, caller: staff.bob });
    expect(await codeOf(own)).toBe('done');
  });
});

describe('a super administrator who signed in before', () => {
  test('its membership was bound to a policy has no right beyond the policy', async () => {
    const { store, project, superAdmin } = await openClinic();
    const home = superAdmin.project;
    const { membership } = await createClient(home, { name: 'Second' }, { store, caller: superAdmin });
    const second = await signIn(store, { membership: membership.id });
    await put(store, home, policy('search', [{ resourceType: 'ProjectMembership', interaction: ['search'] }] as never));
    await updateMember(
      membership.id,
      { accessPolicy: { reference: 'AccessPolicy/search' } },
      { store, caller: systemCaller(home) },
    );
    const body = person('Practitioner', 'Eve');
    expect((await rejection(invite(project, body, { store, caller: second }))).code).toBe('forbidden');
    const made = createProject({ resourceType: 'Project', name: 'New' }, { store, caller: second });
    expect((await rejection(made)).code).toBe('forbidden');
    expect((await searchMembers(project, undefined, { store, caller: second })).total).toBe(1);
  });

  test('it was removed creates no projects and no members', async () => {
    const { store, project, superAdmin, first } = await openClinic();
    const { membership } = await createClient(superAdmin.project, { name: 'Second' }, { store, caller: superAdmin });
    const second = await signIn(store, { membership: membership.id });
    await removeMember(membership.id, { store, caller: superAdmin });
    for (const call of [
      () => updateMember(first.membership.id, { userName: 'x' }, { store, caller: second }),
      () => updateMember('none', { userName: 'x' }, { store, caller: second }),
      () => createProject({ resourceType: 'Project', name: 'New' }, { store, caller: second }),
      () => invite(project, person('Practitioner', 'Eve'), { store, caller: second }),
    ]) {
      expect((await rejection(call())).code).toBe('membership-missing');
    }
  });
});
