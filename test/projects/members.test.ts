import type { OperationOutcome, Patient, ProjectMembership } from '@medplum/fhirtypes';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  type Caller,
  createBot,
  createClient,
  createProject,
  createRepository,
  invite,
  type InviteResult,
  type MemberChanges,
  removeMember,
  resendInvitation,
  type SearchInput,
  searchMembers,
  serverCaller,
  signIn,
  systemCaller,
  updateMember,
} from '../../src/index.js';
import { type Clinic, openClinic, patient, person, policy, put, recordingStore, rejection, stores } from './harness.js';

describe.each(stores)('members on %s', (_name, makeStore) => {
  let clinic: Clinic;
  let context: { readonly store: Clinic['store']; readonly caller: Caller };
  let ann: InviteResult;
  let pat: InviteResult;

  beforeEach(async () => {
    clinic = await openClinic(makeStore());
    context = { store: clinic.store, caller: clinic.admin };
    ann = await invite(clinic.project, person('Practitioner', 'Ann', { lastName: 'Müller' }), context);
    pat = await invite(clinic.project, person('Patient', 'Pat'), context);
  });

  describe('are found', () => {
    let client: ProjectMembership;
    let bot: ProjectMembership;

    beforeEach(async () => {
      client = (await createClient(clinic.project, { name: 'Laboratory feed' }, context)).membership;
      bot = (await createBot(clinic.project, { name: 'Reminder' }, context)).membership;
    });

    async function found(query?: SearchInput): Promise<(string | undefined)[]> {
      const { entry = [], total } = await searchMembers(clinic.project, query, context);
      expect(total).toBe(entry.length);
      return entry.map(({ resource }) => resource!.profile.display).sort();
    }

    test('by the same name any number of times, by different names five times', async () => {
      const same = Array.from({ length: 50 }, () => 'name=Pat').join('&');
      expect(await found(same)).toEqual(['Pat Smith']);
      const different = Array.from({ length: 6 }, (_, n) => `name=n${n}`).join('&');
      expect((await rejection(searchMembers(clinic.project, different, context))).code).toBe('too-costly');
    });

    test.each<[SearchInput | undefined, readonly string[]]>([
      [undefined, ['Ada Smith', 'Ann Müller', 'Laboratory feed', 'Pat Smith', 'Reminder']],
      ['', ['Ada Smith', 'Ann Müller', 'Laboratory feed', 'Pat Smith', 'Reminder']],
      ['profile-type:not=ClientApplication,Bot', ['Ada Smith', 'Ann Müller', 'Pat Smith']],
      ['profile-type=Patient', ['Pat Smith']],
      ['profile-type=Practitioner', ['Ada Smith', 'Ann Müller']],
      [{ 'profile-type': 'Patient,Bot' }, ['Pat Smith', 'Reminder']],
      [new URLSearchParams({ admin: 'true' }), ['Ada Smith']],
      ['active=true&profile-type=ClientApplication', ['Laboratory feed']],
      ['name=ann', ['Ann Müller']],
      ['name=muller', ['Ann Müller']],
      ['name=Smith', ['Ada Smith', 'Pat Smith']],
      ['name=Smith&profile-type=Patient', ['Pat Smith']],
      ['name=Pat Smith', ['Pat Smith']],
      ['name=Ann,Pat', ['Ann Müller', 'Pat Smith']],
      ['name=Ann&name=Smith', []],
      ['name:contains=ULL', ['Ann Müller']],
      ['name:exact=Pat', ['Pat Smith']],
      ['name:exact=pat', []],
      ['email=ANN@example.org', ['Ann Müller']],
      ['email=ann@example.org,pat@example.org', ['Ann Müller', 'Pat Smith']],
      ['email=nobody@example.org', []],
      ['email=ann@example.org&name=Smith', []],
    ])('by %j', async (query, names) => {
      expect(await found(query)).toEqual(names);
    });

    test('by the name of a program, if its type can be searched by name', async () => {
      expect(await found('name=Labor')).toEqual(['Laboratory feed']);
      expect(await found('name=Remind')).toEqual(['Reminder']);
    });

    test('by every other parameter of the type', async () => {
      await put(clinic.store, clinic.project, policy('staff'));
      await updateMember(
        ann.membership.id,
        { userName: 'ann', externalId: 'x', accessPolicy: { reference: 'AccessPolicy/staff' } },
        context,
      );
      for (const query of [
        'user-name=ann',
        'external-id=x',
        'access-policy=AccessPolicy/staff',
        `user=User/${ann.user.id}`,
        `profile=Practitioner/${ann.profile.id}`,
        `_id=${ann.membership.id}`,
      ]) {
        expect(await found(query)).toEqual(['Ann Müller']);
      }
    });

    test('by a name that the User has changed', async () => {
      const caller = await signIn(clinic.store, { membership: ann.membership.id });
      const repository = createRepository({ store: clinic.store, caller });
      await repository.update({ ...(await repository.read('User', ann.user.id)), lastName: 'Zimmermann' });
      expect(await found('name=zimmer')).toEqual(['Ann Müller']);
      expect(await found('name=Ann Zimmer')).toEqual(['Ann Müller']);
    });

    test('page by page, each once', async () => {
      const seen: string[] = [];
      let query: string | undefined = 'profile-type:not=Device&_count=2';
      while (query !== undefined) {
        const bundle = await searchMembers(clinic.project, query, context);
        expect(bundle).toMatchObject({ resourceType: 'Bundle', type: 'searchset', total: 5 });
        seen.push(...bundle.entry!.map(({ resource }) => resource!.id));
        query = bundle.link!.find(({ relation }) => relation === 'next')?.url.replace('ProjectMembership?', '');
      }
      expect(seen.sort()).toEqual(
        [clinic.first.membership, ann.membership, pat.membership, client, bot].map(({ id }) => id!).sort(),
      );
    });

    test('by their number only', async () => {
      for (const query of ['_summary=count', '_count=0']) {
        const bundle = await searchMembers(clinic.project, query, context);
        expect([bundle.total, bundle.entry]).toEqual([5, undefined]);
      }
    });

    test.each([
      [new Map([['name', 'Ann']]) as never, 'invalid'],
      [{ kind: 'all', name: 'Ann' }, 'invalid'],
      [{ criteria: { kind: 'all' }, name: 'Ann' }, 'invalid'],
      ['nothing=1', 'invalid'],
      ['email=ann', 'invalid'],
      ['email:exact=ann@example.org', 'invalid'],
      ['name:above=x', 'invalid'],
      ['names=Ann', 'invalid'],
      ['_include=ProjectMembership:profile', 'unsupported'],
      ['_count=5000', 'too-costly'],
    ])('not by %j: %s', async (query, code) => {
      expect((await rejection(searchMembers(clinic.project, query as never, context))).code).toBe(code);
    });

    test('with a note if the profile is missing', async () => {
      await clinic.store.commit([
        { kind: 'delete', key: { project: clinic.project, type: 'Patient', id: pat.profile.id } },
      ]);
      const { entry = [], total } = await searchMembers(clinic.project, 'profile-type=Patient', context);
      expect(total).toBe(1);
      expect(entry.map(({ search }) => search!.mode)).toEqual(['match', 'outcome']);
      expect((entry[1]!.resource as unknown as OperationOutcome).issue).toEqual([
        {
          severity: 'warning',
          code: 'not-found',
          details: {
            text: `Patient/${pat.profile.id}, the profile of ProjectMembership/${pat.membership.id}, does not exist; this member cannot sign in`,
          },
          expression: ['Bundle.entry[0].resource.profile'],
        },
      ]);
    });
  });

  test('by name: a name that is hidden from the administrator has no value', async () => {
    const { store, project } = clinic;
    const own = patient(pat.profile.id, { name: [{ family: 'Smith' }, { use: 'maiden', family: 'Quux' }] });
    await put(store, project, own, policy('nameless', [{ resourceType: 'Patient', hiddenFields: ['name'] }]));
    const membership = { accessPolicy: { reference: 'AccessPolicy/nameless' } } as const;
    const bound = await invite(project, person('Practitioner', 'Bo', { admin: true, membership }), context);
    const caller = await signIn(store, { membership: bound.membership.id });
    const found = async (query: string, asking: Caller): Promise<number | undefined> =>
      (await searchMembers(project, query, { store, caller: asking })).total;
    expect(await found('name=Quux', clinic.admin)).toBe(1);
    expect(await found('name=Quux', caller)).toBe(0);
    expect(await found('name:contains=uu', caller)).toBe(0);
    // The name of the User, whom administrators see.
    expect(await found('name=Pat', caller)).toBe(1);
  });

  test('by e-mail: an address of another project takes the same store calls as an unknown address', async () => {
    const above = { store: clinic.store, caller: clinic.superAdmin };
    const { id } = await createProject({ resourceType: 'Project', name: 'Elsewhere' }, above);
    await invite(id, person('Practitioner', 'Eve'), above);
    for (const more of ['', '&name=Eve']) {
      const [elsewhere, nobody] = await Promise.all(
        ['eve', 'nobody'].map(async (name) => {
          const { store, calls } = recordingStore(clinic.store);
          const { total } = await searchMembers(clinic.project, `email=${name}@example.org${more}`, {
            ...context,
            store,
          });
          return { total, calls };
        }),
      );
      expect(elsewhere).toEqual(nobody);
      expect(elsewhere?.total).toBe(0);
    }
  });

  describe('are changed', () => {
    test('by administrators, setting by setting', async () => {
      const rules = [{ resourceType: 'Encounter', criteria: 'Encounter?class=%unit' }];
      await put(clinic.store, clinic.project, policy('staff', rules));
      const accessPolicy = { reference: 'AccessPolicy/staff' } as const;
      const access = [{ policy: accessPolicy, parameter: [{ name: 'unit', valueString: 'icu' }] }];
      const id = ann.membership.id;
      expect(await updateMember(id, { admin: true }, context)).toMatchObject({ id, admin: true });
      expect(await updateMember(`ProjectMembership/${id}`, { accessPolicy, access }, context)).toMatchObject({
        accessPolicy,
        access,
        admin: true,
      });
      const cleared = await updateMember(
        { reference: `ProjectMembership/${id}` },
        { accessPolicy: null, access: [] },
        context,
      );
      expect([cleared.accessPolicy, cleared.access, cleared.admin]).toEqual([undefined, undefined, true]);
      expect(await updateMember(id, { active: false }, context)).toMatchObject({ active: false });
      expect((await rejection(signIn(clinic.store, { membership: id }))).code).toBe('membership-inactive');
    });

    test('but not to policies that are too large together', async () => {
      const rules = (letter: string) =>
        Array.from({ length: 400 }, (_, n) => ({ resourceType: 'Patient', criteria: `Patient?name=${letter}${n}` }));
      await put(clinic.store, clinic.project, ...['a', 'b', 'c'].map((id) => policy(id, rules(id))));
      const access = ['a', 'b', 'c'].map((id) => ({ policy: { reference: `AccessPolicy/${id}` } as const }));
      const id = ann.membership.id;
      const refusal = await rejection(updateMember(id, { access }, context));
      expect(refusal.code).toBe('invalid');
      expect(refusal.message).toMatch(/^access: all policies together may have 1000 rules .* not 1200 and/);
      const again = [...access.slice(0, 2), access[0]!];
      expect(await updateMember(id, { access: again }, context)).toMatchObject({ access: again });
      await signIn(clinic.store, { membership: id });
    });

    test('and their identity is kept', async () => {
      const { user, profile, project, invitedBy } = await updateMember(ann.membership.id, { admin: true }, context);
      expect({ user, profile, project, invitedBy }).toEqual({
        user: ann.membership.user,
        profile: ann.membership.profile,
        project: ann.membership.project,
        invitedBy: ann.membership.invitedBy,
      });
    });

    test('not without a difference: no new version', async () => {
      const changed = await updateMember(ann.membership.id, { active: true }, context);
      expect(changed.meta.versionId).toBe(ann.membership.meta.versionId);
    });

    test.each<[MemberChanges, readonly string[]]>([
      [{ admin: 'yes' as never }, ['admin']],
      [{ admin: null as never, active: null as never }, ['admin', 'active']],
      [{ profile: 'Practitioner/1', user: 'User/1' } as never, ['profile', 'user']],
      [{ accessPolicy: { reference: 'AccessPolicy/none' } }, ['accessPolicy']],
      [{ access: [{ policy: { reference: 'AccessPolicy/none' } }] }, ['access[0].policy']],
      [{ externalId: '' }, ['externalId']],
    ])('not by %j', async (changes, paths) => {
      const error = await rejection(updateMember(ann.membership.id, changes, context));
      expect(error.code).toBe('invalid');
      expect(error.issues.map(({ expression }) => expression![0])).toEqual(paths);
    });

    test('not to an external id of another member', async () => {
      await updateMember(ann.membership.id, { externalId: 'x' }, context);
      const error = await rejection(updateMember(pat.membership.id, { externalId: 'x' }, context));
      expect(error.code).toBe('conflict');
      await updateMember(ann.membership.id, { externalId: null }, context);
      expect((await updateMember(pat.membership.id, { externalId: 'x' }, context)).externalId).toBe('x');
    });
  });

  describe('who administer', () => {
    test('cannot remove, demote or deactivate themselves, even if there are others', async () => {
      await updateMember(ann.membership.id, { admin: true }, context);
      const own = clinic.first.membership.id;
      expect((await rejection(removeMember(own, context))).code).toBe('forbidden');
      expect((await rejection(updateMember(own, { admin: false }, context))).code).toBe('forbidden');
      expect((await rejection(updateMember(own, { active: false }, context))).code).toBe('forbidden');
      expect((await updateMember(own, { userName: 'ada' }, context)).userName).toBe('ada');
    });

    test('cannot all be removed, by any caller', async () => {
      for (const caller of [systemCaller(clinic.project), clinic.superAdmin]) {
        const asker = { store: clinic.store, caller };
        const own = clinic.first.membership.id;
        expect((await rejection(removeMember(own, asker))).code).toBe('conflict');
        expect((await rejection(updateMember(own, { admin: false }, asker))).code).toBe('conflict');
        expect((await rejection(updateMember(own, { active: false }, asker))).code).toBe('conflict');
      }
    });

    test('do not count when they are inactive or their profile is missing', async () => {
      await updateMember(ann.membership.id, { admin: true, active: false }, context);
      const asker = { store: clinic.store, caller: systemCaller(clinic.project) };
      expect((await rejection(removeMember(clinic.first.membership.id, asker))).code).toBe('conflict');
      await updateMember(ann.membership.id, { active: true }, context);
      await clinic.store.commit([
        { kind: 'delete', key: { project: clinic.project, type: 'Practitioner', id: ann.profile.id } },
      ]);
      expect((await rejection(removeMember(clinic.first.membership.id, asker))).code).toBe('conflict');
    });

    test('can leave when another one stays, and the project keeps its secrets', async () => {
      const secret = [{ name: 'key', valueString: 'hush' }];
      const settings = { resourceType: 'Project', id: clinic.project, name: 'Clinic', secret };
      await put(clinic.store, clinic.project, settings);
      await updateMember(ann.membership.id, { admin: true }, context);
      const caller = await signIn(clinic.store, { membership: ann.membership.id });
      await removeMember(clinic.first.membership.id, { store: clinic.store, caller });
      expect((await rejection(signIn(clinic.store, { membership: clinic.first.membership.id }))).code).toBe(
        'membership-missing',
      );
      const [project] = await clinic.store.read([{ project: '', type: 'Project', id: clinic.project }]);
      expect(project).toMatchObject({ resource: { secret } });
    });
  });

  test('who were removed keep User and profile, and are removed once', async () => {
    await removeMember(pat.membership.id, context);
    const repository = createRepository({ store: clinic.store, caller: serverCaller(clinic.project) });
    expect((await repository.read('Patient', pat.profile.id)).id).toBe(pat.profile.id);
    expect((await repository.read('User', pat.user.id)).id).toBe(pat.user.id);
    expect((await rejection(removeMember(pat.membership.id, context))).code).toBe('not-found');
    expect((await rejection(updateMember(pat.membership.id, { admin: true }, context))).code).toBe('not-found');
  });

  test('of another project do not exist for its neighbor; super administrators reach them', async () => {
    const other = await createProject(
      { resourceType: 'Project', name: 'Other' },
      { ...context, caller: clinic.superAdmin },
    );
    const eve = await invite(other.id, person('Practitioner', 'Eve', { admin: true }), {
      ...context,
      caller: clinic.superAdmin,
    });
    const stranger = { store: clinic.store, caller: await signIn(clinic.store, { membership: eve.membership.id }) };
    const id = ann.membership.id;
    expect((await rejection(updateMember(id, { admin: true }, stranger))).code).toBe('not-found');
    expect((await rejection(removeMember(id, stranger))).code).toBe('not-found');
    expect((await rejection(resendInvitation(id, stranger))).code).toBe('not-found');
    expect((await rejection(searchMembers(clinic.project, '', stranger))).code).toBe('forbidden');
    expect((await searchMembers(other.id, '', stranger)).total).toBe(1);
    const above = { store: clinic.store, caller: clinic.superAdmin };
    expect((await searchMembers(clinic.project, '', above)).total).toBe(3);
    expect((await updateMember(id, { admin: true }, above)).admin).toBe(true);
    await removeMember(id, above);
    expect((await rejection(removeMember(id, above))).code).toBe('not-found');
  });

  test('who do not administer can do none of it', async () => {
    const caller = await signIn(clinic.store, { membership: ann.membership.id });
    const asker = { store: clinic.store, caller };
    const id = ann.membership.id;
    const calls = [
      () => searchMembers(clinic.project, '', asker),
      () => updateMember(id, { admin: true }, asker),
      () => removeMember(id, asker),
      () => resendInvitation(id, asker),
      () => createClient(clinic.project, { name: 'x' }, asker),
      () => createProject({ resourceType: 'Project', name: 'x' }, asker),
    ];
    for (const call of calls) expect((await rejection(call())).code).toBe('forbidden');
  });

  test('cannot be written past these operations, even by administrators', async () => {
    const repository = createRepository({ store: clinic.store, caller: clinic.admin });
    const membership = await repository.read('ProjectMembership', ann.membership.id);
    for (const call of [
      () => repository.update({ ...membership, admin: true }),
      () => repository.create({ ...membership, admin: true }),
      () => repository.delete('ProjectMembership', membership.id),
    ]) {
      const error = await rejection(call());
      expect(error.code).toBe('forbidden');
      expect(error.message).toContain(
        'use POST /admin/projects/[project]/invite, or PATCH or DELETE of …/members/[membership]',
      );
    }
  });
});

