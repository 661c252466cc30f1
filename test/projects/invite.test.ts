import type { Patient, Practitioner, RelatedPerson } from '@medplum/fhirtypes';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  createRepository,
  invite,
  type InviteBody,
  type InviteContext,
  removeMember,
  serverCaller,
  signIn,
  systemCaller,
  updateMember,
} from '../../src/index.js';
import {
  type Clinic,
  contents,
  countOf,
  openClinic,
  organization,
  patient,
  person,
  policy,
  put,
  rejection,
  stores,
} from './harness.js';

describe.each(stores)('invite on %s', (_name, makeStore) => {
  let clinic: Clinic;
  let context: InviteContext;

  beforeEach(async () => {
    clinic = await openClinic(makeStore());
    context = { store: clinic.store, caller: clinic.admin };
  });

  function send(body: InviteBody): ReturnType<typeof invite> {
    return invite(clinic.project, body, context);
  }

  test('creates a User, a profile and a membership that refer to each other', async () => {
    const { user, profile, membership, created, email } = await send(person('Practitioner', 'Ann'));
    expect(created).toEqual({ user: true, profile: true, membership: true });
    expect(email).toEqual({ status: 'skipped', reason: 'no-mailer' });
    expect(user).toMatchObject({ firstName: 'Ann', lastName: 'Smith', email: 'ann@example.org' });
    expect(user.project).toBeUndefined();
    expect(profile).toMatchObject({
      resourceType: 'Practitioner',
      name: [{ given: ['Ann'], family: 'Smith' }],
      telecom: [{ system: 'email', use: 'work', value: 'ann@example.org' }],
    });
    expect(membership).toMatchObject({
      active: true,
      project: { reference: `Project/${clinic.project}` },
      user: { reference: `User/${user.id}`, display: 'ann@example.org' },
      profile: { reference: `Practitioner/${profile.id}`, display: 'Ann Smith' },
      invitedBy: { reference: `User/${clinic.first.user.id}` },
    });
    expect(membership.admin).toBeUndefined();
  });

  test('results are copies: changing them changes nothing stored', async () => {
    const { profile, membership } = await send(person('Practitioner', 'Ann'));
    const before = await contents(clinic.store, clinic.project);
    (profile as Practitioner).name!.push({ family: 'Changed' });
    membership.admin = true;
    expect(await contents(clinic.store, clinic.project)).toEqual(before);
  });

  test('an invited person can sign in', async () => {
    const { membership, profile } = await send(person('Patient', 'Pat'));
    const caller = await signIn(clinic.store, { membership: membership.id });
    expect(caller).toMatchObject({ profile: `Patient/${profile.id}`, admin: false, superAdmin: false });
  });

  test('trusted code of the project invites without being named', async () => {
    const { membership } = await invite(clinic.project, person('Practitioner', 'Ann'), {
      ...context,
      caller: systemCaller(clinic.project),
    });
    expect(membership.invitedBy).toBeUndefined();
  });

  test('a program of the super-admin project invites by name, not by an ambiguous reference', () => {
    const { invitedBy } = clinic.first.membership;
    expect(invitedBy).toMatchObject({
      type: 'ClientApplication',
      display: expect.stringMatching(/^ClientApplication\/.+ of Project\/.+/),
    });
    expect(invitedBy!.reference).toBeUndefined();
  });

  describe('the scope of the User', () => {
    test.each([
      ['Practitioner', {}, 'server'],
      ['RelatedPerson', {}, 'server'],
      ['Patient', {}, 'project'],
      ['Patient', { scope: 'server' }, 'server'],
      ['Practitioner', { scope: 'project' }, 'project'],
      ['Practitioner', { externalId: 'x1' }, 'project'],
      ['Practitioner', { membership: { externalId: 'x1' } }, 'project'],
    ] as const)('of a %s with %j is the %s', async (type, more, scope) => {
      await put(clinic.store, clinic.project, patient('p1'));
      const related = type === 'RelatedPerson' ? { patient: { reference: 'Patient/p1' } as const } : {};
      const { user } = await send(person(type, 'Ann', { ...related, ...more }));
      expect(user.project?.reference).toBe(scope === 'project' ? `Project/${clinic.project}` : undefined);
    });
  });

  describe('the User', () => {
    test('differs from a User with an address that differs in punctuation only', async () => {
      const one = await send(person('Practitioner', 'Ann', { email: 'ann.lee@example.org' }));
      const other = await send(person('Practitioner', 'Ann', { email: 'annlee@example.org' }));
      expect(other.created.user).toBe(true);
      expect(other.user.id).not.toBe(one.user.id);
    });

    test('is found with any spelling of its address', async () => {
      const user = {
        resourceType: 'User',
        id: 'ann',
        firstName: 'Ann',
        lastName: 'Lee',
        email: '\uff21nn@Example.org',
      };
      await put(clinic.store, clinic.project, user);
      const result = await send(person('Practitioner', 'Ann'));
      expect(result.created).toEqual({ user: false, profile: true, membership: true });
      expect(result.user.id).toBe('ann');
    });
  });

  describe('the profile', () => {
    test('named in the body is used', async () => {
      await put(clinic.store, clinic.project, patient('p1'));
      const { profile, created } = await send(person('Patient', 'Pat', { membership: { profile: 'Patient/p1' } }));
      expect(profile.id).toBe('p1');
      expect(created).toEqual({ user: true, profile: false, membership: true });
    });

    test('with the same e-mail but of another type than requested is not used', async () => {
      await put(
        clinic.store,
        clinic.project,
        patient('p1', { telecom: [{ system: 'email', value: 'ann@example.org' }] }),
      );
      const { profile } = await send(person('Practitioner', 'Ann'));
      expect(profile.resourceType).toBe('Practitioner');
    });

    test('of a new RelatedPerson belongs to its patient', async () => {
      await put(clinic.store, clinic.project, patient('p1'));
      const { profile } = await send(person('RelatedPerson', 'Mum', { patient: 'Patient/p1' }));
      expect((profile as RelatedPerson).patient).toEqual({ reference: 'Patient/p1' });
    });

    test('that a member has cannot be deleted, and is kept when the member is removed', async () => {
      const { profile, membership } = await send(person('Practitioner', 'Ann'));
      const repository = createRepository({ store: clinic.store, caller: systemCaller(clinic.project) });
      const error = await rejection(repository.delete('Practitioner', profile.id));
      expect(error.code).toBe('conflict');
      expect(error.message).toContain(`ProjectMembership/${membership.id}`);
      await removeMember(membership.id, context);
      expect((await repository.read('Practitioner', profile.id)).id).toBe(profile.id);
    });

    test('is found again after the member was removed', async () => {
      const before = await send(person('Practitioner', 'Ann'));
      await removeMember(before.membership.id, context);
      const again = await send(person('Practitioner', 'Ann'));
      expect(again.created).toEqual({ user: false, profile: false, membership: true });
      expect(again.user.id).toBe(before.user.id);
      expect(again.profile.id).toBe(before.profile.id);
      expect(again.membership.id).not.toBe(before.membership.id);
    });
  });

  describe('access', () => {
    test('can be the same policy twice with other parameters, as in the service document', async () => {
      const rules = [{ resourceType: 'Patient', criteria: 'Patient?organization=%organization' }];
      await put(clinic.store, clinic.project, policy('staff', rules), organization('o1'), organization('o2'));
      const access = ['o1', 'o2'].map((id) => ({
        policy: { reference: 'AccessPolicy/staff' } as const,
        parameter: [{ name: 'organization', valueReference: { reference: `Organization/${id}` } as const }],
      }));
      const { membership } = await send(person('Practitioner', 'Ann', { membership: { access } }));
      expect(membership.access).toEqual(access);
    });

    test('can be at the top level of the body, as in earlier versions', async () => {
      await put(clinic.store, clinic.project, policy('staff'));
      const accessPolicy = { reference: 'AccessPolicy/staff' } as const;
      expect((await send(person('Practitioner', 'Ann', { accessPolicy }))).membership.accessPolicy).toEqual(
        accessPolicy,
      );
      const access = [{ policy: accessPolicy }];
      expect((await send(person('Practitioner', 'Bob', { access }))).membership.access).toEqual(access);
    });

    test('an empty list selects nothing', async () => {
      const { membership } = await send(person('Practitioner', 'Ann', { membership: { access: [] } }));
      expect(membership.access).toBeUndefined();
    });

    test('admin can be at the top level or in membership', async () => {
      expect((await send(person('Practitioner', 'Ann', { admin: true }))).membership.admin).toBe(true);
      expect((await send(person('Practitioner', 'Bob', { membership: { admin: true } }))).membership.admin).toBe(true);
    });

    test('further settings of the membership are kept', async () => {
      const identifier = [{ system: 'urn:staff', value: '7' }];
      const settings = { active: false, userName: 'ann', externalId: 'x7', identifier };
      const { membership } = await send(person('Practitioner', 'Ann', { membership: settings }));
      expect(membership).toMatchObject(settings);
    });
  });

  describe('a person who is already a member', () => {
    test('is refused by default, with any spelling of the e-mail', async () => {
      const { membership } = await send(person('Practitioner', 'Ann'));
      const error = await rejection(send(person('Practitioner', 'Ann', { email: 'ANN@EXAMPLE.ORG' })));
      expect(error).toMatchObject({ code: 'conflict', status: 409 });
      expect(error.message).toContain('User is already a member of this project');
      expect(error.details).toEqual({ memberships: [`ProjectMembership/${membership.id}`] });
    });

    test('keeps the membership with upsert, and nothing is written without a change', async () => {
      const first = await send(person('Practitioner', 'Ann'));
      const before = await contents(clinic.store, clinic.project);
      const again = await send(person('Practitioner', 'Ann', { upsert: true }));
      expect(again.created).toEqual({ user: false, profile: false, membership: false });
      expect(again.membership).toEqual(first.membership);
      expect(await contents(clinic.store, clinic.project)).toEqual(before);
    });

    test('gets the selected values with upsert and keeps the rest', async () => {
      await put(clinic.store, clinic.project, policy('staff'));
      const first = await send(person('Practitioner', 'Ann', { membership: { userName: 'ann' } }));
      const accessPolicy = { reference: 'AccessPolicy/staff' } as const;
      const { membership } = await send(person('Practitioner', 'Ann', { upsert: true, membership: { accessPolicy } }));
      expect(membership).toMatchObject({ id: first.membership.id, userName: 'ann', accessPolicy });
      expect(membership.meta.versionId).not.toBe(first.membership.meta.versionId);
    });

    test('gets another membership with forceNewMembership, with the same User and profile', async () => {
      const first = await send(person('Practitioner', 'Ann'));
      const other = await send(person('Practitioner', 'Ann', { forceNewMembership: true }));
      expect(other.created).toEqual({ user: false, profile: false, membership: true });
      expect(other.membership.id).not.toBe(first.membership.id);
      expect(other.profile.id).toBe(first.profile.id);
    });

    test('with several memberships needs a selection for upsert', async () => {
      const ann = person('Practitioner', 'Ann');
      const one = await send(ann);
      await put(clinic.store, clinic.project, { resourceType: 'Practitioner', id: 'other' });
      const two = await send({ ...ann, forceNewMembership: true, membership: { profile: 'Practitioner/other' } });
      const error = await rejection(send({ ...ann, upsert: true }));
      expect(error.code).toBe('conflict');
      expect(error.details!['memberships']).toHaveLength(2);
      const named = await send({ ...ann, upsert: true, membership: { profile: 'Practitioner/other', userName: 'b' } });
      expect(named.membership.id).toBe(two.membership.id);
      expect(named.membership.id).not.toBe(one.membership.id);
    });

    test('with another type of profile is refused, with upsert too', async () => {
      await send(person('Practitioner', 'Ann'));
      const error = await rejection(send(person('Patient', 'Ann', { scope: 'server', upsert: true })));
      expect(error.code).toBe('conflict');
      expect(error.message).toContain('with a different profile');
    });

    test('through a User of the other scope is refused, unless another membership is requested', async () => {
      await send(person('Practitioner', 'Ann'));
      const error = await rejection(send(person('Patient', 'Ann')));
      expect(error.code).toBe('conflict');
      expect(error.message).toContain('with a User of another scope');
      expect((await rejection(send(person('Patient', 'Ann', { upsert: true })))).code).toBe('conflict');
      const { user, created } = await send(person('Patient', 'Ann', { forceNewMembership: true }));
      expect(created.user).toBe(true);
      expect(user.project!.reference).toBe(`Project/${clinic.project}`);
    });

    test('with a lost profile gets another with upsert', async () => {
      const first = await send(person('Practitioner', 'Ann'));
      const key = { project: clinic.project, type: 'Practitioner', id: first.profile.id };
      // Past the guard, which does not let a member's profile go.
      await clinic.store.commit([{ kind: 'delete', key }]);
      expect((await rejection(signIn(clinic.store, { membership: first.membership.id }))).code).toBe('profile-missing');
      const again = await send(person('Practitioner', 'Ann', { upsert: true }));
      expect(again.created).toEqual({ user: false, profile: true, membership: false });
      expect(again.membership.id).toBe(first.membership.id);
      expect((await signIn(clinic.store, { membership: first.membership.id })).profile).toBe(
        `Practitioner/${again.profile.id}`,
      );
    });

    test('in one project can be invited into a second, as the same User', async () => {
      const first = await send(person('Practitioner', 'Ann'));
      const project = 'second';
      await put(clinic.store, project, { resourceType: 'Project', id: project, name: 'Second' } as never);
      const second = await invite(project, person('Practitioner', 'Ann'), { ...context, caller: clinic.superAdmin });
      expect(second.user.id).toBe(first.user.id);
      expect(second.profile.id).not.toBe(first.profile.id);
      expect(second.created).toEqual({ user: false, profile: true, membership: true });
    });
  });

  describe('without an e-mail address', () => {
    const ann = (more: Partial<InviteBody> = {}): InviteBody => ({
      resourceType: 'Practitioner',
      firstName: 'Ann',
      lastName: 'Lee',
      externalId: 'idp|7',
      ...more,
    });

    test('the external id identifies the User, and nothing is sent', async () => {
      const { user, membership, profile, email } = await send(ann());
      expect(user).toMatchObject({ externalId: 'idp|7', project: { reference: `Project/${clinic.project}` } });
      expect(user.email).toBeUndefined();
      expect((profile as Practitioner).telecom).toBeUndefined();
      expect(membership).toMatchObject({ externalId: 'idp|7', user: { display: 'Ann Lee' } });
      expect(email).toEqual({ status: 'skipped', reason: 'no-address' });
    });

    test('the same external id is the same member', async () => {
      const first = await send(ann());
      expect((await rejection(send(ann()))).code).toBe('conflict');
      expect((await rejection(send(ann({ forceNewMembership: true })))).code).toBe('conflict');
      const again = await send(ann({ upsert: true, membership: { userName: 'ann' } }));
      expect(again.membership).toMatchObject({ id: first.membership.id, userName: 'ann' });
      expect(again.created).toEqual({ user: false, profile: false, membership: false });
    });

    test('a removed member is the same User again', async () => {
      const first = await send(ann());
      await removeMember(first.membership.id, context);
      const again = await send(ann({ membership: { profile: `Practitioner/${first.profile.id}` } }));
      expect(again.created).toEqual({ user: false, profile: false, membership: true });
      expect(again.user.id).toBe(first.user.id);
    });

    test('another person cannot have the external id', async () => {
      const { membership } = await send(ann());
      const error = await rejection(send(person('Practitioner', 'Bob', { externalId: 'idp|7' })));
      expect(error.code).toBe('conflict');
      expect(error.message).toContain(`ProjectMembership/${membership.id}`);
    });
  });

  describe('default policies of the project', () => {
    const defaults = (entries: Record<string, string>): object => ({
      defaultAccessPolicies: Object.entries(entries).map(([profileType, id]) => ({
        profileType,
        accessPolicy: { reference: `AccessPolicy/${id}` },
      })),
    });

    async function withDefaults(settings: object, ...policies: readonly string[]): Promise<void> {
      await put(clinic.store, clinic.project, ...policies.map((id) => policy(id)), patient('p1'));
      const repository = createRepository({ store: clinic.store, caller: systemCaller(clinic.project) });
      await repository.update({ ...(await repository.read('Project', clinic.project)), ...settings });
    }

    test.each([
      [
        'Practitioner',
        {},
        { Practitioner: 'staff', Admin: 'chief' },
        { accessPolicy: { reference: 'AccessPolicy/staff' } },
      ],
      [
        'Practitioner',
        { admin: true },
        { Practitioner: 'staff', Admin: 'chief' },
        { accessPolicy: { reference: 'AccessPolicy/chief' } },
      ],
      [
        'Practitioner',
        { admin: true },
        { Practitioner: 'staff' },
        { accessPolicy: { reference: 'AccessPolicy/staff' } },
      ],
      ['Patient', {}, { Patient: 'staff' }, { accessPolicy: { reference: 'AccessPolicy/staff' } }],
      ['Patient', {}, { Practitioner: 'staff' }, {}],
      [
        'RelatedPerson',
        { patient: 'Patient/p1' },
        { RelatedPerson: 'staff' },
        {
          access: [
            {
              policy: { reference: 'AccessPolicy/staff' },
              parameter: [{ name: 'patient', valueReference: { reference: 'Patient/p1' } }],
            },
          ],
        },
      ],
    ] as const)('a %s with %j and defaults %j', async (type, more, entries, expected) => {
      await withDefaults(defaults(entries), 'staff', 'chief');
      const { membership } = await send(person(type, 'Ann', more));
      const { accessPolicy, access } = membership;
      expect({ ...(accessPolicy && { accessPolicy }), ...(access && { access }) }).toEqual(expected);
    });

    test('the older default for Patients still applies', async () => {
      await withDefaults({ defaultPatientAccessPolicy: { reference: 'AccessPolicy/staff' } }, 'staff');
      const { membership } = await send(person('Patient', 'Pat'));
      expect(membership.accessPolicy).toEqual({ reference: 'AccessPolicy/staff' });
    });

    test('an explicit choice takes precedence over the default', async () => {
      await withDefaults(defaults({ Practitioner: 'staff' }), 'staff', 'own');
      const accessPolicy = { reference: 'AccessPolicy/own' } as const;
      const { membership } = await send(person('Practitioner', 'Ann', { membership: { accessPolicy } }));
      expect(membership.accessPolicy).toEqual(accessPolicy);
    });

    test('a default that does not exist stops the invite', async () => {
      await withDefaults(defaults({ Practitioner: 'gone' }));
      const error = await rejection(send(person('Practitioner', 'Ann')));
      expect(error.code).toBe('conflict');
      expect(error.message).toContain('AccessPolicy/gone');
      expect(await countOf(clinic.store, '', 'User')).toBe(1);
    });
  });

  test('a dry run checks everything, reports the effects, and writes nothing', async () => {
    const before = await contents(clinic.store, clinic.project);
    const planned = await send(person('Practitioner', 'Ann', { dryRun: true }));
    expect(planned.created).toEqual({ user: true, profile: true, membership: true });
    expect(planned.email).toEqual({ status: 'skipped', reason: 'dry-run' });
    expect(planned.membership.user.reference).toBe(`User/${planned.user.id}`);
    expect(await contents(clinic.store, clinic.project)).toEqual(before);
    await send(person('Practitioner', 'Ann'));
    expect((await rejection(send(person('Practitioner', 'Ann', { dryRun: true })))).code).toBe('conflict');
  });

  test('an inactive project accepts nobody', async () => {
    const repository = createRepository({ store: clinic.store, caller: serverCaller() });
    await repository.update({ ...(await repository.read('Project', clinic.project)), active: false });
    const caller = clinic.superAdmin;
    const byOthers = invite(clinic.project, person('Patient', 'Pat'), { ...context, caller });
    expect((await rejection(byOthers)).code).toBe('conflict');
    // Its own administrator could not sign in any more.
    expect((await rejection(send(person('Patient', 'Pat')))).code).toBe('project-missing');
  });

  test('upsert cannot demote the last administrator, nor the caller', async () => {
    const ada = person('Practitioner', 'Ada', { upsert: true, membership: { admin: false } });
    expect((await rejection(send(ada))).code).toBe('forbidden');
    const system = { ...context, caller: systemCaller(clinic.project) };
    expect((await rejection(invite(clinic.project, ada, system))).code).toBe('conflict');
    await send(person('Practitioner', 'Bob', { admin: true }));
    expect((await invite(clinic.project, ada, system)).membership.admin).toBe(false);
  });

  test('changes by updateMember survive upserts that do not mention them', async () => {
    const { membership } = await send(person('Patient', 'Pat'));
    await updateMember(membership.id, { active: false }, context);
    const again = await send(person('Patient', 'Pat', { upsert: true }));
    expect(again.membership.active).toBe(false);
    expect((again.profile as Patient).resourceType).toBe('Patient');
  });
});
