import { describe, expect, test } from 'vitest';
import {
  createProject,
  createRepository,
  FhirError,
  initialize,
  invite,
  type InviteResult,
  removeMember,
  searchMembers,
  signIn,
  systemCaller,
  updateMember,
} from '../../src/index.js';
import { countOf, openClinic, patient, person, policy, put, stores } from './harness.js';

const TIMES = 20;

/** Runs calls concurrently. @returns their answers, and the codes of those that failed */
async function atOnce<Result>(calls: readonly Promise<Result>[]): Promise<{ results: Result[]; codes: string[] }> {
  const settled = await Promise.allSettled(calls);
  return {
    results: settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])),
    codes: settled.flatMap((one) =>
      one.status === 'rejected' ? [one.reason instanceof FhirError ? one.reason.code : String(one.reason)] : [],
    ),
  };
}

describe.each(stores)('at the same moment, on %s', (_name, makeStore) => {
  test('identical invites create one User, one profile and one membership', async () => {
    const { store, project, admin } = await openClinic(makeStore());
    const send = (): Promise<InviteResult> => invite(project, person('Patient', 'Pat'), { store, caller: admin });
    const { results, codes } = await atOnce(Array.from({ length: TIMES }, send));
    expect(results).toHaveLength(1);
    expect(codes).toEqual(Array.from({ length: TIMES - 1 }, () => 'conflict'));
    expect(await countOf(store, '', 'User')).toBe(2);
    expect(await countOf(store, project, 'Patient')).toBe(1);
    expect(await countOf(store, project, 'ProjectMembership')).toBe(2);
  });

  test('identical invites with upsert all return the one membership', async () => {
    const { store, project, admin } = await openClinic(makeStore());
    const body = person('Practitioner', 'Ann', { upsert: true });
    const { results, codes } = await atOnce(
      Array.from({ length: TIMES }, () => invite(project, body, { store, caller: admin })),
    );
    expect(codes).toEqual([]);
    expect(new Set(results.map(({ membership }) => membership.id)).size).toBe(1);
    expect(results.filter(({ created }) => created.membership)).toHaveLength(1);
    expect(await countOf(store, '', 'User')).toBe(2);
  });

  test('invites at both scopes create one membership, whichever of the two Users comes first', async () => {
    const bodies = [person('Practitioner', 'Ann', { scope: 'server' }), person('Patient', 'Ann', { scope: 'project' })];
    for (const before of ['nobody', 'server', 'project'] as const) {
      const { store, project, admin } = await openClinic(makeStore());
      if (before !== 'nobody') {
        const { membership } = await invite(project, bodies[before === 'server' ? 0 : 1]!, { store, caller: admin });
        await removeMember(membership.id, { store, caller: admin });
      }
      const { results, codes } = await atOnce(
        Array.from({ length: TIMES }, (_, turn) => invite(project, bodies[turn % 2]!, { store, caller: admin })),
      );
      expect([before, results.length, new Set(codes)]).toEqual([before, 1, new Set(['conflict'])]);
      expect(await countOf(store, project, 'ProjectMembership')).toBe(2);
    }
  });

  test('upserts at both scopes create one membership', async () => {
    const { store, project, admin } = await openClinic(makeStore());
    const send = (turn: number): Promise<InviteResult> => {
      const scope = turn % 2 === 0 ? 'server' : 'project';
      return invite(project, person('Practitioner', 'Ann', { scope, upsert: true }), { store, caller: admin });
    };
    const { results, codes } = await atOnce(Array.from({ length: TIMES }, (_, turn) => send(turn)));
    expect([results.length, codes.length, new Set(codes)]).toEqual([TIMES / 2, TIMES / 2, new Set(['conflict'])]);
    expect(new Set(results.map(({ membership }) => membership.id)).size).toBe(1);
    expect(await countOf(store, project, 'ProjectMembership')).toBe(2);
  });

  test('invites of one person into many projects create one User and a membership in each', async () => {
    const { store, superAdmin } = await openClinic(makeStore());
    const projects = await Promise.all(
      Array.from({ length: 60 }, (_, number) =>
        createProject({ resourceType: 'Project', name: `p${number}` }, { store, caller: superAdmin }),
      ),
    );
    const { results, codes } = await atOnce(
      projects.map(({ id }) => invite(id, person('Practitioner', 'Ann'), { store, caller: superAdmin })),
    );
    expect(codes).toEqual([]);
    expect(new Set(results.map(({ user }) => user.id)).size).toBe(1);
    for (const { id } of projects) expect(await countOf(store, id, 'ProjectMembership')).toBe(1);
  });

  test('invites that force memberships create one User, one profile, and a membership each', async () => {
    const { store, project, admin } = await openClinic(makeStore());
    const body = person('Practitioner', 'Ann', { forceNewMembership: true });
    const { results, codes } = await atOnce(
      Array.from({ length: 5 }, () => invite(project, body, { store, caller: admin })),
    );
    expect(codes).toEqual([]);
    expect(new Set(results.map(({ membership }) => membership.id)).size).toBe(5);
    expect(await countOf(store, '', 'User')).toBe(2);
    expect(await countOf(store, project, 'Practitioner')).toBe(2);
  });

  test('invites of an existing User create one membership', async () => {
    const { store, project, admin } = await openClinic(makeStore());
    const body = person('Practitioner', 'Ann');
    const { membership } = await invite(project, body, { store, caller: admin });
    await removeMember(membership.id, { store, caller: admin });
    const { results, codes } = await atOnce(
      Array.from({ length: TIMES }, () => invite(project, body, { store, caller: admin })),
    );
    expect([results.length, new Set(codes)]).toEqual([1, new Set(['conflict'])]);
    expect(await countOf(store, project, 'ProjectMembership')).toBe(2);
  });

  test('invites that force memberships create one profile for an existing User', async () => {
    const { store, project, admin, superAdmin } = await openClinic(makeStore());
    const body = person('Practitioner', 'Ann', { forceNewMembership: true });
    await invite(superAdmin.project, body, { store, caller: superAdmin });
    const { codes } = await atOnce(Array.from({ length: 5 }, () => invite(project, body, { store, caller: admin })));
    expect(codes).toEqual([]);
    expect(await countOf(store, project, 'Practitioner')).toBe(2);
    expect(await countOf(store, project, 'ProjectMembership')).toBe(6);
  });

  test('invites without e-mail but with one external id create one User', async () => {
    const { store, project, admin } = await openClinic(makeStore());
    const body = { resourceType: 'Patient', firstName: 'Pat', lastName: 'Lee', externalId: 'x' } as const;
    const { results, codes } = await atOnce(
      Array.from({ length: 5 }, () => invite(project, body, { store, caller: admin })),
    );
    expect([results.length, codes]).toEqual([1, ['conflict', 'conflict', 'conflict', 'conflict']]);
    expect(await countOf(store, '', 'User')).toBe(2);
  });

  test('two administrators cannot remove each other', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { store, project, admin, first } = await openClinic(makeStore());
      const bob = await invite(project, person('Practitioner', 'Bob', { admin: true }), { store, caller: admin });
      const second = await signIn(store, { membership: bob.membership.id });
      const { results, codes } = await atOnce<unknown>([
        round % 2 === 0
          ? removeMember(bob.membership.id, { store, caller: admin })
          : updateMember(bob.membership.id, { active: false }, { store, caller: admin }),
        updateMember(first.membership.id, { admin: false }, { store, caller: second }),
      ]);
      // The second caller finds itself demoted, or the other to be the last.
      expect([results.length, codes.length]).toEqual([1, 1]);
      expect(['conflict', 'forbidden', 'membership-missing', 'membership-inactive']).toContain(codes[0]);
      const left = await searchMembers(project, 'admin=true&active:not=false', {
        store,
        caller: systemCaller(project),
      });
      expect(left.total).toBe(1);
    }
  });

  test('many changes of one membership all succeed', async () => {
    const { store, project, admin } = await openClinic(makeStore());
    const { membership } = await invite(project, person('Patient', 'Pat'), { store, caller: admin });
    const names = Array.from({ length: 10 }, (_, index) => `name-${index}`);
    const { codes } = await atOnce(
      names.map((userName) => updateMember(membership.id, { userName }, { store, caller: admin })),
    );
    expect(codes).toEqual([]);
    const { total } = await store.history(
      { project, type: 'ProjectMembership', id: membership.id },
      { offset: 0, limit: 0 },
    );
    expect(total).toBe(11);
  });

  test('a profile or a policy that is deleted while it is assigned is not assigned', async () => {
    for (const gone of ['Practitioner/doc', 'AccessPolicy/staff'] as const) {
      const { store, project, admin } = await openClinic(makeStore());
      await put(store, project, { resourceType: 'Practitioner', id: 'doc' }, policy('staff'), patient('p1'));
      const repository = createRepository({ store, caller: systemCaller(project) });
      const [type, id] = gone.split('/') as ['Practitioner' | 'AccessPolicy', string];
      // The deletion comes in just before the invite's own commit.
      let interfered = false;
      const interfering = new Proxy(store, {
        get: (target, name) => {
          const member: unknown = Reflect.get(target, name);
          if (typeof member !== 'function') return member;
          return async (...values: unknown[]): Promise<unknown> => {
            if (name === 'commit' && !interfered) {
              interfered = true;
              await repository.delete(type, id);
            }
            return Reflect.apply(member, target, values) as unknown;
          };
        },
      });
      const body = person('Practitioner', 'Doc', {
        membership: { profile: 'Practitioner/doc', accessPolicy: { reference: 'AccessPolicy/staff' } },
      });
      const { codes } = await atOnce([invite(project, body, { store: interfering, caller: admin })]);
      expect([interfered, codes]).toEqual([true, ['invalid']]);
      expect(await countOf(store, project, 'ProjectMembership')).toBe(1);
    }
  });

  test('a store is initialized once', async () => {
    const store = makeStore();
    const { results, codes } = await atOnce(Array.from({ length: 5 }, () => initialize(store)));
    expect([results.length, codes]).toEqual([1, ['conflict', 'conflict', 'conflict', 'conflict']]);
    expect(await countOf(store, '', 'Project')).toBe(1);
  });
});
