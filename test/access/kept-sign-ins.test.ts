import { expect, test } from 'vitest';
import {
  FhirError,
  MemoryStore,
  type ResourceStore,
  serverCaller,
  signIn,
  type SignInIdentity,
  systemCaller,
  updateMember,
} from '../../src/index.js';
import { withTelemetry } from '../../src/telemetry.js';
import { withTerminology } from '../../src/terminology.js';
import { overStores, repositoryOf, signedIn, system } from '../repository/harness.js';
import { storeWith } from '../support/store-with.js';

/** A store that notes the types that are read and searched. */
function noting(store: ResourceStore, changes: Partial<ResourceStore> = {}): [ResourceStore, string[]] {
  const noted: string[] = [];
  const view = storeWith(store, {
    readsAreCurrent: store.readsAreCurrent,
    accessEpoch: (options) => store.accessEpoch!(options),
    read(keys, options) {
      noted.push(...keys.map(({ type }) => type));
      return store.read(keys, options);
    },
    search(query, options) {
      noted.push(query.type);
      return store.search(query, options);
    },
    ...changes,
  });
  return [view, noted];
}

async function clinic(store: ResourceStore) {
  await system(store);
  return signedIn(store, { rules: [{ resourceType: 'Patient' }] });
}

overStores('a sign-in', (open) => {
  test('reads nothing if nothing that decides about access has changed', async () => {
    const store = open();
    const { user, membership } = await clinic(store);
    const [view, noted] = noting(store);
    const identity = { project: 'clinic', user };
    const first = await signIn(view, identity);
    expect(noted).toEqual(expect.arrayContaining(['ProjectMembership', 'User', 'Project', 'AccessPolicy']));
    await repositoryOf(store, systemCaller('clinic')).create({ resourceType: 'Patient' });
    noted.length = 0;
    const second = await signIn(view, identity);
    expect(noted).toEqual([]);
    expect(second).not.toBe(first);
    expect({ ...second, rules: 0 }).toEqual({ ...first, rules: 0 });
    expect(second.rules.rulesFor('Patient')).toBe(first.rules.rulesFor('Patient'));
    await updateMember(membership, { active: false }, { store, caller: systemCaller('clinic') });
    await expect(signIn(view, identity)).rejects.toMatchObject({ code: 'membership-inactive' });
    expect(noted).toContain('ProjectMembership');
  });
});

test('each caller has the purpose and the id of its own request', async () => {
  const store = new MemoryStore();
  const { membership } = await clinic(store);
  for (const requestId of ['1', '2', undefined]) {
    const caller = await signIn(store, { membership }, { requestId, purpose: requestId && 'TREAT' });
    expect([caller.requestId, caller.purpose]).toEqual([requestId, requestId && 'TREAT']);
  }
});

test('a kept sign-in ends at its time and by issuedAt', async () => {
  const store = new MemoryStore();
  const { membership } = await clinic(store);
  const caller = systemCaller('clinic');
  await updateMember(membership, { expires: '2030-01-01T00:00:00Z' }, { store, caller });
  const at = (text: string) => () => new Date(text);
  await signIn(store, { membership }, { clock: at('2029-12-31T23:59:59Z') });
  await expect(signIn(store, { membership }, { clock: at('2030-01-01T00:00:00Z') })).rejects.toMatchObject({
    code: 'membership-expired',
  });
});

test('audit records of kept sign-ins equal those of fresh sign-ins', async () => {
  const store = new MemoryStore();
  const { user } = await clinic(store);
  const records: object[] = [];
  const audit = (record: object): void => void records.push({ ...record, at: 0, duration: 0, store: 0 });
  for (let time = 0; time < 2; time += 1) await signIn(store, { project: 'clinic', user }, { audit });
  expect(records).toHaveLength(2);
  expect(Object.keys(records[1]!)).toEqual(Object.keys(records[0]!));
  const what = (record: object): unknown => {
    const { interaction, caller, targets, outcome } = record as { [name: string]: unknown };
    return { interaction, caller, targets, outcome };
  };
  expect(what(records[1]!)).toEqual(what(records[0]!));
});

