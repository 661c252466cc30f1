import type { ProjectMembership } from '@medplum/fhirtypes';
import { expect, onTestFinished, test } from 'vitest';
import {
  createRepository,
  MemoryStore,
  type Repository,
  type ResourceStore,
  serverCaller,
  signIn,
  type SignInIdentity,
} from '../../src/index.js';
import { PACE } from '../../src/platform/pace.js';
import { countTurns } from '../support/count-turns.js';
import { codeOf, faultOf, overStores, repositoryOf } from '../repository/harness.js';

const { turnMs } = PACE;

/** One clinic: Ann the practitioner, Pat the patient with a relative, a program. All healthy. */
async function clinic(store: ResourceStore, project = 'clinic'): Promise<Repository> {
  const trusted = createRepository({ store, caller: serverCaller(project) });
  await trusted.update({ resourceType: 'Project', id: project, name: project });
  for (const id of ['ann', 'pat', 'rel']) {
    await trusted.update({ resourceType: 'User', id, firstName: id, lastName: 'Last', email: `${id}@x.org` });
  }
  await trusted.update({ resourceType: 'Practitioner', id: 'ann' });
  for (const id of ['pat', 'other']) {
    await trusted.update({ resourceType: 'Patient', id });
    const subject = { reference: `Patient/${id}` };
    await trusted.update({ resourceType: 'Observation', id, status: 'final', code: { text: 'x' }, subject });
  }
  await trusted.update({ resourceType: 'RelatedPerson', id: 'rel', patient: { reference: 'Patient/pat' } });
  await trusted.update({ resourceType: 'ClientApplication', id: 'lab' });
  await trusted.update({ resourceType: 'AccessPolicy', id: 'all', resource: [{ resourceType: '*' }] });
  await trusted.update(membership('ann', 'User/ann', 'Practitioner/ann', project));
  await trusted.update(membership('pat', 'User/pat', 'Patient/pat', project));
  await trusted.update(membership('rel', 'User/rel', 'RelatedPerson/rel', project));
  await trusted.update(membership('lab', 'ClientApplication/lab', 'ClientApplication/lab', project));
  return trusted;
}

function membership(
  id: string,
  user: string,
  profile: string,
  project = 'clinic',
  more: Partial<ProjectMembership> = {},
): ProjectMembership {
  const elements = {
    project: { reference: `Project/${project}` },
    user: { reference: user },
    profile: { reference: profile },
  };
  return { resourceType: 'ProjectMembership', id: `${project}-${id}`, ...elements, ...more };
}

