import type { Patient, Practitioner, ProjectMembership, RelatedPerson } from '@medplum/fhirtypes';
import { describe, expect, test } from 'vitest';
import {
  type AnyResource,
  type Caller,
  createProject,
  createRepository,
  invite,
  type InviteBody,
  type InviteDryRun,
  type InviteResult,
  removeMember,
  type ResourceStore,
  serverCaller,
  signIn,
  systemCaller,
} from '../../src/index.js';
import { SERVER_SCOPE } from '../../src/store.js';
import { below, createRandom, oneOf } from '../support/kit.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { ALL } from '../../src/search/criteria/criteria.js';
import { cases, SEED } from '../support/chance.js';
import { type Clinic, openClinic, patient, person, policy, put, recordingStore, rejection, stores } from './harness.js';

const emailOf = (name: string): { telecom: [{ system: 'email'; value: string }] } => ({
  telecom: [{ system: 'email', value: `${name}@example.org` }],
});

function send(clinic: Clinic, body: InviteBody, caller: Caller = clinic.admin): Promise<InviteResult> {
  return invite(clinic.project, body, { store: clinic.store, caller });
}

function remove(clinic: Clinic, { membership }: InviteResult): Promise<void> {
  return removeMember(membership.id, { store: clinic.store, caller: clinic.admin });
}

function relative(id: string, child: string, name: string): RelatedPerson {
  return { resourceType: 'RelatedPerson', id, patient: { reference: `Patient/${child}` }, ...emailOf(name) };
}

/** An administrator with a policy that grants only these rules. */
async function limitedAdmin(clinic: Clinic, rules: object[]): Promise<Caller> {
  await put(clinic.store, clinic.project, policy('limited', rules as never));
  const accessPolicy = { reference: 'AccessPolicy/limited' } as const;
  const { membership } = await send(clinic, person('Practitioner', 'Lim', { admin: true, accessPolicy }));
  return signIn(clinic.store, { membership: membership.id });
}

