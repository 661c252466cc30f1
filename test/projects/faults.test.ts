import { describe, expect, test } from 'vitest';
import {
  createClient,
  createProject,
  FhirError,
  initialize,
  invite,
  removeMember,
  resendInvitation,
  type ResourceStore,
  updateMember,
} from '../../src/index.js';
import {
  type Clinic,
  contents,
  keepingMailer,
  memoryStore,
  openClinic,
  patient,
  person,
  policy,
  put,
  rejection,
  stores,
} from './harness.js';

/** A store whose call number `failing` fails, counted over all methods. */
function failingAt(
  store: ResourceStore,
  failing: number,
): { readonly store: ResourceStore; readonly calls: () => number } {
  let calls = 0;
  const wrapped = new Proxy(store, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...values: unknown[]): unknown => {
        calls += 1;
        if (calls === failing) return Promise.reject(new FhirError('unavailable', 'out of order'));
        return Reflect.apply(member, target, values);
      };
    },
  });
  return { store: wrapped, calls: () => calls };
}

/**
 * Runs an operation on a store that fails on its 1st call, then on its 2nd, until it succeeds. After each failure the store must
 * hold what it held before.
 *
 * @returns how many calls had to fail one after the other
 */
async function failEverywhere(clinic: Clinic, operation: (store: ResourceStore) => Promise<unknown>): Promise<number> {
  const before = await contents(clinic.store, clinic.project);
  for (let failing = 1; ; failing += 1) {
    const { store, calls } = failingAt(clinic.store, failing);
    const outcome = await operation(store).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (outcome === undefined) {
      expect(calls()).toBeLessThan(failing);
      return failing - 1;
    }
    expect(outcome).toMatchObject({ code: 'unavailable' });
    expect(await contents(clinic.store, clinic.project)).toEqual(before);
  }
}

describe.each(stores)('a store that fails at any call, on %s', (_name, makeStore) => {
  test('leaves nothing of an invite, or all of it', async () => {
    const clinic = await openClinic(makeStore());
    await put(clinic.store, clinic.project, policy('family'), patient('p1'));
    const body = person('RelatedPerson', 'Mum', {
      patient: 'Patient/p1',
      membership: { accessPolicy: { reference: 'AccessPolicy/family' } },
    });
    const steps = await failEverywhere(clinic, (store) =>
      invite(clinic.project, body, { store, caller: clinic.admin }),
    );
    expect(steps).toBeGreaterThan(5);
    const all = [...(await contents(clinic.store, clinic.project)).keys()].map((key) => key.replace(/\/.*/, ''));
    expect(all.filter((key) => key === ' User')).toHaveLength(2);
    expect(all.filter((key) => key === `${clinic.project} RelatedPerson`)).toHaveLength(1);
    expect(all.filter((key) => key === `${clinic.project} ProjectMembership`)).toHaveLength(2);
  });

  test('leaves a member unchanged, or changed', async () => {
    const clinic = await openClinic(makeStore());
    const context = { ...clinic, caller: clinic.admin };
    const { membership } = await invite(clinic.project, person('Practitioner', 'Bob', { admin: true }), context);
    await failEverywhere(clinic, (store) =>
      updateMember(membership.id, { admin: false }, { store, caller: clinic.admin }),
    );
    await failEverywhere(clinic, (store) => removeMember(membership.id, { store, caller: clinic.admin }));
  });

  test('leaves nothing of a program, or all of it', async () => {
    const clinic = await openClinic(makeStore());
    await failEverywhere(clinic, (store) =>
      createClient(clinic.project, { name: 'Feed' }, { store, caller: clinic.admin }),
    );
  });

  test('leaves nothing of a project, or all of it', async () => {
    const clinic = await openClinic(makeStore());
    await failEverywhere(clinic, (store) =>
      createProject({ resourceType: 'Project', name: 'Other' }, { store, caller: clinic.superAdmin }),
    );
  });
});

test('initialize leaves nothing, or a usable project', async () => {
  for (let failing = 1; failing < 3; failing += 1) {
    const store = memoryStore();
    expect((await rejection(initialize(failingAt(store, failing).store))).code).toBe('unavailable');
    expect((await contents(store)).size).toBe(0);
    expect((await initialize(store)).caller.superAdmin).toBe(true);
  }
});

