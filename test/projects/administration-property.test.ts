import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type Caller,
  createClient,
  createProject,
  createRepository,
  FhirError,
  importBundle,
  initialize,
  invite,
  MemoryStore,
  removeMember,
  type ResourceStore,
  rotateClientSecret,
  signIn,
  systemCaller,
  updateClient,
  updateMember,
} from '../../src/index.js';
import { SERVER_SCOPE } from '../../src/store.js';
import { elementsOf } from '../../src/fhir/resource.js';
import { cases, SEED } from '../support/chance.js';
import { person, policy, put } from './harness.js';

const ROLES = ['staff', 'wild', 'admin', 'bound', 'super', 'system'] as const;
type Role = (typeof ROLES)[number];

/** A super-admin project and a clinic, with one caller per role, and all resources that an attempt can name. */
interface World {
  readonly store: ResourceStore;
  readonly home: string;
  readonly clinic: string;
  readonly callers: { readonly [Name in Role]: Caller };
  readonly memberships: readonly string[];
  readonly clients: readonly (readonly [project: string, id: string])[];
}

async function open(): Promise<World> {
  const store = new MemoryStore();
  const { caller, project, client, membership } = await initialize(store);
  const home = project.id;
  const above = { store, caller };
  const clinic = (await createProject({ resourceType: 'Project', name: 'Clinic' }, above)).id;
  await put(
    store,
    home,
    policy('p', [{ resourceType: 'Project' }, { resourceType: 'ProjectMembership' }]),
    policy('q'),
  );
  await put(store, clinic, policy('p', [{ resourceType: 'Patient' }]), policy('q', [{ resourceType: '*' }]));
  const free = await createClient(home, { name: 'Free' }, above);
  const bound = await createClient(
    home,
    { name: 'Bound', admin: true, accessPolicy: { reference: 'AccessPolicy/p' } },
    above,
  );
  const feed = await createClient(clinic, { name: 'Feed' }, above);
  const invited = async (name: string, member: object): Promise<string> =>
    (await invite(clinic, person('Practitioner', name, { membership: member }), above)).membership.id;
  const ids = {
    staff: await invited('Staff', {}),
    wild: await invited('Wild', { accessPolicy: { reference: 'AccessPolicy/q' } }),
    admin: await invited('Admin', { admin: true }),
    bound: await invited('Bound', { admin: true, accessPolicy: { reference: 'AccessPolicy/p' } }),
    super: bound.membership.id,
  };
  const callers = { system: systemCaller(clinic) } as { [Name in Role]: Caller };
  for (const [role, id] of Object.entries(ids)) callers[role as Role] = await signIn(store, { membership: id });
  return {
    store,
    home,
    clinic,
    callers,
    memberships: [...Object.values(ids), membership.id, free.membership.id],
    clients: [client, free.client, bound.client]
      .map((one) => [home, one.id] as const)
      .concat([[clinic, feed.client.id]]),
  };
}

/** The drawn values of one attempt; each kind uses those that it needs. */
const attempt = fc.record({
  role: fc.constantFrom(...ROLES),
  kind: fc.constantFrom(
    ...([
      'put',
      'put',
      'patch',
      'delete',
      'bundle',
      'member',
      'member',
      'remove',
      'invite',
      'client',
      'rotate',
      'make',
    ] as const),
  ),
  type: fc.constantFrom('ClientApplication', 'Bot', 'AccessPolicy', 'ProjectMembership', 'Project', 'User' as const),
  pick: fc.nat(20),
  flag: fc.boolean(),
});
type Attempt = typeof attempt extends fc.Arbitrary<infer Drawn> ? Drawn : never;

const OPERATIONS: ReadonlySet<Attempt['kind']> = new Set(['member', 'remove', 'invite', 'client', 'rotate', 'make']);

async function carryOut(world: World, { role, kind, type, pick, flag }: Attempt): Promise<unknown> {
  const { store, home, clinic, memberships, clients } = world;
  const caller = world.callers[role];
  const context = { store, caller };
  const repository = createRepository(context);
  const project = flag ? clinic : home;
  const membership = memberships[pick % memberships.length]!;
  const [where, client] = clients[pick % clients.length]!;
  const accessPolicy = { reference: pick % 2 === 0 ? 'AccessPolicy/p' : 'AccessPolicy/q' } as const;
  const id = idOf(world, type, pick);
  const content = { resourceType: type, id, name: 'Changed', resource: [{ resourceType: '*' }] };
  const raised = type === 'Project' ? { superAdmin: true } : type === 'ProjectMembership' ? { admin: true } : {};
  const body = { ...content, ...(type === 'AccessPolicy' ? {} : { resource: undefined }), ...raised };
  switch (kind) {
    case 'put': {
      const before = await repository.read(type, id).catch(() => ({}));
      return repository.update({ ...before, ...JSON.parse(JSON.stringify(body)) } as never);
    }
    case 'patch':
      return repository.patch(type, id, [{ op: 'add', path: '/name', value: 'Changed' }]);
    case 'delete':
      return repository.delete(type, id);
    case 'bundle': {
      const entry = [{ resource: JSON.parse(JSON.stringify(body)), request: { method: 'PUT', url: `${type}/${id}` } }];
      return importBundle({ resourceType: 'Bundle', type: 'transaction', entry }, context);
    }
    case 'member':
      return updateMember(membership, flag ? { accessPolicy: null, admin: true } : { accessPolicy }, context);
    case 'remove':
      return removeMember(membership, context);
    case 'invite': {
      const name = ['Bound', 'Admin', 'Eve'][pick % 3]!;
      const more = { admin: true, ...(flag ? { upsert: true } : { forceNewMembership: true }) };
      return invite(pick % 2 === 0 ? clinic : home, person('Practitioner', name, more), context);
    }
    case 'client':
      return updateClient(
        { project: where, client },
        { name: `Client ${pick}`, jwksUri: 'https://evil.example' },
        context,
      );
    case 'rotate':
      return rotateClientSecret({ project: where, client }, context);
    case 'make':
      return createClient(project, { name: 'New', admin: true }, context);
  }
}