describe('the profile of an invited person', () => {
  test.each(['Patient', 'Practitioner', 'RelatedPerson'] as const)(
    'a %s with the address of somebody else never becomes the profile of that person',
    async (type) => {
      const clinic = await openClinic();
      const planted = { resourceType: type, id: 'planted', ...emailOf('vic') };
      await put(clinic.store, clinic.project, patient('p1'));
      await put(clinic.store, clinic.project, {
        ...planted,
        ...(type === 'RelatedPerson' ? { patient: { reference: 'Patient/p1' } } : {}),
      });
      const own = type === 'RelatedPerson' ? { patient: 'Patient/p1' } : {};
      const body = person(type, 'Vic', own);
      for (const more of [{}, { upsert: true }, { forceNewMembership: true }, { dryRun: true }]) {
        const error = await rejection(send(clinic, person(type, 'Vic', { ...own, ...more })));
        expect(error).toMatchObject({ code: 'conflict', details: { profiles: [`${type}/planted`] } });
        expect(error.message).toContain('membership.profile');
        expect(error.message).toContain('newProfile');
      }
      const { profile, created } = await send(clinic, { ...body, newProfile: true });
      expect(created).toEqual({ user: true, profile: true, membership: true });
      expect(profile.id).not.toBe('planted');
    },
  );

  test('is the one that the body names, even if others have the address', async () => {
    const clinic = await openClinic();
    await put(clinic.store, clinic.project, patient('p1', emailOf('pat')), patient('p2'));
    const { profile } = await send(clinic, person('Patient', 'Pat', { membership: { profile: 'Patient/p2' } }));
    expect(profile.id).toBe('p2');
  });

  test.each(stores)('is that of the former membership, whatever addresses are in profiles, on %s', async (_, make) => {
    const clinic = await openClinic(make());
    const before = await send(clinic, person('Practitioner', 'Ann'));
    await remove(clinic, before);
    await put(clinic.store, clinic.project, {
      resourceType: 'Practitioner',
      id: 'planted',
      ...emailOf('ann'),
    });
    await put(clinic.store, clinic.project, {
      resourceType: 'Practitioner',
      id: before.profile.id,
      ...emailOf('other'),
    });
    const planned = await send(clinic, person('Practitioner', 'Ann', { dryRun: true }));
    expect([planned.created.profile, planned.profile.id]).toEqual([false, before.profile.id]);
    const again = await send(clinic, person('Practitioner', 'Ann'));
    expect(again.created).toEqual({ user: false, profile: false, membership: true });
    expect(again.profile.id).toBe(before.profile.id);
  });

  test('is that of the former membership for a User with a changed address', async () => {
    const clinic = await openClinic();
    const before = await send(clinic, person('Practitioner', 'Ann'));
    await remove(clinic, before);
    const repository = createRepository({ store: clinic.store, caller: serverCaller() });
    await repository.update({ ...(await repository.read('User', before.user.id)), email: 'anna@example.org' });
    const again = await send(clinic, person('Practitioner', 'Anna'));
    expect([again.user.id, again.profile.id]).toEqual([before.user.id, before.profile.id]);
    // The former address of Ann can belong to somebody else, who gets nothing of hers.
    const error = await rejection(send(clinic, person('Practitioner', 'Ann')));
    expect(error.details).toEqual({ profiles: [`Practitioner/${before.profile.id}`] });
  });

  test('is that of the former membership for a person with only an external id', async () => {
    const clinic = await openClinic();
    const body = { resourceType: 'Patient', firstName: 'Pat', lastName: 'Lee', externalId: 'x' } as const;
    const before = await send(clinic, body);
    await remove(clinic, before);
    const again = await send(clinic, body);
    expect([again.user.id, again.profile.id]).toEqual([before.user.id, before.profile.id]);
  });

  test('is that of the former membership repeatedly', async () => {
    const clinic = await openClinic();
    const body = person('Practitioner', 'Ann');
    const first = await send(clinic, body);
    for (let turn = 0, last = first; turn < 3; turn += 1) {
      await remove(clinic, last);
      last = await send(clinic, body);
      expect(last.profile.id).toBe(first.profile.id);
    }
  });

  test('is new if the profile of the former membership was deleted, or was of another type', async () => {
    const clinic = await openClinic();
    const before = await send(clinic, person('Practitioner', 'Ann'));
    await remove(clinic, before);
    const other = await send(clinic, person('Patient', 'Ann', { scope: 'server' }));
    expect(other.created).toEqual({ user: false, profile: true, membership: true });
    await remove(clinic, other);
    const repository = createRepository({ store: clinic.store, caller: systemCaller(clinic.project) });
    await repository.delete('Practitioner', before.profile.id);
    const again = await send(clinic, person('Practitioner', 'Ann'));
    expect(again.created).toEqual({ user: false, profile: true, membership: true });
    expect(again.profile.id).not.toBe(before.profile.id);
  });

  test('is not that of a former membership if another member has it now', async () => {
    const clinic = await openClinic();
    const before = await send(clinic, person('Practitioner', 'Ann'));
    await remove(clinic, before);
    const profile = `Practitioner/${before.profile.id}`;
    await send(clinic, person('Practitioner', 'Bob', { membership: { profile } }));
    const again = await send(clinic, person('Practitioner', 'Ann', { newProfile: true }));
    expect(again.profile.id).not.toBe(before.profile.id);
  });

  test('several of former memberships are a conflict that names them', async () => {
    const clinic = await openClinic();
    const ann = person('Practitioner', 'Ann');
    const one = await send(clinic, ann);
    const two = await send(clinic, { ...ann, forceNewMembership: true, newProfile: true });
    expect(two.profile.id).not.toBe(one.profile.id);
    await remove(clinic, one);
    await remove(clinic, two);
    const error = await rejection(send(clinic, ann));
    expect(error.code).toBe('conflict');
    const names = [one, two].map(({ profile }) => `Practitioner/${profile.id}`);
    expect((error.details!['profiles'] as string[]).toSorted()).toEqual(names.toSorted());
  });

  test('of a RelatedPerson is that of the former membership for the same patient only', async () => {
    const clinic = await openClinic();
    await put(clinic.store, clinic.project, patient('p1'), patient('p2'), relative('r9', 'p1', 'eve'));
    const mum = (child: string): InviteBody => person('RelatedPerson', 'Mum', { patient: `Patient/${child}` });
    const before = await send(clinic, mum('p1'));
    await remove(clinic, before);
    const second = await send(clinic, mum('p2'));
    expect((second.profile as RelatedPerson).patient.reference).toBe('Patient/p2');
    await remove(clinic, second);
    expect((await send(clinic, mum('p1'))).profile.id).toBe(before.profile.id);
  });

  test('of a RelatedPerson reveals nothing of its patient to an inviter who cannot see the link', async () => {
    const clinic = await openClinic();
    const { store, project } = clinic;
    const rules = [{ resourceType: 'Patient' }, { resourceType: 'RelatedPerson', hiddenFields: ['patient'] }];
    await put(store, project, patient('p1'), patient('p2'), policy('unlinked', rules));
    const mum = (child: string, more: Partial<InviteBody | InviteDryRun> = {}): InviteBody =>
      person('RelatedPerson', 'Mum', { patient: `Patient/${child}`, ...more });
    await remove(clinic, await send(clinic, mum('p1')));
    const membership = { accessPolicy: { reference: 'AccessPolicy/unlinked' } } as const;
    const bound = await send(clinic, person('Practitioner', 'Bo', { admin: true, membership }));
    const caller = await signIn(store, { membership: bound.membership.id });
    for (const child of ['p1', 'p2']) {
      const planned = await invite(project, mum(child, { dryRun: true }), { store, caller });
      expect(planned.created).toEqual({ user: true, profile: true, membership: true });
    }
    const seen = await invite(project, mum('p1', { dryRun: true }), { store, caller: clinic.admin });
    expect(seen.created.profile).toBe(false);
  });

  test('of a membership that an older version removed is a conflict, because its owner is unknown', async () => {
    const clinic = await openClinic();
    const { membership, profile } = await send(clinic, person('Practitioner', 'Ann'));
    const key = { type: 'ProjectMembership', id: membership.id };
    await clinic.store.commit([
      { kind: 'delete', key: { ...key, project: clinic.project } },
      { kind: 'delete', key: { ...key, project: SERVER_SCOPE } },
    ]);
    const error = await rejection(send(clinic, person('Practitioner', 'Ann')));
    expect(error).toMatchObject({ code: 'conflict', details: { profiles: [`Practitioner/${profile.id}`] } });
    const named = { membership: { profile: `Practitioner/${profile.id}` } };
    expect((await send(clinic, person('Practitioner', 'Ann', named))).created.profile).toBe(false);
  });

  test('that a membership has lost is searched in the same way', async () => {
    const clinic = await openClinic();
    const first = await send(clinic, person('Practitioner', 'Ann'));
    const key = { project: clinic.project, type: 'Practitioner', id: first.profile.id };
    await clinic.store.commit([{ kind: 'delete', key }]);
    await put(clinic.store, clinic.project, {
      resourceType: 'Practitioner',
      id: 'planted',
      ...emailOf('ann'),
    });
    const error = await rejection(send(clinic, person('Practitioner', 'Ann', { upsert: true })));
    expect(error.details).toEqual({ profiles: ['Practitioner/planted'] });
    const again = await send(clinic, person('Practitioner', 'Ann', { upsert: true, newProfile: true }));
    expect(again.created).toEqual({ user: false, profile: true, membership: false });
    expect(again.membership.id).toBe(first.membership.id);
  });
});

