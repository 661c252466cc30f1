import { expect, test } from 'vitest';
import { accessMatrix, type MemberAccess } from '../../src/access/explain/access-matrix.js';
import { OWN_EXTENSIONS } from '../../src/fhir/own-extensions.js';
import { MemoryStore } from '../../src/stores/memory/store.js';
import { codeOf, signedIn, system } from '../repository/harness.js';

async function collect(rows: AsyncIterable<MemberAccess>): Promise<MemberAccess[]> {
  const collected: MemberAccess[] = [];
  for await (const row of rows) collected.push(row);
  return collected;
}

const types = ['Patient', 'Observation', 'AccessPolicy'];

test('the matrix lists what each member may do, by type', async () => {
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
  expect(await codeOf(collect(accessMatrix('no id', { store })))).toBe('invalid');
  expect(await codeOf(collect(accessMatrix('clinic', { store, types: ['Paitent'] })))).toBe('invalid');
});