function idOf({ home, clinic, memberships, clients }: World, type: Attempt['type'], pick: number): string {
  if (type === 'AccessPolicy') return pick % 2 === 0 ? 'p' : 'q';
  if (type === 'ProjectMembership') return memberships[pick % memberships.length]!;
  if (type === 'Project') return pick % 2 === 0 ? home : clinic;
  return clients[pick % clients.length]![1];
}

/** Everything of some types in a project. */
async function contents(store: ResourceStore, project: string, types: readonly string[]): Promise<string> {
  const pages = await Promise.all(types.map((type) => store.search({ project, type, criteria: { kind: 'all' } })));
  return JSON.stringify(pages.map(({ matches }) => matches.map(({ resource }) => resource)));
}

const PROGRAMS = ['ClientApplication', 'Bot'];

/** The resources that no attempt of a role can change. */
async function untouchable(world: World, role: Role, kind: Attempt['kind']): Promise<unknown> {
  const { store, home, clinic } = world;
  const caller = world.callers[role];
  const [project] = await store.read([{ project: SERVER_SCOPE, type: 'Project', id: home }]);
  const superAdmins = [project, await contents(store, home, [...PROGRAMS, 'ProjectMembership', 'AccessPolicy'])];
  const programs = OPERATIONS.has(kind) || role === 'system' ? null : await contents(store, clinic, PROGRAMS);
  const [own] = await store.read([{ project: SERVER_SCOPE, type: 'Project', id: clinic }]);
  const raised = own?.status === 'found' ? elementsOf(own.resource)['superAdmin'] : undefined;
  if (caller.kind !== 'member') return [superAdmins, programs, raised];
  const { matches } = await store.search({
    project: caller.project,
    type: 'ProjectMembership',
    criteria: { kind: 'all' },
  });
  const mine = matches.map(({ resource }) => elementsOf(resource)).filter(({ user }) => (user as { reference: string }).reference === caller.user); // prettier-ignore
  const signedIn = mine.filter(({ id }) => id === caller.membership);
  // Another role can have removed its policy since it signed in, and the stored state decides.
  const bound = caller.bound && signedIn.every(({ access, accessPolicy }) => (access ?? accessPolicy) !== undefined);
  // An unbound administrator can create another membership for itself, which cannot grant more than it has.
  const binding = bound ? mine : signedIn;
  const policies = bound ? await policiesOf(store, caller.project, binding) : null;
  return [superAdmins, programs, raised, binding.map(({ id, admin, active, access, accessPolicy }) => [id, admin, active, access, accessPolicy]), policies]; // prettier-ignore
}

async function policiesOf(store: ResourceStore, project: string, memberships: readonly object[]): Promise<unknown> {
  const names = [...JSON.stringify(memberships).matchAll(/AccessPolicy\/(\w+)/g)].map(([, id]) => id!);
  return store.read(names.map((id) => ({ project, type: 'AccessPolicy', id })));
}

test('no role changes programs without the operations, changes owners of super-admin powers, or changes its own limits', async () => {
  const seen = { done: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(attempt, { minLength: 12, maxLength: 12 }), async (attempts) => {
      const world = await open();
      for (const one of attempts) {
        const before = await untouchable(world, one.role, one.kind);
        const outcome = await carryOut(world, one).then(
          () => undefined,
          (error: unknown) => error,
        );
        expect(outcome === undefined || outcome instanceof FhirError, String(outcome)).toBe(true);
        seen[outcome === undefined ? 'done' : 'refused'] += 1;
        expect(await untouchable(world, one.role, one.kind), JSON.stringify(one)).toEqual(before);
      }
    }),
    { numRuns: cases(12, 10), seed: SEED },
  );
  // Both outcomes are common, or the test would show little.
  expect(Math.min(seen.done, seen.refused)).toBeGreaterThan(5);
});