test('of two projects with equal ids and e-mails are separate', async () => {
  const clinic = await openClinic();
  const other = await createProject(
    { resourceType: 'Project', name: 'Other' },
    { ...clinic, caller: clinic.superAdmin },
  );
  const projects = [clinic.project, other.id] as const;
  const email = { telecom: [{ system: 'email' as const, value: 'pat@example.org' }] };
  const members = [];
  for (const project of projects) {
    await put(clinic.store, project, patient('same', { ...email, name: [{ family: project }] }), policy('same'));
    const context = { store: clinic.store, caller: systemCaller(project) };
    const accessPolicy = { reference: 'AccessPolicy/same' } as const;
    members.push(
      await invite(
        project,
        person('Patient', 'Pat', { membership: { accessPolicy, externalId: 'x', profile: 'Patient/same' } }),
        context,
      ),
    );
  }
  const [here, there] = members as [InviteResult, InviteResult];
  expect(members.map(({ profile }) => [profile.id, (profile as Patient).name])).toEqual(
    projects.map((project) => ['same', [{ family: project }]]),
  );
  expect(here.user.id).not.toBe(there.user.id);
  for (const [index, project] of projects.entries()) {
    const context = { store: clinic.store, caller: systemCaller(project) };
    const { entry } = await searchMembers(project, 'email=pat@example.org', context);
    expect(entry!.map(({ resource }) => resource!.id)).toEqual([members[index]!.membership.id]);
  }
  await removeMember(here.membership.id, { store: clinic.store, caller: systemCaller(clinic.project) });
  expect((await signIn(clinic.store, { project: other.id, user: there.user.id })).profile).toBe('Patient/same');
});
