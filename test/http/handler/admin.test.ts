import type { Bundle, Project, ProjectMembership } from '@medplum/fhirtypes';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Invitation } from '../../../src/index.js';
import { BASE, idOf, openService, outcomeText, type Service } from './open-service.js';

const sent: Invitation[] = [];
let fail = false;
let service: Service;
let admin: string;
beforeAll(async () => {
  service = await openService({
    mailer: {
      send(invitation) {
        if (fail) throw new Error('no route to the mail server');
        sent.push(invitation);
      },
    },
  });
  admin = `/admin/projects/${service.project}`;
});

const person = (firstName: string, more: object = {}): object => ({
  ...{ resourceType: 'Patient', firstName, lastName: 'Brook', email: `${firstName.toLowerCase()}@example.org` },
  ...more,
});
const invited = async (firstName: string): Promise<ProjectMembership> =>
  (await service.call('POST', `${admin}/invite`, { body: person(firstName) })).body as ProjectMembership;

describe('invitations', () => {
  test('create a membership and send an e-mail', async () => {
    const answer = await service.call('POST', `${admin}/invite`, { body: person('Cleo', { sendEmail: true }) });
    expect([answer.status, answer.body]).toMatchObject([
      200,
      { resourceType: 'ProjectMembership', profile: { display: 'Cleo Brook' } },
    ]);
    expect(answer.headers.get('content-location')).toBe(`${BASE}/ProjectMembership/${idOf(answer)}`);
    expect(sent.map(({ to }) => to)).toEqual(['cleo@example.org']);
    expect([answer.headers.get('email-status'), answer.headers.get('warning')]).toEqual(['sent', null]);
    expect((await service.call('POST', `${admin}/invite`, { body: person('Cleo') })).status).toBe(409);
  });

  test('an e-mail that fails is reported to onError, and the membership is kept', async () => {
    fail = true;
    const answer = await service.call('POST', `${admin}/invite`, { body: person('Dora', { sendEmail: true }) });
    fail = false;
    expect([answer.status, (answer.body as ProjectMembership).resourceType]).toEqual([200, 'ProjectMembership']);
    expect(service.errors.splice(0)).toEqual([new Error('no route to the mail server')]);
    expect([answer.headers.get('email-status'), answer.headers.get('warning')]).toEqual([
      'failed',
      '199 - "The e-mail could not be sent; send the invitation again"',
    ]);
    expect(answer.text).not.toContain('mail server');
  });

  test('an invitation without an e-mail says why there was none', async () => {
    const unsent = async (more: object): Promise<string | null> =>
      (await service.call('POST', `${admin}/invite`, { body: person('Emma', more) })).headers.get('email-status');
    expect(await unsent({ sendEmail: false, externalId: 'emma' })).toBe('skipped; reason=not-asked');
    const other = await openService();
    const body = person('Emma', { sendEmail: true });
    const { headers } = await other.call('POST', `/admin/projects/${other.project}/invite`, { body });
    expect(headers.get('email-status')).toBe('skipped; reason=no-mailer');
  });

  test('a dry run reports its effects', async () => {
    const answer = await service.call('POST', `${admin}/invite`, { body: person('Emil', { dryRun: true }) });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    expect(answer.body).toMatchObject({ created: { user: true, profile: true, membership: true } });
    expect((await service.call('GET', 'Patient?given=Emil')).body).not.toHaveProperty('entry');
  });

  test('are only for administrators of the project', async () => {
    const body = person('Fred');
    const statuses = async (as: string | null, project: string): Promise<number> =>
      (await service.call('POST', `/admin/projects/${project}/invite`, { body, as })).status;
    expect(await statuses('nurse', service.project)).toBe(403);
    expect(await statuses('admin', 'another')).toBe(403);
    expect(await statuses('operator', 'another')).toBe(404);
    expect(await statuses(null, service.project)).toBe(401);
  });
});