overStores('signing in', (open) => {
  test('returns a caller for a membership, a user in a project, or a program in a project', async () => {
    const store = open();
    await clinic(store);
    const ann = {
      kind: 'member',
      project: 'clinic',
      membership: 'clinic-ann',
      user: 'User/ann',
      profile: 'Practitioner/ann',
      admin: false,
      superAdmin: false,
    };
    for (const credentials of [
      { membership: 'clinic-ann' },
      { membership: 'ProjectMembership/clinic-ann' },
      { membership: { reference: 'ProjectMembership/clinic-ann' } },
      { project: 'clinic', user: 'ann' },
      { project: { reference: 'Project/clinic' }, user: 'User/ann' },
    ] satisfies SignInIdentity[]) {
      expect(await signIn(store, credentials)).toMatchObject(ann);
    }
    for (const client of ['lab', 'ClientApplication/lab']) {
      const caller = await signIn(store, { project: 'clinic', client });
      expect(caller).toMatchObject({ membership: 'clinic-lab', profile: 'ClientApplication/lab' });
    }
  });

  test.each<[string, SignInIdentity]>([
    ['an invalid id', { membership: '../x' }],
    ['a reference to another type', { membership: 'Patient/pat' }],
    ['an empty reference', { membership: {} }],
    ['an invalid project id', { project: 'a b', user: 'ann' }],
    ['an invalid user reference', { project: 'clinic', user: 'Patient/pat' }],
    ['an id with a search in it', { project: 'clinic', user: 'ann,pat' }],
    ['an invalid program reference', { project: 'clinic', client: 'Patient/pat' }],
  ])('refuses %s', async (_, credentials) => {
    const store = open();
    await clinic(store);
    expect(await codeOf(signIn(store, credentials))).toBe('invalid');
  });

  test.each<[string, object | undefined]>([
    ['no project', { project: undefined, user: 'ann' }],
    ['an empty project', { project: '', user: 'ann' }],
    ['no user', { project: 'clinic', user: undefined }],
    ['an empty user', { project: 'clinic', user: '' }],
    ['neither', {}],
    ['no client', { project: 'clinic', client: null }],
    ['no membership', { membership: undefined }],
    ['no identity', undefined],
  ])('a token with %s identifies nobody', async (_, claims) => {
    const store = open();
    await clinic(store);
    expect(await codeOf(signIn(store, claims as never))).toBe('unauthenticated');
  });

  test.each<[string, string, (trusted: Repository) => Promise<unknown>, SignInIdentity?]>([
    ['an unknown membership', 'membership-missing', async () => undefined, { membership: 'nobody' }],
    ['an unknown user', 'membership-missing', async () => undefined, { project: 'clinic', user: 'nobody' }],
    ['a user as a program', 'membership-missing', async () => undefined, { project: 'clinic', client: 'ann' }],
    ['a program as a user', 'membership-missing', async () => undefined, { project: 'clinic', user: 'lab' }],
    ['an unknown project', 'project-missing', async () => undefined, { project: 'nowhere', user: 'ann' }],
    ['a deleted membership', 'membership-missing', (trusted) => trusted.delete('ProjectMembership', 'clinic-ann')],
    [
      'an inactive membership',
      'membership-inactive',
      (trusted) => trusted.update(membership('ann', 'User/ann', 'Practitioner/ann', 'clinic', { active: false })),
    ],
    ['a deleted project', 'project-missing', (trusted) => trusted.delete('Project', 'clinic')],
    ['a deleted user', 'user-missing', (trusted) => trusted.delete('User', 'ann')],
    [
      'a profile that never was',
      'profile-missing',
      (trusted) => trusted.update(membership('ann', 'User/ann', 'Practitioner/nobody')),
    ],
    [
      'a policy that never was',
      'policy-missing',
      (trusted) =>
        trusted.update(
          membership('ann', 'User/ann', 'Practitioner/ann', 'clinic', {
            accessPolicy: { reference: 'AccessPolicy/none' },
          }),
        ),
    ],
    [
      'a policy that was deleted',
      'policy-missing',
      async (trusted) => {
        await trusted.delete('AccessPolicy', 'all');
        const access = [{ policy: { reference: 'AccessPolicy/all' } }];
        await trusted.update(membership('ann', 'User/ann', 'Practitioner/ann', 'clinic', { access }));
      },
    ],
    [
      'a parameter that does not fit',
      'policy-invalid',
      async (trusted) => {
        const resource = [{ resourceType: 'Patient', criteria: 'Patient?birthdate=%day' }];
        await trusted.update({ resourceType: 'AccessPolicy', id: 'day', resource }).catch(() => undefined);
        const policy = { reference: 'AccessPolicy/day' };
        const access = [{ policy, parameter: [{ name: 'day', valueString: 'someday' }] }];
        await trusted.update(membership('ann', 'User/ann', 'Practitioner/ann', 'clinic', { access }));
      },
    ],
  ])('reports %s: %s', async (_, code, spoil, credentials = { membership: 'clinic-ann' }) => {
    const store = open();
    const trusted = await clinic(store);
    await spoil(trusted);
    const fault = await faultOf(signIn(store, credentials));
    expect(fault.code).toBe(code);
    expect(fault.status).toBe(403);
  });

  test('reports a deleted profile with a way to fix it', async () => {
    const store = open();
    await clinic(store);
    // Past the guard, which would refuse: an operator's hand, or data from elsewhere.
    await store.commit([{ kind: 'delete', key: { project: 'clinic', type: 'Practitioner', id: 'ann' } }]);
    expect(await faultOf(signIn(store, { project: 'clinic', user: 'ann' }))).toMatchObject({
      code: 'profile-missing',
      message: expect.stringContaining('Practitioner/ann'),
    });
  });

  test('of a person with several memberships needs to know which membership', async () => {
    const store = open();
    const trusted = await clinic(store);
    await trusted.update(membership('ann2', 'User/ann', 'Patient/pat'));
    const fault = await faultOf(signIn(store, { project: 'clinic', user: 'ann' }));
    expect(fault).toMatchObject({
      code: 'membership-ambiguous',
      details: {
        memberships: [
          { membership: 'ProjectMembership/clinic-ann', profile: 'Practitioner/ann' },
          { membership: 'ProjectMembership/clinic-ann2', profile: 'Patient/pat' },
        ],
      },
    });
    expect(await signIn(store, { membership: 'clinic-ann2' })).toMatchObject({ profile: 'Patient/pat' });
    await trusted.update(membership('ann2', 'User/ann', 'Patient/pat', 'clinic', { active: false }));
    expect(await signIn(store, { project: 'clinic', user: 'ann' })).toMatchObject({ profile: 'Practitioner/ann' });
  });

  test('can demand a policy', async () => {
    const store = open();
    const trusted = await clinic(store);
    const credentials = { membership: 'clinic-ann' };
    expect(await codeOf(signIn(store, credentials, { requirePolicy: true }))).toBe('policy-required');
    const accessPolicy = { reference: 'AccessPolicy/all' };
    await trusted.update(membership('ann', 'User/ann', 'Practitioner/ann', 'clinic', { accessPolicy }));
    expect(await signIn(store, credentials, { requirePolicy: true })).toMatchObject({ user: 'User/ann' });
  });

  test('separates projects that have the same user', async () => {
    const store = open();
    await clinic(store, 'north');
    await clinic(store, 'south');
    expect(await signIn(store, { project: 'south', user: 'ann' })).toMatchObject({
      project: 'south',
      membership: 'south-ann',
    });
    expect(await signIn(store, { membership: 'north-ann' })).toMatchObject({ project: 'north' });
    // The id of a membership is unique over projects, so a second membership cannot take it over.
    const south = createRepository({ store, caller: serverCaller('south') });
    const stolen = { ...membership('ann', 'User/ann', 'Practitioner/ann', 'south'), id: 'north-ann' };
    expect(await codeOf(south.update(stolen))).toBe('conflict');
  });

  test('without a policy grants the default rights of the profile type', async () => {
    const store = open();
    await clinic(store);
    const seen = async (user: string, type: 'Patient' | 'Observation' | 'RelatedPerson'): Promise<unknown> => {
      const credentials = user === 'lab' ? { project: 'clinic', client: user } : { project: 'clinic', user };
      const page = await repositoryOf(store, await signIn(store, credentials)).search(type);
      return (page.entry ?? []).map(({ resource }) => resource!.id);
    };
    for (const user of ['ann', 'lab']) {
      expect(await seen(user, 'Patient')).toEqual(['other', 'pat']);
      expect(await seen(user, 'Observation')).toEqual(['other', 'pat']);
    }
    for (const user of ['pat', 'rel']) {
      expect(await seen(user, 'Patient')).toEqual(['pat']);
      expect(await seen(user, 'Observation')).toEqual(['pat']);
      expect(await seen(user, 'RelatedPerson')).toEqual(['rel']);
    }
    const pat = repositoryOf(store, await signIn(store, { project: 'clinic', user: 'pat' }));
    expect(await codeOf(pat.update({ resourceType: 'Patient', id: 'pat', active: true }))).toBe('forbidden');
  });

  test('with the same policy several times grants the sum, each with its own parameters', async () => {
    const store = open();
    const trusted = await clinic(store);
    const resource = [{ resourceType: 'Observation', criteria: 'Observation?subject=%whom' }];
    await trusted.update({ resourceType: 'AccessPolicy', id: 'whom', resource });
    const policy = { reference: 'AccessPolicy/whom' };
    const granted = async (...whom: string[][]): Promise<unknown> => {
      const access = whom.map((patients) => ({
        policy,
        parameter: patients.map((reference) => ({ name: 'whom', valueReference: { reference } })),
      }));
      await trusted.update(membership('ann', 'User/ann', 'Practitioner/ann', 'clinic', { access }));
      const page = await repositoryOf(store, await signIn(store, { membership: 'clinic-ann' })).search('Observation');
      return (page.entry ?? []).map(({ resource }) => resource!.id);
    };
    expect(await granted(['Patient/pat'], ['Patient/other'])).toEqual(['other', 'pat']);
    expect(await granted(['Patient/pat', 'Patient/other'])).toEqual(['other', 'pat']);
    expect(await granted(['Patient/pat'])).toEqual(['pat']);
    expect(await granted([])).toEqual([]);
  });
});