test.each<[string, (user: string, membership: string) => SignInIdentity]>([
  ['by membership', (_, membership) => ({ membership })],
  ['by user', (user) => ({ project: 'clinic', user })],
  ['by References', (user) => ({ project: { reference: 'Project/clinic' }, user: { reference: user } })],
])('%s: sign-ins are kept for each spelling', async (_, identityOf) => {
  const store = new MemoryStore();
  const { user, membership } = await clinic(store);
  const [view, noted] = noting(store);
  await signIn(view, identityOf(user, membership));
  noted.length = 0;
  await signIn(view, identityOf(user, membership));
  expect(noted).toEqual([]);
});

test('identities that lack a claim or are malformed find no kept sign-in', async () => {
  const store = new MemoryStore();
  const { user, membership } = await clinic(store);
  await signIn(store, { project: 'clinic', user });
  await signIn(store, { membership });
  for (const [identity, code] of [
    [{ membership: undefined, project: 'clinic', user }, 'unauthenticated'],
    [{ project: 'clinic', user: undefined }, 'unauthenticated'],
    [{ project: 'clinic', user: [user] }, 'invalid'],
    [{ project: 'clinic', user: 'User/nobody' }, 'membership-missing'],
    [{ project: 'clinic', externalId: user }, 'membership-missing'],
    [null, 'unauthenticated'],
    [Object.assign(Object.create({ membership: 'm' }) as object, { project: 'clinic', user }), 'membership-missing'],
  ] as const) {
    await expect(signIn(store, identity as unknown as SignInIdentity)).rejects.toMatchObject({ code });
  }
});

test('requirePolicy is checked separately', async () => {
  const store = new MemoryStore();
  await system(store);
  const { membership } = await signedIn(store);
  await signIn(store, { membership });
  await expect(signIn(store, { membership }, { requirePolicy: true })).rejects.toMatchObject({
    code: 'policy-required',
  });
});

test.each([
  ['without an epoch', { accessEpoch: undefined }],
  ['over replicas', { readsAreCurrent: false }],
  ['that says nothing about its reads', { readsAreCurrent: undefined }],
] as const)('a store %s keeps no sign-ins', async (_, changes) => {
  const store = new MemoryStore();
  const { membership } = await clinic(store);
  const [view, noted] = noting(store, changes as Partial<ResourceStore>);
  await signIn(view, { membership });
  noted.length = 0;
  await signIn(view, { membership });
  expect(noted).toContain('ProjectMembership');
});

test('the sign-in of a RelatedPerson is not kept, because its period can end', async () => {
  const store = new MemoryStore();
  const trusted = await system(store);
  await trusted.update({ resourceType: 'Patient', id: 'p' });
  const { membership } = await signedIn(store, {
    profile: { resourceType: 'RelatedPerson', id: 'r', patient: { reference: 'Patient/p' } },
  });
  const [view, noted] = noting(store);
  await signIn(view, { membership });
  noted.length = 0;
  await signIn(view, { membership });
  expect(noted).toContain('RelatedPerson');
});

test('views with telemetry and terminology keep sign-ins, too', async () => {
  const store = new MemoryStore();
  const { membership } = await clinic(store);
  const [view, noted] = noting(store);
  const terminology = { expand: () => Promise.reject(new FhirError('unsupported', 'none')) } as never;
  for (const wrapped of [withTelemetry(view, {}), withTerminology(view, terminology)]) {
    await signIn(wrapped, { membership });
    noted.length = 0;
    await signIn(wrapped, { membership });
    expect(noted).toEqual([]);
  }
});

test('the next sign-in sees a change during the read of the member', async () => {
  const store = new MemoryStore();
  const { membership } = await clinic(store);
  const trusted = repositoryOf(store, serverCaller('clinic'));
  const stored = await trusted.read('ProjectMembership', membership);
  let isFirst = true;
  const [view] = noting(store, {
    async read(keys, options) {
      const found = await store.read(keys, options);
      if (isFirst && keys[0]!.type === 'AccessPolicy') {
        isFirst = false;
        await trusted.update({ ...stored, active: false });
      }
      return found;
    },
  });
  await signIn(view, { membership });
  await expect(signIn(view, { membership })).rejects.toMatchObject({ code: 'membership-inactive' });
});