describe('members', () => {
  test('are found below the project and as FHIR resources, with valid links', async () => {
    await invited('Gina');
    const found = async (path: string): Promise<Bundle> => (await service.call('GET', path)).body as Bundle;
    const names = ({ entry }: Bundle): unknown =>
      entry?.map(({ resource }) => (resource as ProjectMembership).profile.display);
    expect(names(await found(`${admin}/members?name=gina`))).toEqual(['Gina Brook']);
    expect(names(await found('ProjectMembership?email=gina@example.org'))).toEqual(['Gina Brook']);
    const page = await found('ProjectMembership?_count=1&_format=json');
    expect(page.entry![0]!.fullUrl).toBe(`${BASE}/ProjectMembership/${page.entry![0]!.resource!.id}`);
    const next = page.link!.find(({ relation }) => relation === 'next')!;
    expect(next.url).toMatch(/\/ProjectMembership\?_count=1&_cursor=./);
    expect((await found(next.url)).entry).toHaveLength(1);
    expect((await service.call('GET', `${admin}/members`, { as: 'nurse' })).status).toBe(403);
    expect(await service.call('GET', 'ProjectMembership', { as: 'nurse' })).toMatchObject({ status: 403 });
  });

  test('are read, changed and removed', async () => {
    const { id } = await invited('Hugo');
    const path = `${admin}/members/${id}`;
    const read = await service.call('GET', path);
    expect([read.status, read.headers.get('etag')]).toEqual([200, 'W/"1"']);
    const changed = await service.call('PATCH', path, { body: { active: false } });
    expect([changed.status, (changed.body as ProjectMembership).active]).toEqual([200, false]);
    expect((await service.call('POST', path, { body: { actve: true } })).status).toBe(400);
    expect((await service.call('DELETE', path)).status).toBe(204);
    expect((await service.call('GET', path)).status).toBe(404);
    expect((await service.call('DELETE', path)).status).toBe(404);
  });

  test('are changed by a whole membership, as Medplum sends it', async () => {
    const membership = await invited('Ida');
    const path = `${admin}/members/${membership.id}`;
    const put = async (body: object): Promise<[number, unknown]> => {
      const { status, body: answer } = await service.call('POST', path, { body });
      return [status, answer];
    };
    const [status, named] = await put({ ...membership, userName: 'ida', admin: true });
    expect([status, named]).toMatchObject([200, { userName: 'ida', admin: true, profile: membership.profile }]);
    const [, plain] = await put(membership);
    expect(plain).not.toHaveProperty('userName');
    expect((plain as ProjectMembership).admin ?? false).toBe(false);
    const other = { reference: 'Patient/other' };
    expect((await put({ ...membership, profile: other }))[0]).toBe(400);
    expect((await put({ ...membership, id: 'other' }))[0]).toBe(400);
  });

  test('belong to the project in the URL', async () => {
    const { id } = await invited('Jana');
    for (const method of ['GET', 'DELETE', 'PATCH'] as const) {
      const body = method === 'PATCH' ? { body: { active: false } } : {};
      expect((await service.call(method, `/admin/projects/another/members/${id}`, body)).status).toBe(403);
      const operator = await service.call(method, `/admin/projects/operations/members/${id}`, {
        as: 'operator',
        ...body,
      });
      expect(operator.status).toBe(404);
      expect((await service.call(method, `${admin}/members/${id}`, { as: 'nurse', ...body })).status).toBe(403);
    }
    expect((await service.call('GET', `${admin}/members/${id}`)).status).toBe(200);
  });
});

describe('projects', () => {
  test('are created by the operator', async () => {
    const body = { resourceType: 'Project', name: 'Hillside' };
    const made = await service.call('POST', 'Project', { body, as: 'operator' });
    const { id, strictMode } = made.body as Project;
    expect([made.status, strictMode, made.headers.get('location')]).toEqual([
      201,
      true,
      `https://clinic.example/admin/projects/${id}`,
    ]);
    const refused = await service.call('POST', 'Project', { body });
    expect([refused.status, outcomeText(refused)]).toEqual([
      403,
      'Only super administrators and trusted code may create projects',
    ]);
  });

  test('every interaction is in the audit trail once, including members that are not found', () => {
    const done = service.audit.filter(({ outcome }) => outcome.success).map(({ interaction }) => interaction);
    const count = (name: string): number => done.filter((one) => one === name).length;
    expect([count('invite'), count('remove-member'), count('update-member'), count('create-project')]).toEqual([
      8, 1, 3, 1,
    ]);
    expect(count('read')).toBe(2);
    const failed = service.audit.filter(({ interaction, outcome }) => interaction === 'read' && !outcome.success);
    expect(failed).toHaveLength(11);
  });
});