describe('profiles that the inviter does not see', () => {
  const blind = [{ resourceType: 'Practitioner' }];

  test('are not candidates: the same answer and the same store calls as without them', async () => {
    const outcomes = [];
    for (const planted of [false, true]) {
      const clinic = await openClinic();
      const caller = await limitedAdmin(clinic, [
        { resourceType: 'Patient', criteria: 'Patient?gender=female' },
        ...blind,
      ]);
      if (planted) await put(clinic.store, clinic.project, patient('p1', { gender: 'male', ...emailOf('vic') }));
      const { store, calls } = recordingStore(clinic.store);
      const { created, profile } = await invite(clinic.project, person('Patient', 'Vic'), { store, caller });
      outcomes.push({ created, given: (profile as Patient).name![0]!.given, calls: [...calls] });
    }
    expect(outcomes[0]!.created.profile).toBe(true);
    expect(outcomes[1]).toEqual(outcomes[0]);
  });

  test('are not named next to visible profiles', async () => {
    const clinic = await openClinic();
    const caller = await limitedAdmin(clinic, [{ resourceType: 'Patient', criteria: 'Patient?gender=female' }]);
    await put(
      clinic.store,
      clinic.project,
      patient('p1', { gender: 'male', ...emailOf('vic') }),
      patient('p2', { gender: 'female', ...emailOf('vic') }),
    );
    const error = await rejection(send(clinic, person('Patient', 'Vic'), caller));
    expect(error.details).toEqual({ profiles: ['Patient/p2'] });
    expect(JSON.stringify(error)).not.toContain('Patient/p1');
  });

  test('are not candidates if their addresses are hidden', async () => {
    const clinic = await openClinic();
    const caller = await limitedAdmin(clinic, [{ resourceType: 'Patient', hiddenFields: ['telecom'] }]);
    await put(clinic.store, clinic.project, patient('p1', emailOf('vic')));
    expect((await send(clinic, person('Patient', 'Vic'), caller)).created.profile).toBe(true);
  });

  test('cannot be named: they do not exist for the inviter', async () => {
    const clinic = await openClinic();
    const caller = await limitedAdmin(clinic, blind);
    await put(clinic.store, clinic.project, patient('p1'));
    const errors = [];
    for (const id of ['p1', 'p2']) {
      const { store, calls } = recordingStore(clinic.store);
      const bodies = [
        person('Patient', 'Vic', { membership: { profile: `Patient/${id}` } }),
        person('RelatedPerson', 'Mum', { patient: `Patient/${id}` }),
      ];
      for (const body of bodies) {
        const error = await rejection(invite(clinic.project, body, { store, caller }));
        errors.push({ code: error.code, message: error.message.replace(id, 'id'), calls: [...calls] });
      }
    }
    expect(errors[0]).toMatchObject({ code: 'invalid', message: 'Patient/id does not exist in this project' });
    expect(errors.slice(2)).toEqual(errors.slice(0, 2));
  });

  test('that the person had before are used again, and shown only by their ids', async () => {
    const clinic = await openClinic();
    const caller = await limitedAdmin(clinic, blind);
    const before = await send(clinic, person('Patient', 'Pat'));
    await remove(clinic, before);
    const again = await send(clinic, person('Patient', 'Pat'), caller);
    expect(again.created.profile).toBe(false);
    expect(again.profile).toEqual({ resourceType: 'Patient', id: before.profile.id });
  });

  test('have no hidden fields in the answer', async () => {
    const clinic = await openClinic();
    const caller = await limitedAdmin(clinic, [{ resourceType: 'Patient', hiddenFields: ['birthDate'] }]);
    await put(clinic.store, clinic.project, patient('p1', { birthDate: '1970-01-01' }));
    const body = person('Patient', 'Pat', { membership: { profile: 'Patient/p1' } });
    const { profile } = await send(clinic, body, caller);
    expect(profile).toMatchObject({ id: 'p1', name: [{ given: ['p1'] }] });
    expect((profile as Patient).birthDate).toBeUndefined();
    expect((await send(clinic, { ...body, upsert: true })).profile).toMatchObject({ birthDate: '1970-01-01' });
  });

  test('are all profiles in projects of others, for a super administrator', async () => {
    const clinic = await openClinic();
    await put(clinic.store, clinic.project, patient('p1', { birthDate: '1970-01-01', ...emailOf('pat') }));
    const { created } = await send(clinic, person('Patient', 'Pat'), clinic.superAdmin);
    expect(created.profile).toBe(true);
    const named = person('Patient', 'Vic', { membership: { profile: 'Patient/p1' } });
    expect((await send(clinic, named, clinic.superAdmin)).profile).toEqual({ resourceType: 'Patient', id: 'p1' });
  });
});

