import { describe, expect, test } from 'vitest';
import { type AnyResource, MemoryStore, signIn, type SignInIdentity, type SignInOptions } from '../../src/index.js';
import { currentCaller } from '../../src/access/sign-in/current-caller.js';
import { faultOf } from '../repository/harness.js';

const ref = (reference: string): object => ({ reference });
const membership = (user: string, profile: string, more: object = {}): object => ({
  project: ref('Project/clinic'),
  user: ref(user),
  profile: ref(profile),
  ...more,
});
const ANN = membership('User/ann', 'Practitioner/ann');
const POLICY = { accessPolicy: ref('AccessPolicy/all') };

/** By scope, type and id: the stored resources of the unchanged case. */
const CLINIC: Readonly<Record<string, object | null>> = {
  '|Project|clinic': {},
  '|User|ann': {},
  'clinic|Practitioner|ann': {},
  'clinic|Bot|bot': {},
  'clinic|AccessPolicy|all': { resource: [{ resourceType: '*' }] },
  'clinic|ProjectMembership|m': ANN,
  '|ProjectMembership|m': { project: ref('Project/clinic') },
  'clinic|ProjectMembership|bots': membership('Bot/bot', 'Bot/bot'),
};

/** Past the guard, which keeps members whole: an operator's hand, or data from elsewhere. */
async function clinic(changes: Readonly<Record<string, object | null>> = {}): Promise<MemoryStore> {
  const store = new MemoryStore();
  for (const [name, elements] of Object.entries({ ...CLINIC, ...changes })) {
    if (elements !== null) await change(store, name, elements);
  }
  return store;
}

async function change(store: MemoryStore, name: string, elements: object): Promise<void> {
  const [project, type, id] = name.split('|') as [string, string, string];
  const resource: AnyResource = { resourceType: type, id, ...elements };
  await store.commit([{ kind: 'put', key: { project, type, id }, resource }]);
}

const ANN_HERE: SignInIdentity = { project: 'clinic', user: 'ann' };
const M: SignInIdentity = { membership: 'm' };

