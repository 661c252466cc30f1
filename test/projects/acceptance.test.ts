import type { ProjectMembership } from '@medplum/fhirtypes';
import { describe, expect, test } from 'vitest';
import {
  acceptInvitation,
  type AuditRecord,
  createRepository,
  invite,
  removeMember,
  resendInvitation,
  type ResourceStore,
  searchMembers,
  serverCaller,
  signIn,
  systemCaller,
  updateMember,
  type VerifiedIdentity,
} from '../../src/index.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { keepingMailer, openClinic, person, rejection, stores, memoryStore, type Clinic } from './harness.js';

const NOW = '2030-01-01T00:00:00.000Z';
const DAY = 24 * 60 * 60 * 1000;
const at = (days: number) => (): Date => new Date(Date.parse(NOW) + days * DAY);
const ANN: VerifiedIdentity = { externalId: 'idp|ann', email: 'ann@example.org', emailVerified: true };

/** A clinic that asks people to accept, with Ann invited. */
async function invited(store: ResourceStore) {
  const clinic = await openClinic(store);
  const mailer = keepingMailer();
  const context = {
    store,
    caller: clinic.admin,
    mailer,
    clock: at(0),
    acceptance: { url: 'https://app.example.org/accept?token={token}&lang=en' },
  };
  const { membership, user } = await invite(clinic.project, person('Practitioner', 'Ann'), context);
  const tokenOf = (index: number): string =>
    new URL(mailer.sent[index]!.acceptance!.url).searchParams.get('token') ?? '';
  return { ...clinic, mailer, context, membership, user, tokenOf, token: tokenOf(0) };
}

const codeOf = async (call: Promise<unknown>): Promise<string> => (await rejection(call)).code;

async function membersWith(clinic: Clinic, status: string, days = 0): Promise<readonly string[]> {
  const { entry = [] } = await searchMembers(clinic.project, `status=${status}`, {
    store: clinic.store,
    caller: clinic.admin,
    clock: at(days),
  });
  return entry.map(({ resource }) => resource!.profile.display!).sort();
}

