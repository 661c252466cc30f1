import type { ClientApplication } from '@medplum/fhirtypes';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import {
  createBot,
  createClient,
  createProject,
  createRepository,
  initialize,
  rotateClientSecret,
  serverCaller,
  signIn,
  systemCaller,
  verifyClientSecret,
} from '../../src/index.js';
import { fitsHash, hashSecret } from '../../src/projects/clients/client-secret.js';
import { useRealScrypt } from '../support/cheap-scrypt.js';
import { type Clinic, contents, memoryStore, openClinic, policy, put, rejection, stores } from './harness.js';

describe.each(stores)('programs on %s', (_name, makeStore) => {
  let clinic: Clinic;

  beforeEach(async () => {
    clinic = await openClinic(makeStore());
  });

  test('a client becomes a member, and its secret is returned once and stored as a hash', async () => {
    const context = { store: clinic.store, caller: clinic.admin };
    await put(clinic.store, clinic.project, policy('feed'));
    const accessPolicy = { reference: 'AccessPolicy/feed' } as const;
    const { client, membership, secret } = await createClient(
      clinic.project,
      { name: 'Feed', description: 'From the laboratory', accessPolicy },
      context,
    );
    const reference = { reference: `ClientApplication/${client.id}`, display: 'Feed' };
    expect(client).toMatchObject({ name: 'Feed', description: 'From the laboratory' });
    expect(membership).toMatchObject({ user: reference, profile: reference, accessPolicy, active: true });
    expect(secret).toMatch(/^[\w-]{43}$/);
    expect(JSON.stringify([client, membership])).not.toContain('secret');
    expect([...(await contents(clinic.store, clinic.project)).values()].join()).not.toContain(secret);
    const caller = await signIn(clinic.store, { project: clinic.project, client: client.id });
    expect(caller.profile).toBe(reference.reference);
    const stored = await createRepository({ store: clinic.store, caller: systemCaller(clinic.project) }).read(
      'ClientApplication',
      client.id,
    );
    expect(stored.secret).toBeUndefined();
  });

  test('only its secret is verified', async () => {
    const context = { store: clinic.store, caller: clinic.admin };
    const { client, secret } = await createClient(clinic.project, { name: 'Feed' }, context);
    const verify = (id: string, text: unknown, project = clinic.project): Promise<boolean> =>
      verifyClientSecret({ project, client: id, secret: text as string }, { store: clinic.store });
    expect(await verify(client.id, secret)).toBe(true);
    expect(await verify(`ClientApplication/${client.id}`, secret, `Project/${clinic.project}`)).toBe(true);
    for (const wrong of [`${secret}x`, secret.slice(1), '', undefined, {}, 'x'.repeat(100_000)]) {
      expect(await verify(client.id, wrong)).toBe(false);
    }
    expect(await verify('none', secret)).toBe(false);
    expect(await verify(client.id, secret, 'none')).toBe(false);
    expect((await rejection(verify('Patient/1', secret))).code).toBe('invalid');
  });

  test('a client without a hash, or switched off, is never verified', async () => {
    const hash = await hashSecret('right');
    const resource = (id: string, more: object): ClientApplication => ({
      resourceType: 'ClientApplication',
      id,
      name: id,
      ...more,
    });
    await put(
      clinic.store,
      clinic.project,
      resource('none', {}),
      resource('plain', { secret: 'right' }),
      resource('off', { secret: hash, status: 'off' }),
      resource('on', { secret: hash, status: 'active' }),
    );
    const verified = await Promise.all(
      ['none', 'plain', 'off', 'on'].map((id) =>
        verifyClientSecret({ project: clinic.project, client: id, secret: 'right' }, { store: clinic.store }),
      ),
    );
    expect(verified).toEqual([false, false, false, true]);
    expect(
      await verifyClientSecret({ project: clinic.project, client: 'none', secret: '' }, { store: clinic.store }),
    ).toBe(false);
  });

  test('a new secret invalidates the old one, at once or at the next rotation', async () => {
    const context = { store: clinic.store, caller: clinic.admin };
    const { client, secret: first } = await createClient(clinic.project, { name: 'Feed' }, context);
    const works = (...secrets: readonly string[]): Promise<boolean[]> =>
      Promise.all(
        secrets.map((one) =>
          verifyClientSecret({ project: clinic.project, client: client.id, secret: one }, { store: clinic.store }),
        ),
      );
    const { secret: second } = await rotateClientSecret(
      { project: clinic.project, client: client.id, keepOldFor: Infinity },
      context,
    );
    expect(await works(first, second)).toEqual([true, true]);
    const { secret: third } = await rotateClientSecret({ project: clinic.project, client: client.id }, context);
    expect(await works(first, second, third)).toEqual([false, false, true]);
    const wrong = { project: clinic.project, client: client.id, keepOldFor: -1 };
    expect((await rejection(rotateClientSecret(wrong, context))).code).toBe('invalid');
    expect((await rejection(rotateClientSecret({ project: clinic.project, client: 'none' }, context))).code).toBe(
      'not-found',
    );
    expect((await rejection(rotateClientSecret({ project: 'elsewhere', client: client.id }, context))).code).toBe(
      'forbidden',
    );
  });

  test('a replaced secret works for the time that the rotation sets', async () => {
    const context = { store: clinic.store, caller: clinic.admin };
    const { client, secret } = await createClient(clinic.project, { name: 'Feed' }, context);
    const target = { project: clinic.project, client: client.id };
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
    try {
      const { secret: next } = await rotateClientSecret({ ...target, keepOldFor: 60_000 }, context);
      const works = (one: string): Promise<boolean> => verifyClientSecret({ ...target, secret: one }, clinic);
      vi.advanceTimersByTime(59_999);
      expect([await works(secret), await works(next)]).toEqual([true, true]);
      vi.advanceTimersByTime(1);
      expect([await works(secret), await works(next)]).toEqual([false, true]);
    } finally {
      vi.useRealTimers();
    }
  });

  test('a bot becomes a member and signs in without a secret', async () => {
    const { bot, membership } = await createBot(
      clinic.project,
      { name: 'Reminder', admin: true },
      { ...clinic, caller: clinic.admin },
    );
    expect(bot).toMatchObject({ resourceType: 'Bot', name: 'Reminder' });
    expect(membership.user.reference).toBe(`Bot/${bot.id}`);
    expect(await signIn(clinic.store, { project: clinic.project, client: bot.id })).toMatchObject({ admin: true });
  });

  test.each([
    [{}, ['name']],
    [{ name: '' }, ['name']],
    [{ name: 'Feed', secret: 'mine' }, ['secret']],
    [{ name: 'Feed', accessPolicy: { reference: 'AccessPolicy/none' } }, ['accessPolicy']],
  ])('a body like %j is refused', async (body, paths) => {
    const error = await rejection(createClient(clinic.project, body as never, { ...clinic, caller: clinic.admin }));
    expect(error.code).toBe('invalid');
    expect(error.issues.map(({ expression }) => expression![0])).toEqual(paths);
  });
});

