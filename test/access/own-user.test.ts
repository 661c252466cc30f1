import { serverCaller, signIn } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import type { User } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import { codeOf, overStores, repositoryOf, signedIn, system } from '../repository/harness.js';

/** Elements of its own User that a person can change: names and other elements that grant no right. */
const HARMLESS = new Set(['contained', 'extension', 'firstName', 'language', 'lastName', 'modifierExtension', 'text']);

/** A value of each other element, unlike the stored one. */
const VALUES: { readonly [name: string]: unknown } = {
  admin: true,
  email: 'new@example.org',
  emailVerified: true,
  externalId: 'other',
  identifier: [{ value: 'other' }],
  implicitRules: 'https://other.example',
  mfaEnrolled: true,
  mfaMethod: ['email'],
  mfaRequired: false,
  mfaSecret: 'other',
  passwordHash: 'other',
  project: { reference: 'Project/other' },
};

overStores('the own User', (open) => {
  test('keeps every element that others rely on, present or absent', async () => {
    const store = open();
    await system(store);
    const caller = await signedIn(store);
    const mine = repositoryOf(store, caller);
    const user = await mine.read('User', caller.user.slice('User/'.length));
    const names = [...R4.typeDefinition('User')!.elements.keys()].filter((name) => !HARMLESS.has(name));
    expect(names.filter((name) => name !== 'id' && name !== 'meta').sort()).toEqual(Object.keys(VALUES).sort());
    for (const [name, value] of [...Object.entries(VALUES), ['status', 'active']]) {
      expect(await codeOf(mine.update({ ...user, [name]: value })), String(name)).toMatch(/forbidden|unprocessable/);
      const added = mine.patch('User', user.id, [{ op: 'add', path: `/${String(name)}`, value }]);
      expect(await codeOf(added), String(name)).toMatch(/forbidden|unprocessable/);
    }
    expect(await mine.read('User', user.id)).toEqual(user);
    const renamed = await mine.update({ ...user, firstName: 'Renamed', language: 'de' });
    expect(renamed).toMatchObject({ firstName: 'Renamed', language: 'de' });
  });

  test('keeps these elements if the person omits them', async () => {
    const store = open();
    await system(store);
    const caller = await signedIn(store);
    const id = caller.user.slice('User/'.length);
    const operator = repositoryOf(store, serverCaller());
    const kept = { mfaMethod: ['totp'], mfaRequired: true, externalId: 'x', emailVerified: true };
    await operator.update({ ...(await operator.read('User', id)), ...kept } as User);
    const mine = repositoryOf(store, caller);
    await mine.update({ resourceType: 'User', id, firstName: 'Renamed', lastName: 'Last' });
    expect(await operator.read('User', id)).toMatchObject({ ...kept, firstName: 'Renamed' });
    await mine.patch('User', id, [{ op: 'remove', path: '/mfaRequired' }]);
    expect(await operator.read('User', id)).toMatchObject(kept);
  });

  test.each(['User', 'ClientApplication'] as const)(
    'or a program that is switched off does not sign in: %s',
    async (type) => {
      const store = open();
      await system(store);
      const profile = { resourceType: 'ClientApplication', id: 'lab', name: 'Lab' } as const;
      const caller = await signedIn(store, type === 'User' ? {} : { profile });
      const [key] =
        type === 'User'
          ? [{ project: '', type, id: caller.user.slice('User/'.length) }]
          : [{ project: 'clinic', type, id: 'lab' }];
      const [found] = await store.read([key]);
      if (found?.status !== 'found') throw new Error('it exists');
      const membership = { project: 'clinic', type: 'ProjectMembership', id: caller.membership };
      const [member] = await store.read([membership]);
      if (member?.status !== 'found') throw new Error('it exists');
      const user = { reference: type === 'User' ? caller.user : 'ClientApplication/lab' };
      await store.commit([{ kind: 'put', key: membership, resource: { ...member.resource, user } as never }]);
      expect(await signIn(store, { membership: caller.membership })).toMatchObject({ user: user.reference });
      await store.commit([{ kind: 'put', key: key, resource: { ...found.resource, status: 'off' } as never }]);
      expect(await codeOf(signIn(store, { membership: caller.membership }))).toBe('membership-inactive');
      const identity = type === 'User' ? { user: user.reference } : { client: 'lab' };
      expect(await codeOf(signIn(store, { project: 'clinic', ...identity }))).toBe('membership-inactive');
    },
  );
});