describe.each(stores)('an invitation over %s', (_, make) => {
  test('is sent with the address of the host, accepted once, and links the external id', async () => {
    const { store, project, token, mailer, membership, user, ...clinic } = await invited(make());
    const { acceptance, message } = mailer.sent[0]!;
    expect(acceptance).toEqual({
      url: `https://app.example.org/accept?token=${token}&lang=en`,
      expires: '2030-01-08T00:00:00.000Z',
    });
    expect(token).toMatch(/^[A-Za-z0-9.-]{1,64}\.[A-Za-z0-9_-]{43}$/);
    expect(message.text).toContain(`It works once, until 2030-01-08.\n\n${acceptance!.url}\n`);
    expect(message.html).toContain(acceptance!.url.replace('&', '&#38;'));
    const records: AuditRecord[] = [];
    const context = { store, clock: at(6.9), audit: (record: AuditRecord) => void records.push(record) };
    const accepted = await acceptInvitation(token, { ...ANN, email: ' ANN@Example.org ' }, context);
    expect(accepted).toEqual({
      membership: `ProjectMembership/${membership.id}`,
      project: `Project/${project}`,
      user: `User/${user.id}`,
      profile: membership.profile.reference,
    });
    const who = { kind: 'member', ...accepted, project };
    expect(records).toMatchObject([
      {
        interaction: 'accept-invitation',
        who,
        targets: [{ type: 'ProjectMembership', id: membership.id }],
        outcome: { success: true },
      },
    ]);
    const caller = await signIn(store, { externalId: ANN.externalId });
    expect(caller).toMatchObject({ membership: membership.id, project });
    expect(await signIn(store, accepted)).toMatchObject({ membership: membership.id });
    const trusted = createRepository({ store, caller: serverCaller(project) });
    const { extension: _none, ...linked } = await trusted.read('ProjectMembership', membership.id);
    expect(_none).toBeUndefined();
    expect(linked).toMatchObject({ externalId: ANN.externalId, active: true });
    expect(await trusted.read('User', user.id)).toMatchObject({ emailVerified: true, email: 'ann@example.org' });
    expect(await codeOf(acceptInvitation(token, ANN, context))).toBe('invitation-invalid');
    expect(records[1]).toMatchObject({ who: { kind: 'unknown' }, outcome: { code: 'invitation-invalid' } });
    expect(await membersWith({ store, project, ...clinic }, 'active')).toContain('Ann Smith');
  });

  test('cannot be accepted with another token, address or time', async () => {
    const { store, token, membership } = await invited(make());
    const [id, secret] = [token.slice(0, -44), token.slice(-43)];
    const other = secret.startsWith('A') ? `B${secret.slice(1)}` : `A${secret.slice(1)}`;
    const tokens = [`${id}.${other}`, `${membership.id}x.${secret}`, `.${secret}`, secret, id, '', ' ', `${token}A`, 7];
    for (const wrong of tokens) {
      const fault = await rejection(acceptInvitation(wrong as string, ANN, { store, clock: at(0) }));
      expect([fault.code, fault.message]).toEqual([
        'invitation-invalid',
        'The invitation cannot be accepted: it is unknown, used, replaced, withdrawn or expired; ask for another one',
      ]);
    }
    for (const identity of [
      { ...ANN, email: 'ben@example.org' },
      { ...ANN, emailVerified: false },
      { ...ANN, email: 'ann@example.org.evil.example' },
      // These are separate mailboxes if a domain has them: full width, and letters that look alike.
      ...['\uff41nn@example.org', '\u1d43nn@example.org', 'ann\uff20example.org', '\u0430nn@example.org'].map(
        (email) => ({
          ...ANN,
          email,
        }),
      ),
    ]) {
      const fault = await rejection(acceptInvitation(token, identity, { store, clock: at(0) }));
      expect(fault.message).toBe('The invitation is for another e-mail address, or it is not verified');
      expect(fault.code).toBe('invitation-invalid');
    }
    for (const days of [7, 7.001, 4000]) {
      expect(await codeOf(acceptInvitation(token, ANN, { store, clock: at(days) }))).toBe('invitation-invalid');
    }
    expect(await codeOf(signIn(store, { externalId: ANN.externalId }))).toBe('membership-missing');
    await acceptInvitation(token, ANN, { store, clock: at(6.999) });
  });

  test('expires after ten failures with its token, and not by any number of wrong tokens', async () => {
    const { store, token, context, membership, tokenOf } = await invited(make());
    const context0 = { store, clock: at(0) };
    const wrong = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`;
    const stranger = { ...ANN, email: 'ben@example.org' };
    for (let time = 0; time < 9; time += 1) {
      expect(await codeOf(acceptInvitation(token, stranger, context0))).toBe('invitation-invalid');
    }
    for (let time = 0; time < 12; time += 1) {
      expect(await codeOf(acceptInvitation(wrong, ANN, context0))).toBe('invitation-invalid');
    }
    expect(await codeOf(acceptInvitation(token, { ...ANN, externalId: '' }, context0))).toBe('invalid');
    expect(await codeOf(acceptInvitation(token, stranger, context0))).toBe('invitation-invalid');
    expect(await codeOf(acceptInvitation(token, ANN, context0))).toBe('invitation-invalid');
    // A new invitation starts to count at zero.
    await resendInvitation(membership.id, context);
    for (let time = 0; time < 9; time += 1) {
      expect(await codeOf(acceptInvitation(tokenOf(1), stranger, context0))).toBe('invitation-invalid');
    }
    await acceptInvitation(tokenOf(1), ANN, context0);
  });

  test('is replaced by another invitation, and ends with the membership', async () => {
    const { store, token, tokenOf, context, membership, project } = await invited(make());
    expect(await resendInvitation(membership.id, { ...context, clock: at(5) })).toEqual({ status: 'sent' });
    expect(tokenOf(1)).not.toBe(token);
    expect(await codeOf(acceptInvitation(token, ANN, { store, clock: at(5) }))).toBe('invitation-invalid');
    const body = person('Practitioner', 'Ann', { upsert: true });
    await invite(project, body, { ...context, clock: at(6) });
    expect(await codeOf(acceptInvitation(tokenOf(1), ANN, { store, clock: at(6) }))).toBe('invitation-invalid');
    await removeMember(membership.id, context);
    expect(await codeOf(acceptInvitation(tokenOf(2), ANN, { store, clock: at(6) }))).toBe('invitation-invalid');
    // Trusted code that writes the same membership again does not bring it back.
    await createRepository({ store, caller: serverCaller(project) }).update(membership);
    expect(await codeOf(acceptInvitation(tokenOf(2), ANN, { store, clock: at(6) }))).toBe('invitation-invalid');
  });

  test('is accepted by one of two callers at the same moment', async () => {
    const { store, token } = await invited(make());
    const identities = ['one', 'other'].map((externalId) => ({ ...ANN, externalId }));
    const outcomes = await Promise.allSettled(
      identities.map((identity) => acceptInvitation(token, identity, { store, clock: at(1) })),
    );
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const winner = outcomes.findIndex(({ status }) => status === 'fulfilled');
    expect(await signIn(store, { externalId: identities[winner]!.externalId })).toHaveProperty('membership');
    expect(await codeOf(signIn(store, { externalId: identities[1 - winner]!.externalId }))).toBe('membership-missing');
    expect(outcomes[1 - winner]).toMatchObject({ reason: { code: 'invitation-invalid' } });
  });

  test('is used up for a caller that read the invitation before another acceptance and the membership after it', async () => {
    const { store, token } = await invited(make());
    const read = store.read.bind(store);
    store.read = async (keys, options) => {
      const rows = await read(keys, options);
      store.read = read;
      await acceptInvitation(token, { ...ANN, externalId: 'one' }, { store, clock: at(1) });
      return rows;
    };
    const other = acceptInvitation(token, { ...ANN, externalId: 'other' }, { store, clock: at(1) });
    expect(await codeOf(other)).toBe('invitation-invalid');
  });

  test('is found by its status', async () => {
    const clinic = await invited(make());
    await invite(clinic.project, person('Practitioner', 'Ben'), { ...clinic.context, acceptance: undefined });
    const off = await invite(clinic.project, person('Practitioner', 'Cy'), clinic.context);
    await updateMember(off.membership.id, { active: false }, clinic.context);
    expect(await membersWith(clinic, 'invited')).toEqual(['Ann Smith']);
    expect(await membersWith(clinic, 'active')).toEqual(['Ada Smith', 'Ben Smith']);
    expect(await membersWith(clinic, 'expired')).toEqual([]);
    expect(await membersWith(clinic, 'inactive')).toEqual(['Cy Smith']);
    expect(await membersWith(clinic, 'invited', 6.999)).toEqual(['Ann Smith']);
    expect(await membersWith(clinic, 'invited', 7)).toEqual([]);
    expect(await membersWith(clinic, 'expired', 7)).toEqual(['Ann Smith']);
    expect(await membersWith(clinic, 'expired,active', 7)).toEqual(['Ada Smith', 'Ann Smith', 'Ben Smith']);
    await acceptInvitation(clinic.token, ANN, { store: clinic.store, clock: at(1) });
    expect(await membersWith(clinic, 'active', 9)).toEqual(['Ada Smith', 'Ann Smith', 'Ben Smith']);
    for (const query of ['status=gone', 'status=', 'status:not=active', 'status=toString']) {
      expect(await codeOf(searchMembers(clinic.project, query, clinic.context))).toBe('invalid');
    }
  });
});

describe('an invitation', () => {
  test('keeps its secret: no caller, history or text of the store has it', async () => {
    const { store, token, membership, project, mailer } = await invited(memoryStore());
    const secret = token.slice(-43);
    const texts = [JSON.stringify(membership)];
    for (const caller of [systemCaller(project), serverCaller(project)]) {
      const guard = guardStore(store, caller);
      for (const type of ['UserSecurityRequest', 'ProjectMembership', 'User', 'Project']) {
        texts.push(JSON.stringify(await guard.search({ type, criteria: { kind: 'all' } })));
      }
      texts.push(JSON.stringify(await guard.history({ type: 'ProjectMembership', id: membership.id }, PAGE)));
    }
    const [record] = await store.read([{ project: '/invitations', type: 'UserSecurityRequest', id: membership.id }]);
    expect(record).toMatchObject({ status: 'found', resource: { secret: expect.stringMatching(/^[0-9a-f]{64}$/) } });
    texts.push(JSON.stringify(record));
    expect(texts.join('')).not.toContain(secret);
    expect(texts.slice(0, -1).join('')).not.toMatch(/[0-9a-f]{64}/);
    expect(JSON.stringify(mailer.sent)).toContain(secret);
  });

  test('replaces no external id, and accepts none that another member has', async () => {
    const { store, token, context, membership, project } = await invited(memoryStore());
    const ben = await invite(project, person('Practitioner', 'Ben', { scope: 'server' }), context);
    await updateMember(ben.membership.id, { externalId: 'idp|ben' }, context);
    const taken = await rejection(acceptInvitation(token, { ...ANN, externalId: 'idp|ben' }, { store, clock: at(0) }));
    expect([taken.code, taken.message]).toEqual(['conflict', 'Another member of the project has this external id']);
    const trusted = createRepository({ store, caller: serverCaller(project) });
    const stored = await trusted.read('ProjectMembership', membership.id);
    await trusted.update({ ...stored, externalId: 'idp|earlier' });
    expect(await codeOf(acceptInvitation(token, ANN, { store, clock: at(0) }))).toBe('conflict');
    expect(await trusted.read('ProjectMembership', membership.id)).toMatchObject({ externalId: 'idp|earlier' });
    // The same external id is not a replacement.
    await acceptInvitation(token, { ...ANN, externalId: 'idp|earlier' }, { store, clock: at(0) });
  });

  test('ends if the host links the person itself; a linked person gets no other invitation', async () => {
    const { store, token, context, membership, mailer, project } = await invited(memoryStore());
    await updateMember(membership.id, { externalId: 'idp|host' }, context);
    expect(await codeOf(acceptInvitation(token, ANN, { store, clock: at(0) }))).toBe('invitation-invalid');
    await resendInvitation(membership.id, context);
    await invite(project, person('Practitioner', 'Ann', { upsert: true }), context);
    expect(mailer.sent.slice(1).map(({ acceptance }) => acceptance)).toEqual([undefined, undefined]);
    const { entry = [] } = await searchMembers(project, 'status=invited', context);
    expect(entry).toEqual([]);
  });

  test.each<[string, (clinic: Awaited<ReturnType<typeof invited>>) => Promise<unknown>]>([
    [
      'the membership is switched off',
      ({ membership, context }) => updateMember(membership.id, { active: false }, context),
    ],
    [
      'the project is switched off',
      async ({ store, project }) => {
        const trusted = createRepository({ store, caller: serverCaller(project) });
        return trusted.update({ ...(await trusted.read('Project', project)), active: false });
      },
    ],
    [
      'the User is gone',
      ({ store, user }) => createRepository({ store, caller: serverCaller() }).delete('User', user.id),
    ],
  ])('is not accepted while %s', async (_, change) => {
    const clinic = await invited(memoryStore());
    await change(clinic);
    const call = acceptInvitation(clinic.token, ANN, { store: clinic.store, clock: at(0) });
    expect(await codeOf(call)).toBe('invitation-invalid');
  });

  test('is not accepted for a User without an address', async () => {
    const { store, token, user } = await invited(memoryStore());
    const trusted = createRepository({ store, caller: serverCaller() });
    const { email: _, ...nameless } = await trusted.read('User', user.id);
    await trusted.update(nameless);
    expect(await codeOf(acceptInvitation(token, { ...ANN, email: 'undefined' }, { store, clock: at(0) }))).toBe(
      'invitation-invalid',
    );
  });

  test.each<[string, unknown]>([
    ['externalId', { ...ANN, externalId: undefined }],
    ['externalId', { ...ANN, externalId: 'a\u0000b' }],
    ['email', { ...ANN, email: 7 }],
    ['emailVerified', { ...ANN, emailVerified: 'true' }],
  ])('reports the error of the identity: %s', async (field, identity) => {
    const { store, token } = await invited(memoryStore());
    const fault = await rejection(acceptInvitation(token, identity as never, { store, clock: at(0) }));
    expect([fault.code, fault.issues.map(({ expression }) => expression)]).toEqual(['invalid', [[field]]]);
    await acceptInvitation(token, ANN, { store, clock: at(0) });
  });

  test.each<[unknown]>([
    [{ url: 'https://app.example.org/accept' }],
    [{ url: 'javascript:alert({token})' }],
    [{ url: '/accept?token={token}' }],
    [{ url: 7 }],
    [{ url: 'https://app.example.org/{token}', validFor: 0 }],
    [{ url: 'https://app.example.org/{token}', validFor: Number.NaN }],
    [{ url: 'https://app.example.org/{token}', validFor: 1e15 }],
  ])('is refused before anything is written if it cannot be accepted: %j', async (acceptance) => {
    const { store, admin: caller, project } = await openClinic();
    const context = { store, caller, mailer: keepingMailer(), acceptance: acceptance as never };
    expect(await codeOf(invite(project, person('Practitioner', 'Ann'), context))).toBe('invalid');
    const { total } = await searchMembers(project, undefined, { store, caller });
    expect(total).toBe(1);
  });

  test('gets its address from a function of the host; if that fails, the invitation can be sent again', async () => {
    const { store, admin: caller, project } = await openClinic();
    const mailer = keepingMailer();
    const url = (token: string): string => `https://app.example.org/go/${token}`;
    const context = { store, caller, mailer, acceptance: { url, validFor: DAY }, clock: at(0) };
    const broken = { ...context, acceptance: { url: () => 'ftp://app.example.org' } };
    const { membership, email } = await invite(project, person('Practitioner', 'Ann'), broken);
    expect(email.status).toBe('failed');
    await resendInvitation(membership.id, context);
    const { acceptance } = mailer.sent[0]!;
    expect(acceptance!.expires).toBe('2030-01-02T00:00:00.000Z');
    await acceptInvitation(acceptance!.url.split('/').at(-1)!, ANN, { store, clock: at(0.9) });
  });

  test.each([
    ['no mailer', { mailer: undefined }, {}],
    ['no e-mail', {}, { sendEmail: false }],
    ['an external id', {}, { externalId: 'idp|x' }],
  ] as const)('is not open with %s', async (_, more, body) => {
    const { store, admin: caller, project } = await openClinic();
    const acceptance = { url: 'https://app.example.org/{token}' };
    const context = { store, caller, mailer: keepingMailer(), acceptance, ...more };
    const { membership } = await invite(project, person('Practitioner', 'Ann', body), context);
    expect((membership as ProjectMembership).extension).toBeUndefined();
    const found = await store.read([{ project: '/invitations', type: 'UserSecurityRequest', id: membership.id }]);
    expect(found).toEqual([{ status: 'missing' }]);
  });
});

const PAGE = { offset: 0, limit: 10 };
