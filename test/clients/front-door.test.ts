import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MedplumClient } from '@medplum/core';
import type { ClientApplication } from '@medplum/fhirtypes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createProject, initialize, invite, signIn, verifyClientSecret } from 'fhirgraph';
import { createFhirHandler, toNodeListener } from 'fhirgraph/http';
import { SqliteStore } from 'fhirgraph/sqlite';
import { temporaryFolder } from '../stores/temporary-folder.js';

// MedplumClient over a real connection, against a service on a SQLite file.

const fileNamed = temporaryFolder();
/** MedplumClient asks for the profile only with a JWT that has the claim `login_id`. */
const TOKEN = ['{}', '{"login_id":"1"}', 'x'].map((part) => Buffer.from(part).toString('base64url')).join('.');
let store: SqliteStore;
let server: Server;
let baseUrl: string;
let project: string;
let member: string;

beforeAll(async () => {
  store = new SqliteStore(fileNamed('clinic.db'));
  const { caller } = await initialize(store, { name: 'Operations' });
  project = (await createProject({ resourceType: 'Project', name: 'Clinic' }, { store, caller })).id;
  const ada = { resourceType: 'Practitioner', firstName: 'Ada', lastName: 'Stone', email: 'ada@example.org' } as const;
  member = (await invite(project, { ...ada, admin: true }, { store, caller })).membership.id!;
  server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const handler = createFhirHandler({
    store,
    baseUrl: `${baseUrl}fhir/R4`,
    audit: false,
    healthcheck: true,
    signIn: (request) =>
      request.headers.get('authorization') === `Bearer ${TOKEN}` ? signIn(store, { membership: member }) : undefined,
  });
  server.on('request', toNodeListener(handler));
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await store.close();
});

test('after the own sign-in of the host, the client knows who it is', async () => {
  const medplum = new MedplumClient({ baseUrl, fetch });
  medplum.setAccessToken(TOKEN);
  expect(await medplum.getProfileAsync()).toMatchObject({ resourceType: 'Practitioner', name: [{ family: 'Stone' }] });
  expect([medplum.getProject()?.id, medplum.isProjectAdmin(), medplum.isSuperAdmin()]).toEqual([project, true, false]);
  expect(medplum.getProjectMembership()?.id).toBe(member);
  expect(medplum.getUserConfiguration()).toMatchObject({ resourceType: 'UserConfiguration' });
});

test('it administers clients and members at the addresses that it knows', async () => {
  const medplum = new MedplumClient({ baseUrl, fetch });
  medplum.setAccessToken(TOKEN);
  const made = await medplum.post<ClientApplication>(`admin/projects/${project}/client`, { name: 'Feed' });
  const rotated = await medplum.post<ClientApplication>(
    medplum.fhirUrl('ClientApplication', made.id!, '$rotate-secret'),
    { resourceType: 'Parameters' },
  );
  const works = (secret: string): Promise<boolean> =>
    verifyClientSecret({ project, client: made.id!, secret }, { store });
  expect([await works(made.secret!), await works(rotated.secret!)]).toEqual([false, true]);
  const memberships = await medplum.searchResources('ProjectMembership', { profile: `ClientApplication/${made.id}` });
  const changed = await medplum.patch(`admin/projects/${project}/members/${memberships[0]!.id}`, [
    { op: 'add', path: '/admin', value: true },
  ]);
  expect(changed).toMatchObject({ admin: true });
  expect(await medplum.get(`admin/projects/${project}`)).toMatchObject({ name: 'Clinic' });
  expect(await (await fetch(`${baseUrl}healthcheck`)).json()).toEqual({ ok: true });
});
