import type { AccessPolicy } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import { accessMatrix, type MemberAccess } from '../../src/access.js';
import { FhirError, MemoryStore } from '../../src/index.js';
import type { CallOptions } from '../../src/store.js';
import { OWN_EXTENSIONS } from '../../src/fhir/own-extensions.js';
import { faultOf, signedIn, system } from '../repository/harness.js';
import { storeWith } from '../support/store-with.js';

async function collect(rows: AsyncIterable<MemberAccess>): Promise<MemberAccess[]> {
  const collected: MemberAccess[] = [];
  for await (const row of rows) collected.push(row);
  return collected;
}

const types = ['Patient', 'Observation', 'AccessPolicy'];

test('the matrix lists the rights of each member, by type', async () => {
  const store = new MemoryStore();
  const trusted = await system(store);
  await signedIn(store, { profile: { resourceType: 'Practitioner', id: 'open' } });
  await signedIn(store, { profile: { resourceType: 'Patient', id: 'ann' } });
  await signedIn(store, {
    profile: { resourceType: 'Practitioner', id: 'bound' },
    admin: true,
    rules: [
      { resourceType: 'Patient', criteria: 'Patient?gender=female', interaction: ['read', 'update'] },
      { resourceType: 'Patient', interaction: ['search'], hiddenFields: ['address'] },
    ],
  });
  const off = await signedIn(store, { profile: { resourceType: 'Practitioner', id: 'off' } });
  await trusted.patch('ProjectMembership', off.membership, [{ op: 'add', path: '/active', value: false }]);
  const rows = await collect(accessMatrix('Project/clinic', { store, types }));
  const byProfile = new Map(rows.map(({ profile, membership: _, ...row }) => [profile, row]));
  const every = Object.fromEntries(
    ['read', 'vread', 'search', 'history', 'create', 'update', 'delete'].map((name) => [name, 'all']),
  );
  const everything = { interactions: every, hidden: [] };
  expect(byProfile.get('Practitioner/open')).toEqual({
    admin: false,
    bound: false,
    access: { Patient: everything, Observation: everything },
  });
  expect(byProfile.get('Patient/ann')?.access['Patient']?.interactions).toMatchObject({ read: 'some', search: 'some' });
  expect(byProfile.get('Practitioner/bound')).toMatchObject({
    admin: true,
    bound: true,
    access: { Patient: { interactions: { read: 'some', search: 'all', update: 'some' }, hidden: [] } },
  });
  expect(byProfile.get('Practitioner/bound')?.access['Observation']).toBeUndefined();
  expect(byProfile.get('Practitioner/bound')?.access['AccessPolicy']).toBeDefined();
  expect(byProfile.get('Practitioner/off')).toMatchObject({ access: {}, problem: 'membership-inactive' });
});

test('policies for emergencies have a column of their own', async () => {
  const store = new MemoryStore();
  const trusted = await system(store);
  const { membership } = await signedIn(store, { rules: [{ resourceType: 'Patient', readonly: true }] });
  const { access = [], accessPolicy } = await trusted.read('ProjectMembership', membership);
  await trusted.update({
    resourceType: 'AccessPolicy',
    id: 'emergency',
    extension: [{ url: OWN_EXTENSIONS.emergencyAccess, valueBoolean: true }],
    resource: [{ resourceType: 'Observation', readonly: true }],
  } as never);
  const named = [...access, { policy: { reference: 'AccessPolicy/emergency' } }];
  await trusted.update({
    ...(await trusted.read('ProjectMembership', membership)),
    ...(accessPolicy === undefined ? {} : { accessPolicy }),
    access: named,
  });
  const [row] = await collect(accessMatrix('clinic', { store, types }));
  const reading = { read: 'all', vread: 'all', search: 'all', history: 'all' };
  expect(row?.access).toEqual({ Patient: { interactions: reading, hidden: [] } });
  expect(row?.emergency).toEqual({ Observation: { interactions: reading, hidden: [] } });
});