describe('signing in reports its errors', () => {
  test.each<[string, Readonly<Record<string, object | null>>, SignInIdentity, SignInOptions?]>([
    ['project-missing: Project/nowhere does not exist', {}, { project: 'nowhere', user: 'ann' }],
    ['project-missing: Project/clinic is not active', { '|Project|clinic': { active: false } }, ANN_HERE],
    ['project-missing: Project/clinic is not active', { '|Project|clinic': { active: 'yes' } }, M],
    ['membership-missing: No such member in Project/clinic', {}, { project: 'clinic', user: 'nobody' }],
    ['membership-missing: ProjectMembership/none was not found', {}, { membership: 'none' }],
    ['membership-missing: ProjectMembership/m was not found', { '|ProjectMembership|m': {} }, M],
    ['membership-missing: ProjectMembership/m was not found', { 'clinic|ProjectMembership|m': null }, M],
    ['membership-missing: The membership names no user', { 'clinic|ProjectMembership|m': { ...ANN, user: {} } }, M],
    [
      'membership-missing: The membership names no profile',
      { 'clinic|ProjectMembership|m': membership('User/ann', 'https://example.org/Patient/1') },
      M,
    ],
    [
      'membership-missing: The membership names no profile',
      { 'clinic|ProjectMembership|m': membership('User/ann', 'nonsense') },
      M,
    ],
    [
      'membership-inactive: ProjectMembership/m is not active',
      { 'clinic|ProjectMembership|m': { ...ANN, active: false } },
      ANN_HERE,
    ],
    ['membership-inactive: User/ann is switched off', { '|User|ann': { status: 'off' } }, M],
    ['user-missing: User/ann of the membership does not exist any more', { '|User|ann': null }, M],
    [
      'profile-missing: Practitioner/ann, the profile of this member, does not exist any more; an administrator can invite the person again',
      { 'clinic|Practitioner|ann': null },
      M,
    ],
    [
      'policy-missing: AccessPolicy/all of the membership does not exist',
      { 'clinic|ProjectMembership|m': { ...ANN, ...POLICY }, 'clinic|AccessPolicy|all': null },
      M,
    ],
    [
      'policy-required: ProjectMembership/m names no access policy, and one is required',
      {},
      M,
      { requirePolicy: true },
    ],
    [
      'membership-ambiguous: The user has 2 memberships in Project/clinic; sign in with one of them: ProjectMembership/m, ProjectMembership/n',
      { 'clinic|ProjectMembership|n': ANN },
      ANN_HERE,
    ],
    [
      'invalid: Sign-in needs the id of a ProjectMembership, as id, ProjectMembership/id or Reference',
      {},
      { membership: '../x' },
    ],
    ['invalid: Sign-in needs the id of a Project, as id, Project/id or Reference', {}, { project: 'a b', user: 'ann' }],
    [
      'invalid: Sign-in needs the id of a ClientApplication or Bot, as id, Type/id or Reference',
      {},
      { project: 'clinic', client: 'Patient/pat' },
    ],
  ])('%s', async (message, changes, identity, options) => {
    const fault = await faultOf(signIn(await clinic(changes), identity, options));
    expect(`${fault.code}: ${fault.message}`).toBe(message);
  });

  const NAMES = {
    ProjectMembership: 'ProjectMembership, as id, ProjectMembership/id or Reference',
    Project: 'Project, as id, Project/id or Reference',
    User: 'User, as id, User/id or Reference',
    client: 'ClientApplication or Bot, as id, Type/id or Reference',
  };
  test.each<[string, keyof typeof NAMES, unknown]>([
    ['unauthenticated', 'ProjectMembership', undefined],
    ['unauthenticated', 'ProjectMembership', null],
    ['unauthenticated', 'ProjectMembership', ''],
    ['invalid', 'ProjectMembership', 'm'],
    ['unauthenticated', 'ProjectMembership', { membership: undefined }],
    ['unauthenticated', 'ProjectMembership', { membership: null }],
    ['unauthenticated', 'ProjectMembership', { membership: '' }],
    ['invalid', 'ProjectMembership', { membership: 1 }],
    ['unauthenticated', 'Project', { user: 'ann' }],
    ['unauthenticated', 'User', { project: 'clinic', user: undefined }],
    ['unauthenticated', 'client', { project: 'clinic', client: null }],
    ['invalid', 'client', { project: 'clinic', client: 1 }],
  ])('%s without a %s: %j', async (code, name, identity) => {
    const fault = await faultOf(signIn(await clinic({}), identity as never));
    expect(`${fault.code}: ${fault.message}`).toBe(`${code}: Sign-in needs the id of a ${NAMES[name]}`);
  });

  test('and names the policy that is missing', async () => {
    const store = await clinic({
      'clinic|ProjectMembership|m': { ...ANN, ...POLICY },
      'clinic|AccessPolicy|all': null,
    });
    expect((await faultOf(signIn(store, M))).details).toEqual({ policy: 'AccessPolicy/all' });
  });
});

describe('signing in', () => {
  test('uses the active membership if another is inactive', async () => {
    const store = await clinic({ 'clinic|ProjectMembership|a': { ...ANN, active: false } });
    expect(await signIn(store, ANN_HERE)).toMatchObject({ membership: 'm' });
  });

  test('ends by its signal, and by its deadline', async () => {
    const store = await clinic();
    const { signal } = new AbortController();
    expect(await signIn(store, M, { signal })).toMatchObject({ membership: 'm' });
    expect((await faultOf(signIn(store, M, { signal: AbortSignal.abort() }))).code).toBe('aborted');
    const limits = { timeout: 0 };
    expect((await faultOf(signIn(store, M, { limits }))).message).toBe('Limit "timeout" must be a number above 0');
  });

  test.each(['bot', 'Bot/bot'])('as a Bot, by %s', async (client) => {
    expect(await signIn(await clinic(), { project: 'clinic', client })).toMatchObject({
      membership: 'bots',
      user: 'Bot/bot',
    });
  });

  test('applies the policies of the membership, or no policy if there are none', async () => {
    expect(await signIn(await clinic(), M)).toMatchObject({ bound: false });
    const store = await clinic({ 'clinic|ProjectMembership|m': { ...ANN, ...POLICY } });
    expect(await signIn(store, M)).toMatchObject({ bound: true });
  });

  test('demands a policy again if the first sign-in did; a copy of the caller has no such demand', async () => {
    const store = await clinic({ 'clinic|ProjectMembership|m': { ...ANN, ...POLICY } });
    const caller = await signIn(store, M, { requirePolicy: true });
    await change(store, 'clinic|ProjectMembership|m', ANN);
    expect((await faultOf(currentCaller(store, caller, () => true, undefined))).code).toBe('policy-required');
    expect(await currentCaller(store, { ...caller }, () => true, undefined)).toMatchObject({
      membership: 'm',
      bound: false,
    });
  });
});