describe('stored hashes', () => {
  test('have the documented format, with a salt of their own', async () => {
    useRealScrypt();
    const [one, other] = await Promise.all([hashSecret('same'), hashSecret('same')]);
    const [, salt, hash] = /^\$scrypt\$ln=14,r=8,p=1\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/.exec(one)!;
    const { scryptSync } = await import('node:crypto');
    const expected = scryptSync('same', Buffer.from(salt!, 'base64'), 32, { N: 2 ** 14, r: 8, p: 1 });
    expect(Buffer.from(hash!, 'base64')).toEqual(expected);
    expect(one).not.toBe(other);
    expect(await fitsHash('same', one)).toBe(true);
    expect(await fitsHash('', await hashSecret(''))).toBe(false);
  });

  test('of other parameters are accepted, unless they would cost too much', async () => {
    // Made with node:crypto: scryptSync('pleaseletmein', Buffer.alloc(16), 32, { N: 1024, r: 4, p: 2 }).
    const { scryptSync } = await import('node:crypto');
    const hash = scryptSync('pleaseletmein', Buffer.alloc(16), 32, { N: 1024, r: 4, p: 2 })
      .toString('base64')
      .slice(0, 43);
    const salt = 'A'.repeat(22);
    expect(await fitsHash('pleaseletmein', `$scrypt$ln=10,r=4,p=2$${salt}$${hash}`)).toBe(true);
    expect(await fitsHash('pleaseletmein', `$scrypt$ln=25,r=4,p=2$${salt}$${hash}`)).toBe(false);
    expect(await fitsHash('pleaseletmein', `$scrypt$ln=0,r=4,p=2$${salt}$${hash}`)).toBe(false);
  });
});

