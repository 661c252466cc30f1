import { expect, test } from 'vitest';
import { listMemberships, MemoryStore, type ResourceStore, serverCaller } from '../../src/index.js';
import { SERVER_SCOPE } from '../../src/store.js';
import { namedBy } from '../../src/access/sign-in/find-membership.js';
import { repositoryOf, system } from '../repository/harness.js';
import { storeWith } from '../support/store-with.js';

async function ann(...projects: readonly string[]): Promise<MemoryStore> {
  const store = new MemoryStore();
  for (const id of projects) {
    await system(store, id);
    const trusted = repositoryOf(store, serverCaller(id));
    await trusted.update({ resourceType: 'User', id: 'ann', firstName: 'Ann', lastName: 'A' });
    await trusted.update({ resourceType: 'Practitioner', id: 'ann' });
    await trusted.update({
      resourceType: 'ProjectMembership',
      id: `${id}-ann`,
      project: { reference: `Project/${id}` },
      user: { reference: 'User/ann' },
      profile: { reference: 'Practitioner/ann', display: 'Dr. Ann' },
    });
  }
  return store;
}

async function put(
  store: ResourceStore,
  project: string,
  resource: { readonly [name: string]: unknown },
): Promise<void> {
  const key = { project, type: resource['resourceType'] as string, id: resource['id'] as string };
  await store.commit([{ kind: 'put', key, resource: resource as never }]);
}

async function listed(store: ResourceStore): Promise<readonly string[]> {
  return (await listMemberships({ user: 'ann' }, { store })).map(({ membership }) => membership.slice(18));
}

test('memberships come in the order of the names of their projects, then of their ids', async () => {
  const store = await ann('a', 'b', 'c', 'd', 'e');
  const names = { a: 'Zoo', b: 'Same', c: 'Same', d: 'Arctic' };
  for (const [id, name] of Object.entries(names)) await put(store, SERVER_SCOPE, { resourceType: 'Project', id, name });
  await put(store, SERVER_SCOPE, { resourceType: 'Project', id: 'e' });
  const expected = ['e-ann', 'd-ann', 'b-ann', 'c-ann', 'a-ann'];
  expect(await listed(store)).toEqual(expected);
  const reversed = storeWith(store, {
    async search(query, options) {
      const page = await store.search(query, options);
      return { ...page, matches: [...page.matches].reverse() };
    },
  });
  expect(await listed(reversed)).toEqual(expected);
});

test('names that are not strings are ignored', async () => {
  const store = await ann('a');
  await put(store, SERVER_SCOPE, { resourceType: 'Project', id: 'a', name: 7 });
  const membership = { resourceType: 'ProjectMembership', id: 'a-ann', user: { reference: 'User/ann' } };
  await put(store, 'a', { ...membership, profile: { reference: 'Practitioner/ann', display: 7 } });
  expect(await listMemberships({ user: 'ann' }, { store })).toMatchObject([
    { projectName: undefined, profileName: undefined, profile: 'Practitioner/ann' },
  ]);
});

test('entries of the directory without a membership are ignored, at no cost of their own', async () => {
  const store = await ann('a', 'b', 'c');
  await store.commit([
    { kind: 'delete', key: { project: 'a', type: 'ProjectMembership', id: 'a-ann' } },
    { kind: 'delete', key: { project: SERVER_SCOPE, type: 'Project', id: 'b' } },
  ]);
  await put(store, SERVER_SCOPE, { resourceType: 'ProjectMembership', id: 'x', user: { reference: 'User/ann' } });
  const read: number[] = [];
  const counted = storeWith(store, {
    read(keys, options) {
      expect(keys.every(({ project }) => typeof project === 'string')).toBe(true);
      read.push(keys.length);
      return store.read(keys, options);
    },
  });
  expect(await listed(counted)).toEqual(['c-ann']);
  // Three memberships, the projects of two, and the name of one.
  expect(read).toEqual([3, 2, 1]);
  read.length = 0;
  expect(await listMemberships({ user: 'nobody' }, { store: counted })).toEqual([]);
  expect(read).not.toContain(2);
});

test('a value that is not a resource id is not a target of an audit record', () => {
  expect(namedBy({ project: 7, membership: null, user: ['ann'], client: 'Bot/b' })).toEqual([{ type: 'Bot', id: 'b' }]);
  expect(namedBy({ user: { reference: 'User/ann' } })).toEqual([{ type: 'User', id: 'ann' }]);
  expect(namedBy(undefined)).toEqual([]);
});
