import { expect, test } from 'vitest';
import { ownParameters } from '../../src/access/sign-in/member.js';
import { formerMembershipWrite, formerProfiles } from '../../src/access/write/membership-records.js';
import { type AnyResource, MemoryStore } from '../../src/index.js';
import { R4 } from '../../src/store.js';

function membership(user: unknown, profile: unknown): AnyResource {
  return { resourceType: 'ProjectMembership', id: 'm', active: true, user, profile } as unknown as AnyResource;
}

test('the record of a removed membership names its project, user and profile, and no more', () => {
  const made = membership({ reference: 'User/u', display: 'Ann' }, { reference: 'Patient/p' });
  const write = formerMembershipWrite('clinic', made)!;
  const { id } = write.key;
  expect(id).toMatch(/^[0-9a-f]{64}$/);
  expect(write).toEqual({
    kind: 'put',
    key: { project: '/former-memberships', type: 'ProjectMembership', id },
    resource: {
      resourceType: 'ProjectMembership',
      id,
      active: false,
      project: { reference: 'Project/clinic' },
      user: { reference: 'User/u' },
      profile: { reference: 'Patient/p' },
    },
  });
  expect(formerMembershipWrite('clinic', { ...made, id: 'other' })).toEqual(write);
  const others = [
    formerMembershipWrite('other', made),
    formerMembershipWrite('clinic', membership({ reference: 'User/v' }, { reference: 'Patient/p' })),
    formerMembershipWrite('clinic', membership({ reference: 'User/u' }, { reference: 'Patient/q' })),
  ];
  expect(new Set([id, ...others.map((one) => one!.key.id)]).size).toBe(4);
});

test.each([
  [{ reference: 'ClientApplication/c' }, { reference: 'ClientApplication/c' }],
  [undefined, { reference: 'Patient/p' }],
  ['User/u', { reference: 'Patient/p' }],
  [{ reference: 7 }, { reference: 'Patient/p' }],
  [{ reference: 'User/u' }, undefined],
  [{ reference: 'User/u' }, { reference: 7 }],
  [{ reference: 'User/u' }, { display: 'Ann' }],
])('no record is created for a user %j with the profile %j', (user, profile) => {
  expect(formerMembershipWrite('clinic', membership(user, profile))).toBeUndefined();
});

test('the former profiles are those of this user in this project', async () => {
  const store = new MemoryStore();
  for (const [project, user, profile] of [
    ['clinic', 'User/u', 'Patient/p'],
    ['clinic', 'User/u', 'Practitioner/d'],
    ['clinic', 'User/v', 'Patient/q'],
    ['other', 'User/u', 'Patient/r'],
  ] as const) {
    const removed = formerMembershipWrite(project, membership({ reference: user }, { reference: profile }));
    await store.commit([removed!]);
  }
  const own = await formerProfiles(store, 'clinic', 'u', undefined);
  expect([...own].sort()).toEqual(['Patient/p', 'Practitioner/d']);
  expect(await formerProfiles(store, 'clinic', 'v', undefined)).toEqual(['Patient/q']);
  expect(await formerProfiles(store, 'clinic', 'nobody', undefined)).toEqual([]);
});

test('a profile sets %profile, and %patient if it is a patient or acts for a patient', () => {
  const given = (profile: object): unknown => Object.fromEntries(ownParameters({ model: R4 }, profile as AnyResource));
  const own = (type: string): object[] => [{ kind: 'reference', type, id: '1' }];
  expect(given({ resourceType: 'Patient', id: '1' })).toEqual({ profile: own('Patient'), patient: own('Patient') });
  const patient = { reference: 'Patient/1' };
  expect(given({ resourceType: 'RelatedPerson', id: '1', patient })).toEqual({
    profile: own('RelatedPerson'),
    patient: own('Patient'),
  });
  expect(given({ resourceType: 'RelatedPerson', id: '1' })).toEqual({ profile: own('RelatedPerson') });
  // An element of that name in another type is not whom it acts for.
  expect(given({ resourceType: 'Practitioner', id: '1', patient })).toEqual({ profile: own('Practitioner') });
});