describe('the record of a removed membership', () => {
  test('is visible to nobody, and nobody signs in through it', async () => {
    const clinic = await openClinic();
    const { store, project, superAdmin } = clinic;
    const { id } = await createProject({ resourceType: 'Project', name: 'Other' }, { store, caller: superAdmin });
    const ann = await send(clinic, person('Practitioner', 'Ann', { admin: true }));
    const there = await invite(id, person('Practitioner', 'Ann', { admin: true }), { store, caller: superAdmin });
    await remove(clinic, ann);
    expect((await rejection(signIn(store, { membership: ann.membership.id }))).code).toBe('membership-missing');
    const user = ann.user.id;
    expect((await rejection(signIn(store, { project, user }))).code).toBe('membership-missing');
    const admin = await signIn(store, { membership: there.membership.id });
    for (const caller of [admin, systemCaller(id), superAdmin]) {
      const repository = createRepository({ store, caller });
      for (const query of ['active=false', `project=Project/${project}`]) {
        const [members, users] = [
          await repository.search('ProjectMembership', `user=User/${user}&${query}`),
          await repository.search('User', `_has:ProjectMembership:user:${query}`),
        ];
        expect([caller.kind, query, members.entry, users.entry]).toEqual([caller.kind, query, undefined, undefined]);
      }
    }
  });

  test('is kept when the id of the membership is used again, here or in another project', async () => {
    const clinic = await openClinic();
    const { store, project, superAdmin } = clinic;
    const { id } = await createProject({ resourceType: 'Project', name: 'Other' }, { store, caller: superAdmin });
    const ann = await send(clinic, person('Practitioner', 'Ann'));
    await remove(clinic, ann);
    for (const home of [id, project]) {
      await put(store, home, { resourceType: 'Practitioner', id: 'bob' });
      const bob: ProjectMembership = {
        resourceType: 'ProjectMembership',
        id: ann.membership.id,
        project: { reference: `Project/${home}` },
        user: { reference: `User/${clinic.first.user.id}` },
        profile: { reference: 'Practitioner/bob' },
      };
      await put(store, home, bob);
      expect((await signIn(store, { membership: bob.id! })).project).toBe(home);
      await removeMember(bob.id!, { store, caller: systemCaller(home) });
    }
    expect((await send(clinic, person('Practitioner', 'Ann'))).profile.id).toBe(ann.profile.id);
  });

  test('is created by any removal through trusted code', async () => {
    const clinic = await openClinic();
    const ann = await send(clinic, person('Practitioner', 'Ann'));
    const repository = createRepository({ store: clinic.store, caller: systemCaller(clinic.project) });
    await repository.delete('ProjectMembership', ann.membership.id);
    expect((await send(clinic, person('Practitioner', 'Ann'))).profile.id).toBe(ann.profile.id);
    // Created and removed in one commit.
    await put(clinic.store, clinic.project, { resourceType: 'Practitioner', id: 'bob' });
    const bob = await send(clinic, person('Patient', 'Bob', { scope: 'server' }));
    await remove(clinic, bob);
    const key = { type: 'ProjectMembership', id: 'brief' };
    const resource = { ...bob.membership, id: 'brief', profile: { reference: 'Practitioner/bob' } } as AnyResource;
    await guardStore(clinic.store, systemCaller(clinic.project)).commit([
      { kind: 'put', key, resource },
      { kind: 'delete', key },
    ]);
    expect((await send(clinic, person('Practitioner', 'Bob'))).profile.id).toBe('bob');
  });

  test('names the membership in its state at that moment, whoever changes it at the same time', async () => {
    const clinic = await openClinic();
    const { store, project } = clinic;
    const ann = await send(clinic, person('Practitioner', 'Ann'));
    await put(store, project, { resourceType: 'Practitioner', id: 'later' });
    let interfered = false;
    const interfering: ResourceStore = new Proxy(store, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return async (...values: unknown[]): Promise<unknown> => {
          if (name === 'commit' && !interfered) {
            interfered = true;
            const changed = { ...ann.membership, profile: { reference: 'Practitioner/later' } };
            await put(store, project, changed);
          }
          return Reflect.apply(member, target, values) as unknown;
        };
      },
    });
    const repository = createRepository({ store: interfering, caller: systemCaller(project) });
    await repository.delete('ProjectMembership', ann.membership.id);
    expect((await send(clinic, person('Practitioner', 'Ann'))).profile.id).toBe('later');
  });

  test('a membership of one project is not removed by trusted code of another', async () => {
    const clinic = await openClinic();
    const { id } = await createProject(
      { resourceType: 'Project', name: 'Other' },
      { store: clinic.store, caller: clinic.superAdmin },
    );
    const ann = await send(clinic, person('Practitioner', 'Ann'));
    const key = { type: 'ProjectMembership', id: ann.membership.id };
    await guardStore(clinic.store, systemCaller(id)).commit([{ kind: 'delete', key }]);
    expect((await signIn(clinic.store, { membership: key.id })).project).toBe(clinic.project);
  });
});