test('types and projects are checked', async () => {
  const store = new MemoryStore();
  const messageOf = async (rows: AsyncIterable<MemberAccess>): Promise<string> => {
    const { code, message } = await faultOf(collect(rows));
    return `${code}: ${message}`;
  };
  expect(await messageOf(accessMatrix('no id', { store }))).toBe('invalid: accessMatrix needs the id of a project');
  expect(await messageOf(accessMatrix('clinic', { store, types: ['Patient', 'Paitent'] }))).toBe(
    'invalid: accessMatrix needs names of resource types',
  );
});

const emergencyPolicy = {
  resourceType: 'AccessPolicy',
  id: 'emergency',
  extension: [{ url: OWN_EXTENSIONS.emergencyAccess, valueBoolean: true }],
  resource: [{ resourceType: 'Observation', readonly: true }],
} as unknown as AccessPolicy;

/** A store with one member that has a policy for emergencies. */
async function guarded(): Promise<{ store: MemoryStore; membership: string }> {
  const store = new MemoryStore();
  const trusted = await system(store);
  const { membership } = await signedIn(store, { rules: [{ resourceType: 'Patient', readonly: true }] });
  await trusted.update(emergencyPolicy);
  const stored = await trusted.read('ProjectMembership', membership);
  const access = [...(stored.access ?? []), { policy: { reference: 'AccessPolicy/emergency' } }];
  await trusted.update({ ...stored, access });
  return { store, membership };
}

test('a row names the membership and its profile; without a policy for emergencies it has no such column', async () => {
  const store = new MemoryStore();
  await system(store);
  const { membership, profile } = await signedIn(store);
  expect(await collect(accessMatrix({ reference: 'Project/clinic' }, { store, types: ['AccessPolicy'] }))).toEqual([
    { membership: `ProjectMembership/${membership}`, profile, admin: false, bound: false, access: {} },
  ]);
});

test('a member that cannot sign in has no access, and its row gives the reason', async () => {
  const { store, membership } = await guarded();
  const trusted = await system(store);
  await trusted.update({ ...(await trusted.read('ProjectMembership', membership)), active: false });
  expect(await collect(accessMatrix('clinic', { store, types }))).toMatchObject([
    { bound: true, access: {}, problem: 'membership-inactive' },
  ]);
});

test('the matrix covers every type by default', async () => {
  const { store } = await guarded();
  const [row] = await collect(accessMatrix('clinic', { store }));
  expect(Object.keys(row!.access)).toEqual(['Patient', 'Project', 'ProjectMembership', 'User']);
});

test('conditions that cannot match grant nothing, and one rule without conditions grants everything', async () => {
  const store = new MemoryStore();
  await system(store);
  await signedIn(store, {
    rules: [
      { resourceType: 'Device', criteria: 'Device?status=%none', interaction: ['read'] },
      { resourceType: 'Patient', criteria: 'Patient?gender=female', interaction: ['read', 'search', 'update'] },
      { resourceType: 'Patient', interaction: ['read'] },
    ],
    parameters: [],
  });
  const [row] = await collect(accessMatrix('clinic', { store, types: ['Device', 'Patient'] }));
  expect(row?.access).toEqual({
    Patient: { interactions: { read: 'all', search: 'some', update: 'some' }, hidden: [] },
  });
});

test('hidden fields are those that every reading rule hides, or every searching rule', async () => {
  const store = new MemoryStore();
  await system(store);
  await signedIn(store, {
    rules: [
      { resourceType: 'Patient', interaction: ['read'], hiddenFields: ['address', 'name'] },
      { resourceType: 'Patient', interaction: ['read'], hiddenFields: ['name'] },
      { resourceType: 'Patient', interaction: ['search'], hiddenFields: ['telecom'] },
      { resourceType: 'Observation', interaction: ['search'], hiddenFields: ['note'] },
      { resourceType: 'Device', interaction: ['create'], hiddenFields: ['note'] },
    ],
  });
  const [row] = await collect(accessMatrix('clinic', { store, types: ['Patient', 'Observation', 'Device'] }));
  expect(row?.access).toEqual({
    Patient: { interactions: { read: 'all', search: 'all' }, hidden: ['name'] },
    Observation: { interactions: { search: 'all' }, hidden: ['note'] },
    Device: { interactions: { create: 'all' }, hidden: [] },
  });
});