describe('e-mail', () => {
  const failing = {
    'a mailer that throws': {
      mailer: {
        send: (): never => {
          throw new Error('no route to 10.0.0.1');
        },
      },
    },
    'a mailer that rejects': { mailer: { send: () => Promise.reject(new Error('no route to 10.0.0.1')) } },
    'a message builder that throws': {
      mailer: keepingMailer(),
      message: (): never => {
        throw new Error('no route to 10.0.0.1');
      },
    },
  };

  test.each(Object.entries(failing))('%s is reported, and everything else is kept', async (_what, mail) => {
    const clinic = await openClinic();
    const context = { ...clinic, caller: clinic.admin };
    const { email, membership, created } = await invite(clinic.project, person('Patient', 'Pat'), {
      ...context,
      ...mail,
    });
    expect(created).toEqual({ user: true, profile: true, membership: true });
    if (email.status !== 'failed') throw new Error('expected the e-mail to fail');
    expect(email.error.cause).toMatchObject({ message: 'no route to 10.0.0.1' });
    expect(JSON.stringify(email)).not.toContain('10.0.0.1');
    expect([...(await contents(clinic.store, clinic.project)).keys()]).toContain(
      `${clinic.project} ProjectMembership/${membership.id}`,
    );
    const mailer = keepingMailer();
    expect(await resendInvitation(membership.id, { ...context, mailer })).toEqual({ status: 'sent' });
    expect(mailer.sent[0]).toMatchObject({ to: 'pat@example.org', isNewUser: true });
  });

  test('is sent only after the commit, with complete data, as copies', async () => {
    const clinic = await openClinic();
    const mailer = keepingMailer();
    const { user, profile, membership } = await invite(clinic.project, person('Patient', 'Pat'), {
      ...clinic,
      caller: clinic.admin,
      clock: () => new Date('2030-01-01T00:00:00Z'),
      mailer: {
        send: async (invitation) => {
          expect([...(await contents(clinic.store, clinic.project)).keys()]).toContain(
            `${clinic.project} ProjectMembership/${invitation.membership.id}`,
          );
          await mailer.send(structuredClone(invitation));
          invitation.user.email = 'changed';
        },
      },
    });
    expect(user.email).toBe('pat@example.org');
    expect(mailer.sent).toEqual([
      {
        to: 'pat@example.org',
        date: '2030-01-01T00:00:00.000Z',
        user,
        profile,
        membership,
        isNewUser: true,
        invitedBy: { reference: `User/${clinic.first.user.id}`, display: 'Ada Smith' },
        project: expect.objectContaining({ id: clinic.project, name: 'Clinic' }),
        message: expect.objectContaining({ subject: 'Invitation to Clinic' }),
      },
    ]);
  });

  test.each([
    [{}, 'sent'],
    [{ sendEmail: true }, 'sent'],
    [{ sendEmail: 'true' }, 'sent'],
    [{ sendEmail: false }, 'skipped'],
    [{ sendEmail: 'false' }, 'skipped'],
    [{ dryRun: true }, 'skipped'],
  ] as const)('with %j it is %s', async (more, status) => {
    const clinic = await openClinic();
    const mailer = keepingMailer();
    const { email } = await invite(clinic.project, person('Patient', 'Pat', more), {
      ...clinic,
      caller: clinic.admin,
      mailer,
    });
    expect(email.status).toBe(status);
    expect(mailer.sent).toHaveLength(status === 'sent' ? 1 : 0);
  });

  test('is not sent by an invite that fails', async () => {
    const clinic = await openClinic();
    const mailer = keepingMailer();
    const context = { ...clinic, caller: clinic.admin, mailer };
    await rejection(invite(clinic.project, person('Practitioner', 'Ada'), context));
    expect(mailer.sent).toEqual([]);
  });

  test('is sent again by an invite with upsert, to an existing User', async () => {
    const clinic = await openClinic();
    const mailer = keepingMailer();
    const context = { ...clinic, caller: clinic.admin, mailer };
    await invite(clinic.project, person('Patient', 'Pat'), context);
    await invite(clinic.project, person('Patient', 'Pat', { upsert: true }), context);
    expect(mailer.sent.map(({ isNewUser }) => isNewUser)).toEqual([true, false]);
  });

  test('contains no secret of the project or the User', async () => {
    const clinic = await openClinic();
    const secret = { secret: [{ name: 'key', valueString: 'hush' }] };
    await put(clinic.store, clinic.project, {
      resourceType: 'Project',
      id: clinic.project,
      name: 'Clinic',
      ...secret,
    } as never);
    await put(clinic.store, clinic.project, {
      resourceType: 'User',
      id: 'pat',
      firstName: 'Pat',
      lastName: 'S',
      email: 'pat@example.org',
      passwordHash: 'hush',
      project: { reference: `Project/${clinic.project}` },
    } as never);
    const mailer = keepingMailer();
    const result = await invite(clinic.project, person('Patient', 'Pat'), { ...clinic, caller: clinic.admin, mailer });
    expect(result.user.id).toBe('pat');
    expect(JSON.stringify([result, mailer.sent])).not.toContain('hush');
  });
});
