import type { ProjectMembership } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import type { FhirHandlerConfig } from '../../../src/http.js';
import type { Invitation } from '../../../src/index.js';
import { openService, outcomeText, type Service } from './open-service.js';

const ANN = { resourceType: 'Practitioner', firstName: 'Ann', lastName: 'Lee', email: 'ann@example.org' };

interface Post {
  readonly service: Service;
  readonly sent: Invitation[];
  readonly member: ProjectMembership;
  readonly accept: (body: unknown, as?: string | null) => ReturnType<Service['call']>;
}

/** A service that requires acceptance. The token `idp` identifies Ann, but signs nobody in. */
async function open(more: Partial<FhirHandlerConfig> = {}): Promise<Post> {
  const sent: Invitation[] = [];
  const service = await openService({
    mailer: { send: (invitation) => void sent.push(invitation) },
    acceptance: { url: 'https://app.example/accept/{token}' },
    identify(request) {
      const token = request.headers.get('authorization');
      if (token === null) return undefined;
      if (token !== 'Bearer idp') throw Object.assign(new Error('bad signature'), { code: 'ERR_JWS_INVALID' });
      return { externalId: 'idp|ann', email: 'ann@example.org', emailVerified: true };
    },
    ...more,
  });
  const invited = await service.call('POST', `/admin/projects/${service.project}/invite`, { body: ANN });
  const accept: Post['accept'] = (body, as = 'idp') => service.call('POST', '/admin/invitations/accept', { body, as });
  return { service, sent, member: invited.body as ProjectMembership, accept };
}

const tokenOf = ({ acceptance }: Invitation): string => acceptance!.url.split('/').at(-1)!;

test('an invitation is accepted by a person who is not a member yet', async () => {
  const { service, sent, member, accept } = await open();
  const token = tokenOf(sent[0]!);
  expect(JSON.stringify(member)).not.toContain(token.slice(-43));
  const answer = await accept({ token });
  expect([answer.status, answer.body]).toEqual([
    200,
    {
      membership: `ProjectMembership/${member.id!}`,
      project: `Project/${service.project}`,
      user: member.user.reference,
      profile: member.profile.reference,
    },
  ]);
  expect((await accept({ token })).status).toBe(403);
  expect(service.audit.filter(({ interaction }) => interaction === 'accept-invitation')).toMatchObject([
    { outcome: { success: true } },
    { outcome: { success: false, code: 'invitation-invalid' } },
  ]);
  expect(service.audit.filter(({ outcome }) => !outcome.success)).toHaveLength(1);
});

test('it needs a token of the identity provider, and the token of the message', async () => {
  const { sent, accept, service } = await open();
  const token = tokenOf(sent[0]!);
  expect((await accept({ token }, null)).status).toBe(401);
  expect((await accept({ token }, 'admin')).status).toBe(401);
  expect((await accept({})).status).toBe(403);
  expect((await accept({ token: [token] })).status).toBe(403);
  expect((await service.call('GET', '/admin/invitations/accept', { as: 'idp' })).status).toBe(405);
  const without = await open({ identify: undefined });
  expect((await without.accept({ token: tokenOf(without.sent[0]!) }, null)).status).toBe(404);
});

test('administrators send it again, which invalidates the previous token', async () => {
  const { service, sent, member, accept } = await open();
  const path = `/admin/projects/${service.project}/members/${member.id!}/resend-invitation`;
  expect((await service.call('POST', path, { as: 'nurse' })).status).toBe(403);
  expect((await service.call('POST', path, { as: null })).status).toBe(401);
  const elsewhere = path.replace(service.project, 'elsewhere');
  expect((await service.call('POST', elsewhere)).status).toBe(403);
  const answer = await service.call('POST', path);
  expect([answer.status, answer.body]).toEqual([200, { status: 'sent' }]);
  expect(sent.map(({ to }) => to)).toEqual(['ann@example.org', 'ann@example.org']);
  const first = await accept({ token: tokenOf(sent[0]!) });
  expect([first.status, outcomeText(first)]).toEqual([403, expect.stringContaining('cannot be accepted')]);
  expect((await accept({ token: tokenOf(sent[1]!) })).status).toBe(200);
});

test('a failed e-mail is reported without its cause, which the host receives', async () => {
  let fail = false;
  const { service, member } = await open({
    mailer: {
      send() {
        if (fail) throw new Error('no route to the mail server');
      },
    },
  });
  fail = true;
  const path = `/admin/projects/${service.project}/members/${member.id!}/resend-invitation`;
  const answer = await service.call('POST', path);
  expect([answer.status, answer.body]).toEqual([200, { status: 'failed' }]);
  expect(service.errors.map(String)).toEqual(['Error: no route to the mail server']);
  const silent = await open({ mailer: undefined });
  const again = await silent.service.call(
    'POST',
    `/admin/projects/${silent.service.project}/members/${silent.member.id!}/resend-invitation`,
  );
  expect(again.body).toEqual({ status: 'skipped', reason: 'no-mailer' });
});
