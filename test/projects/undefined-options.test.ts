import { expect, test } from 'vitest';
import {
  type ClientChanges,
  createBot,
  createClient,
  createProject,
  invite,
  type InviteBody,
  type MemberChanges,
  type MembershipChoice,
  updateClient,
  updateMember,
} from '../../src/index.js';
import { openClinic, person } from './harness.js';

/** Every optional property, present and undefined: a missing one does not compile. */
type AllUndefined<Options> = {
  [Name in keyof Options as Record<never, never> extends Pick<Options, Name> ? Name : never]-?: undefined;
};

const choice: AllUndefined<MembershipChoice> = {
  access: undefined,
  accessPolicy: undefined,
  active: undefined,
  admin: undefined,
  clearance: undefined,
  expires: undefined,
  externalId: undefined,
  identifier: undefined,
  profile: undefined,
  resourceType: undefined,
  userConfiguration: undefined,
  userName: undefined,
};

const invitation: AllUndefined<InviteBody> = {
  access: undefined,
  accessPolicy: undefined,
  admin: undefined,
  dryRun: undefined,
  email: undefined,
  externalId: undefined,
  forceNewMembership: undefined,
  membership: undefined,
  mfaRequired: undefined,
  newProfile: undefined,
  patient: undefined,
  scope: undefined,
  sendEmail: undefined,
  upsert: undefined,
};

const memberChanges: AllUndefined<MemberChanges> = {
  access: undefined,
  accessPolicy: undefined,
  active: undefined,
  admin: undefined,
  clearance: undefined,
  expires: undefined,
  externalId: undefined,
  identifier: undefined,
  userConfiguration: undefined,
  userName: undefined,
};

test('an invite accepts undefined for omitted values', async () => {
  const clinic = await openClinic();
  const context = { store: clinic.store, caller: clinic.admin };
  const { email, ...ann } = person('Practitioner', 'Ann');
  const invited = await invite(clinic.project, { ...invitation, ...ann, email, membership: choice }, context);
  expect(invited.created).toEqual({ user: true, profile: true, membership: true });
  expect(Object.keys(invited.membership).filter((name) => name in choice)).toEqual([
    'resourceType',
    'active',
    'profile',
  ]);
  expect(invited.user).not.toHaveProperty('mfaRequired');
});

test('a parameter of a policy accepts undefined for an absent value', async () => {
  const clinic = await openClinic();
  const context = { store: clinic.store, caller: clinic.admin };
  const { createRepository } = await import('../../src/repository/create-repository.js');
  const policy = await createRepository(context).create({
    resourceType: 'AccessPolicy',
    name: 'Ward',
    resource: [{ resourceType: 'Patient', criteria: 'Patient?name=%ward' }],
  });
  const parameter = [{ name: 'ward', valueString: 'north', valueReference: undefined }];
  const access = [{ policy: { reference: `AccessPolicy/${policy.id}`, display: undefined }, parameter }] as never;
  const identifier = [{ use: undefined, system: 'urn:staff', value: '7' }];
  const { membership } = await invite(
    clinic.project,
    person('Practitioner', 'Bea', { membership: { access, identifier } }),
    context,
  );
  expect(membership.access?.[0]?.parameter).toEqual([{ name: 'ward', valueString: 'north' }]);
  expect(membership.identifier).toEqual([{ system: 'urn:staff', value: '7' }]);
});

test('changes of a member, a client and a project accept undefined for unchanged values', async () => {
  const clinic = await openClinic();
  const context = { store: clinic.store, caller: clinic.admin };
  const { membership } = await invite(clinic.project, person('Practitioner', 'Ann', { externalId: 'ann' }), context);
  const same = await updateMember(membership.id, memberChanges, context);
  expect(same).toEqual(membership);

  const body = { name: 'App', description: undefined, admin: undefined, access: undefined, accessPolicy: undefined };
  const { client } = await createClient(clinic.project, { ...body, redirectUris: ['https://app.example'] }, context);
  const target = { project: clinic.project, client: client.id };
  const changes: ClientChanges = { name: undefined, redirectUris: undefined, identityProvider: undefined };
  expect(await updateClient(target, changes, context)).toEqual(client);
  expect(await updateClient(target, { ...changes, description: 'x' }, context)).toMatchObject({
    name: 'App',
    description: 'x',
    redirectUris: ['https://app.example'],
  });
  const { bot } = await createBot(clinic.project, { ...body, code: undefined }, context);
  expect(bot).not.toHaveProperty('code');

  const project = { resourceType: 'Project', name: 'Ward', description: undefined, strictMode: undefined } as const;
  expect(await createProject(project, { store: clinic.store, caller: clinic.superAdmin })).toMatchObject({
    name: 'Ward',
    strictMode: true,
  });
});