test('the first sign-in with a long policy compiles its rules in turns', async () => {
  const store = new MemoryStore();
  const trusted = await clinic(store);
  const resource = ['Patient', 'Observation'].flatMap((resourceType) =>
    Array.from({ length: 60 }, (_, n) => ({ resourceType, criteria: `${resourceType}?identifier=${n}` })),
  );
  await trusted.update({ resourceType: 'AccessPolicy', id: 'long', resource });
  const accessPolicy = { reference: 'AccessPolicy/long' };
  await trusted.update(membership('ann', 'User/ann', 'Practitioner/ann', 'clinic', { accessPolicy }));
  PACE.turnMs = 1e9;
  onTestFinished(() => void (PACE.turnMs = turnMs));
  const identity = { project: 'clinic', user: 'ann' };
  const short = await countTurns(() => signIn(store, { project: 'clinic', user: 'pat' }));
  PACE.turnMs = 0;
  const first = await countTurns(() => signIn(store, identity));
  const again = await countTurns(() => signIn(store, identity));
  expect([short, first, again].map(({ result }) => result.user)).toEqual(['User/pat', 'User/ann', 'User/ann']);
  // Rules of both types, each in a step.
  expect(first.turns - again.turns).toBeGreaterThanOrEqual(120);
  expect(short.turns).toBeLessThan(10);
  const { rules } = first.result;
  expect([rules.rulesFor('Patient'), rules.rulesFor('Observation')].map(({ length }) => length)).toEqual([60, 60]);
});