test('a column for emergencies shows the differences from everyday access', async () => {
  const store = new MemoryStore();
  const trusted = await system(store);
  const { membership } = await signedIn(store, {
    rules: [
      { resourceType: 'Patient', readonly: true },
      { resourceType: 'Observation', criteria: 'Observation?status=final', readonly: true },
    ],
  });
  await trusted.update(emergencyPolicy);
  const stored = await trusted.read('ProjectMembership', membership);
  const access = [...(stored.access ?? []), { policy: { reference: 'AccessPolicy/emergency' } }];
  await trusted.update({ ...stored, access });
  const [row] = await collect(accessMatrix('clinic', { store, types }));
  const every = (how: string): object => ({ read: how, vread: how, search: how, history: how });
  expect(row?.access['Observation']?.interactions).toEqual(every('some'));
  expect(row?.emergency).toEqual({ Observation: { interactions: every('all'), hidden: [] } });
});

test('members are listed in the order of their ids, page by page', async () => {
  const store = new MemoryStore();
  await system(store);
  const ids = Array.from({ length: 401 }, (_, index) => `m${String(index).padStart(3, '0')}`);
  await store.commit(
    ids.map((id) => {
      const resource = { resourceType: 'ProjectMembership', id, active: false } as never;
      return { kind: 'put', key: { project: 'clinic', type: 'ProjectMembership', id }, resource };
    }),
  );
  const limits: unknown[] = [];
  const counted = storeWith(store, {
    search(query, options) {
      limits.push(query.limit);
      return store.search(query, options);
    },
  });
  const rows = await collect(accessMatrix('clinic', { store: counted, types: [] }));
  expect(rows.map(({ membership }) => membership)).toEqual(ids.map((id) => `ProjectMembership/${id}`));
  expect(limits).toEqual([200, 200, 200]);
});

test('every store call has the signal', async () => {
  const { store } = await guarded();
  const given: (CallOptions | undefined)[] = [];
  const seen = storeWith(store, {
    read(keys, options) {
      given.push(options);
      return store.read(keys, options);
    },
    search(query, options) {
      given.push(options);
      return store.search(query, options);
    },
  });
  const { signal } = new AbortController();
  await collect(accessMatrix('clinic', { store: seen, types, signal }));
  expect(given.length).toBeGreaterThan(5);
  expect(given.filter((options) => options?.signal !== signal)).toEqual([]);
});

test.each([
  new FhirError('unavailable', 'down'),
  new FhirError('internal', 'broken'),
  new TypeError('broken'),
  Object.assign(new Error('broken'), { code: 'forbidden', status: 403 }),
])('an error of the store ends the matrix: %s', async (error) => {
  const { store, membership } = await guarded();
  // The fault is first in the sign-in of the member, then in its second sign-in for emergencies.
  for (const works of [0, 1]) {
    let reads = 0;
    const failing = storeWith(store, {
      read(keys, options) {
        if (keys.some(({ project, id }) => project === 'clinic' && id === membership) && reads++ >= works) throw error;
        return store.read(keys, options);
      },
    });
    await expect(collect(accessMatrix('clinic', { store: failing, types }))).rejects.toBe(error);
  }
});

test('a member that is removed in the meantime has no access', async () => {
  const { store, membership } = await guarded();
  let reads = 0;
  const removing = storeWith(store, {
    async read(keys, options) {
      if (keys.some(({ project, id }) => project === 'clinic' && id === membership) && reads++ === 1)
        return keys.map(() => ({ status: 'missing' }));
      return store.read(keys, options);
    },
  });
  expect(await collect(accessMatrix('clinic', { store: removing, types }))).toMatchObject([
    { access: {}, problem: 'membership-missing' },
  ]);
});