describe('the first project', () => {
  test('is a super-admin project, and its client is signed in', async () => {
    const store = memoryStore();
    const { project, client, membership, secret, caller } = await initialize(store, { name: 'Operations' });
    expect(project).toMatchObject({ name: 'Operations', superAdmin: true, strictMode: true });
    expect(client.name).toBe('Operations Default Client');
    expect(client.secret).toBeUndefined();
    expect(membership.admin).toBe(true);
    expect(caller).toMatchObject({
      project: project.id,
      superAdmin: true,
      admin: true,
      profile: `ClientApplication/${client.id}`,
    });
    expect(await verifyClientSecret({ project: project.id, client: client.id, secret }, { store })).toBe(true);
  });

  test('is created only in an empty store', async () => {
    const { store } = await openClinic();
    const before = await contents(store);
    expect((await rejection(initialize(store))).code).toBe('conflict');
    expect(await contents(store)).toEqual(before);
    expect((await rejection(initialize(memoryStore(), { name: ' ' }))).code).toBe('invalid');
  });

  test('a lost secret is replaced by trusted code', async () => {
    const store = memoryStore();
    const { project, client } = await initialize(store);
    const { secret } = await rotateClientSecret(
      { project: project.id, client: client.id },
      { store, caller: systemCaller(project.id) },
    );
    expect(await verifyClientSecret({ project: project.id, client: client.id, secret }, { store })).toBe(true);
  });
});

describe('a project', () => {
  test('is created with the given values and an id of its own', async () => {
    const clinic = await openClinic();
    const body = {
      resourceType: 'Project',
      id: 'mine',
      name: 'Other',
      strictMode: false,
      description: 'Beside the first',
    } as const;
    const project = await createProject(body, { ...clinic, caller: clinic.superAdmin });
    expect(project).toMatchObject({ name: 'Other', strictMode: false, description: 'Beside the first' });
    expect(project.id).not.toBe('mine');
    expect(project.superAdmin).toBeUndefined();
    const strict = await createProject(
      { resourceType: 'Project', name: 'Strict' },
      { ...clinic, caller: serverCaller() },
    );
    expect(strict.strictMode).toBe(true);
  });

  test.each([
    [{ resourceType: 'Project' }, ['name']],
    [{ resourceType: 'Project', name: '' }, ['name']],
    [{ resourceType: 'Patient', name: 'Other' }, ['resourceType']],
    [{ resourceType: 'Project', name: 'Other', superAdmin: true }, ['superAdmin']],
    [{ resourceType: 'Project', name: 'Other', superAdmin: false }, ['superAdmin']],
    [{ resourceType: 'Project', name: 'Other', strictMode: 'yes', colour: 'red' }, ['colour', 'strictMode']],
  ])('like %j is refused', async (body, paths) => {
    const clinic = await openClinic();
    const error = await rejection(createProject(body as never, { ...clinic, caller: clinic.superAdmin }));
    expect(error.code).toBe('invalid');
    expect(error.issues.map(({ expression }) => expression![0]).sort()).toEqual(paths);
  });

  test('cannot be created by its own administrators', async () => {
    const clinic = await openClinic();
    const body = { resourceType: 'Project', name: 'Other' } as const;
    expect((await rejection(createProject(body, { ...clinic, caller: clinic.admin }))).code).toBe('forbidden');
    expect((await rejection(createProject(body, { ...clinic, caller: undefined as never }))).code).toBe(
      'unauthenticated',
    );
  });
});