/**
 * Worlds of people who are invited and removed while others write any address into any profile: a person's profile is
 * always one that was made for it, that was named, or that it had before.
 */
test('gives nobody a profile by its address', async () => {
  const random = createRandom(SEED);
  const names = ['ann', 'bob', 'cem'];
  for (let round = 0; round < cases(2); round += 1) {
    const clinic = await openClinic();
    const { store, project } = clinic;
    const own = new Map<string, Set<string>>();
    const members: InviteResult[] = [];
    for (let step = 0; step < 50; step += 1) {
      const turn = below(4, random);
      if (turn === 0) {
        const { matches } = await store.search({ project, type: 'Practitioner', criteria: ALL });
        const id = below(2, random) === 0 ? `p${step}` : oneOf(matches, random).resource.id!;
        await put(store, project, { resourceType: 'Practitioner', id, ...emailOf(oneOf(names, random)) });
      } else if (turn === 1 && members.length > 0) {
        const [gone] = members.splice(below(members.length, random), 1);
        await remove(clinic, gone!);
      } else {
        const body = person('Practitioner', oneOf(names, random), {
          scope: oneOf(['server', 'project'], random),
          ...oneOf([{}, { upsert: true }, { forceNewMembership: true }, { newProfile: true }], random),
        });
        const result = await send(clinic, body).catch((error: unknown) => error as Error);
        if (result instanceof Error) {
          expect(result).toMatchObject({ code: 'conflict' });
          continue;
        }
        if (result.created.membership) members.push(result);
        const had = own.get(result.user.id) ?? new Set();
        own.set(result.user.id, had);
        const origin = result.created.profile || had.has(result.profile.id) ? 'own' : 'found';
        expect([SEED, round, step, origin]).toEqual([SEED, round, step, 'own']);
        had.add(result.profile.id);
      }
    }
  }
});

