import { beforeEach, describe, expect, test } from 'vitest';
import {
  type AuditRecord,
  createBot,
  createClient,
  invite,
  removeMember,
  signIn,
  updateBot,
  updateClient,
  verifyClientSecret,
} from '../../src/index.js';
import { type Clinic, openClinic, person, rejection, stores } from './harness.js';

describe.each(stores)('changing programs on %s', (_name, makeStore) => {
  let clinic: Clinic;
  let context: { readonly store: Clinic['store']; readonly caller: Clinic['admin'] };

  beforeEach(async () => {
    clinic = await openClinic(makeStore());
    context = { store: clinic.store, caller: clinic.admin };
  });

  test('an administrator creates a client with its settings and changes them; the secret is kept', async () => {
    const redirectUris = ['https://app.example/callback'];
    const { client, secret } = await createClient(clinic.project, { name: 'App', redirectUris }, context);
    expect(client).toMatchObject({ name: 'App', redirectUris });
    const changes = { jwksUri: 'https://app.example/jwks', redirectUris: null, description: 'The app' };
    const changed = await updateClient({ project: clinic.project, client: client.id }, changes, {
      ...context,
      extendedMeta: true,
    });
    expect(changed).toMatchObject({ name: 'App', jwksUri: 'https://app.example/jwks', description: 'The app' });
    expect(changed).not.toHaveProperty('redirectUris');
    expect(changed).not.toHaveProperty('secret');
    expect(changed.meta?.author).toEqual({ reference: clinic.first.membership.profile.reference });
    expect(
      await verifyClientSecret({ project: clinic.project, client: client.id, secret }, { store: clinic.store }),
    ).toBe(true);
    const same = await updateClient(
      { project: clinic.project, client: client.id },
      { description: 'The app' },
      context,
    );
    expect(same.meta?.versionId).toBe(changed.meta?.versionId);
    expect(same).not.toHaveProperty('secret');
  });

  test('a client that is switched off is neither verified nor signed in, until it is active again', async () => {
    const { client, membership, secret } = await createClient(clinic.project, { name: 'App' }, context);
    await updateClient({ project: clinic.project, client: client.id }, { status: 'off' }, context);
    expect(
      await verifyClientSecret({ project: clinic.project, client: client.id, secret }, { store: clinic.store }),
    ).toBe(false);
    for (const identity of [{ project: clinic.project, client: client.id }, { membership: membership.id }]) {
      expect((await rejection(signIn(clinic.store, identity))).code).toBe('membership-inactive');
    }
    await updateClient({ project: clinic.project, client: client.id }, { status: 'active' }, context);
    expect(await signIn(clinic.store, { membership: membership.id })).toMatchObject({ membership: membership.id });
  });

  test('the last administrator who can sign in can be neither switched off nor left with only administrators who cannot', async () => {
    const above = { store: clinic.store, caller: clinic.superAdmin };
    const robot = await createClient(clinic.project, { name: 'Robot', admin: true }, above);
    const self = { store: clinic.store, caller: await signIn(clinic.store, { membership: robot.membership.id }) };
    const leave = updateClient({ project: clinic.project, client: robot.client.id }, { status: 'off' }, self);
    expect((await rejection(leave)).code).toBe('forbidden');
    await updateClient({ project: clinic.project, client: robot.client.id }, { status: 'off' }, above);
    // The other administrator is switched off, so this one is the last.
    expect((await rejection(removeMember(clinic.first.membership.id, above))).code).toBe('conflict');
    await updateClient({ project: clinic.project, client: robot.client.id }, { status: 'active' }, above);
    await removeMember(clinic.first.membership.id, above);
    const last = updateClient({ project: clinic.project, client: robot.client.id }, { status: 'off' }, above);
    expect((await rejection(last)).code).toBe('conflict');
    expect(await signIn(clinic.store, { membership: robot.membership.id })).toMatchObject({ admin: true });
  });

  test('giving a secret again does not reveal whether it is the stored one', async () => {
    const provider = {
      authorizeUrl: 'https://idp.example/authorize',
      clientId: 'app',
      tokenUrl: 'https://idp.example/token',
      userInfoUrl: 'https://idp.example/user',
    };
    const identityProvider = { ...provider, clientSecret: 'stored' };
    const versions: (string | undefined)[] = [];
    for (const clientSecret of ['stored', 'guessed']) {
      const { client } = await createClient(clinic.project, { name: 'App', identityProvider }, context);
      const changes = { identityProvider: { ...provider, clientSecret } };
      versions.push(
        (await updateClient({ project: clinic.project, client: client.id }, changes, context)).meta?.versionId,
      );
    }
    expect(versions).toEqual(['2', '2']);
  });

  test('an administrator writes the code of a bot', async () => {
    const { bot } = await createBot(clinic.project, { name: 'Reminder', code: 'one()' }, context);
    expect(bot.code).toBe('one()');
    const records: AuditRecord[] = [];
    const audit = (record: AuditRecord): void => void records.push(record);
    const changed = await updateBot({ project: clinic.project, bot: bot.id }, { code: 'two()' }, { ...context, audit });
    expect(changed.code).toBe('two()');
    expect(records).toMatchObject([
      { interaction: 'update-bot', targets: [{ type: 'Bot', id: bot.id }], outcome: { success: true } },
    ]);
  });

  test('only unrestricted super administrators create and change a system Bot', async () => {
    const above = { store: clinic.store, caller: clinic.superAdmin };
    expect((await rejection(createBot(clinic.project, { name: 'Root', system: true }, context))).code).toBe(
      'forbidden',
    );
    const { bot: plain } = await createBot(clinic.project, { name: 'Plain' }, context);
    const raise = updateBot({ project: clinic.project, bot: plain.id }, { system: true }, context);
    expect((await rejection(raise)).code).toBe('forbidden');
    const { bot } = await createBot(clinic.project, { name: 'Root', system: true }, above);
    const rewrite = updateBot({ project: clinic.project, bot: bot.id }, { code: 'steal()' }, context);
    expect((await rejection(rewrite)).code).toBe('forbidden');
    expect(await updateBot({ project: clinic.project, bot: bot.id }, { code: 'work()' }, above)).toMatchObject({
      code: 'work()',
    });
  });

  test('a caller who is not an administrator of the project changes nothing', async () => {
    const { client } = await createClient(clinic.project, { name: 'App' }, context);
    const { membership } = await invite(clinic.project, person('Practitioner', 'Bob'), context);
    const bob = await signIn(clinic.store, { membership: membership.id });
    const change = updateClient(
      { project: clinic.project, client: client.id },
      { status: 'off' },
      { ...context, caller: bob },
    );
    expect((await rejection(change)).code).toBe('forbidden');
    const elsewhere = updateClient({ project: 'other', client: client.id }, { status: 'off' }, context);
    expect((await rejection(elsewhere)).code).toBe('forbidden');
    expect((await rejection(updateClient({ project: clinic.project, client: 'none' }, {}, context))).code).toBe(
      'not-found',
    );
    expect((await rejection(updateBot({ project: clinic.project, bot: client.id }, {}, context))).code).toBe(
      'not-found',
    );
  });

  test.each([
    [{ secret: 'mine' }, ['secret']],
    [{ retiringSecret: 'mine' }, ['retiringSecret']],
    [{ id: 'other' }, ['id']],
    [{ name: null }, ['name']],
    [{ name: '' }, ['name']],
    [{ status: 'perhaps' }, ['status']],
    [{ redirectUris: 'https://one' }, ['redirectUris']],
    [{ colour: 'red' }, ['colour']],
  ])('changes like %j are refused', async (changes, paths) => {
    const { client } = await createClient(clinic.project, { name: 'App' }, context);
    const error = await rejection(
      updateClient({ project: clinic.project, client: client.id }, changes as never, context),
    );
    expect(error.code).toBe('invalid');
    expect(error.issues.map(({ expression }) => expression![0])).toEqual(paths);
  });
});