function asPractitioner(profile: unknown): Practitioner {
  return profile as Practitioner;
}

describe('a dry run', () => {
  test.each(['Practitioner', 'Patient'] as const)(
    'of a %s reveals nothing of a User who is not a member: as if there were none',
    async (type) => {
      const clinic = await openClinic();
      const { store, superAdmin } = clinic;
      const other = await createProject({ resourceType: 'Project', name: 'Other' }, { store, caller: superAdmin });
      const secret = { ...person(type, 'Zoe', { scope: 'server' }), lastName: 'Secret', mfaRequired: true };
      const { user } = await invite(other.id, secret, { store, caller: superAdmin });
      const answers = [];
      for (const email of ['zoe@example.org', 'nobody@example.org']) {
        for (const more of [{}, { upsert: true }, { forceNewMembership: true }, { externalId: 'x' }]) {
          const counted = recordingStore(store);
          const scope = 'externalId' in more ? 'project' : 'server';
          const body = person(type, 'Ann', { email, scope, dryRun: true, ...more });
          const result = await invite(clinic.project, body, { store: counted.store, caller: clinic.admin });
          expect(JSON.stringify(result)).not.toContain(user.id);
          expect(result.membership.user.reference).toBe(`User/${result.user.id}`);
          expect(result.created).toEqual({ user: true, profile: true, membership: true });
          const text = JSON.stringify(result)
            .replaceAll(email, 'address')
            .replaceAll(result.user.id, 'user')
            .replaceAll(result.profile.id, 'profile')
            .replaceAll(result.membership.id, 'membership');
          answers.push({ text, calls: counted.calls });
        }
      }
      expect(answers.slice(4)).toEqual(answers.slice(0, 4));
    },
  );

  test('shows the effects for a member', async () => {
    const clinic = await openClinic();
    const ann = await send(clinic, person('Practitioner', 'Ann'));
    const again = await send(clinic, person('Practitioner', 'Ann', { upsert: true, dryRun: true }));
    expect(again.created).toEqual({ user: false, profile: false, membership: false });
    expect(again.user).toEqual(ann.user);
    const another = await send(clinic, person('Practitioner', 'Ann', { forceNewMembership: true, dryRun: true }));
    expect(another.created).toEqual({ user: false, profile: false, membership: true });
    expect(asPractitioner(another.profile).name).toEqual([{ given: ['Ann'], family: 'Smith' }]);
  });

  test('shows for a removed member which profile will be used again, and nothing of the User', async () => {
    const clinic = await openClinic();
    const ann = await send(clinic, person('Practitioner', 'Ann'));
    await remove(clinic, ann);
    const planned = await send(clinic, person('Practitioner', 'Ann', { dryRun: true }));
    expect(planned.created).toEqual({ user: true, profile: false, membership: true });
    expect([planned.user.id === ann.user.id, planned.profile.id]).toEqual([false, ann.profile.id]);
  });
});
