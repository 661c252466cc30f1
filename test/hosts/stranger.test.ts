import { MedplumClient } from '@medplum/core';
import { createProject, initialize, invite, MemoryStore, signIn, type Caller, type Invitation } from 'fhirgraph';
import { createFhirHandler, toFetch, type FhirHandler } from 'fhirgraph/http';
import { SqliteStore } from 'fhirgraph/sqlite';
import { expect, test } from 'vitest';

// The code that a new user writes from the README, and a second service of another store and dialect in the same process.

const sent: Invitation[] = [];

/** The stranger's own code: a guarded service with invitations, in 15 lines. */
function openService(
  store: MemoryStore | SqliteStore,
  verifyToken: (authorization: string | null) => { project: string; user: string } | undefined,
  dialect: 'standard' | 'hl7',
): FhirHandler {
  return createFhirHandler({
    store,
    dialect,
    baseUrl: 'https://clinic.example/fhir/R4',
    audit: () => undefined,
    mailer: { send: async (invitation) => void sent.push(invitation) },
    async signIn(request): Promise<Caller | undefined> {
      const identity = verifyToken(request.headers.get('authorization'));
      return identity && signIn(store, identity);
    },
  });
}

/** A service with one administrator. Its token is `name`. */
async function withAdministrator(
  store: MemoryStore | SqliteStore,
  name: string,
  dialect: 'standard' | 'hl7',
): Promise<{ readonly project: string; readonly medplum: MedplumClient }> {
  const { caller } = await initialize(store);
  const project = (await createProject({ resourceType: 'Project', name }, { store, caller })).id;
  const person = {
    resourceType: 'Practitioner',
    firstName: name,
    lastName: 'Stone',
    email: `${name}@example.org`,
  } as const;
  const { user } = await invite(project, { ...person, admin: true }, { store, caller });
  const verify = (token: string | null): { project: string; user: string } | undefined =>
    token === `Bearer ${name}` ? { project, user: user.id } : undefined;
  const send = toFetch(openService(store, verify, dialect));
  const medplum = new MedplumClient({
    baseUrl: 'https://clinic.example/',
    fetch: (url: string, init: RequestInit = {}) => {
      const headers = new Headers(init.headers);
      headers.set('authorization', `Bearer ${name}`);
      return send(url, { ...init, headers });
    },
  });
  return { project, medplum };
}

test('a guarded service with invitations for MedplumClient, and another service in the same process', async () => {
  const stores = [new MemoryStore(), new SqliteStore(':memory:')] as const;
  const one = await withAdministrator(stores[0], 'ada', 'standard');
  const other = await withAdministrator(stores[1], 'bea', 'hl7');

  await one.medplum.createResource({ resourceType: 'Patient', name: [{ family: 'Kulas' }], gender: 'female' });
  await other.medplum.createResource({ resourceType: 'Patient', name: [{ family: 'Brook' }] });
  const query = '{ PatientList { gender name { family } } }';
  // An absent element is null in one dialect, and omitted in the other.
  expect(await one.medplum.graphql('{ PatientList { birthDate name { family } } }')).toEqual({
    data: { PatientList: [{ birthDate: null, name: [{ family: 'Kulas' }] }] },
  });
  expect(await other.medplum.graphql(query)).toEqual({ data: { PatientList: [{ name: [{ family: 'Brook' }] }] } });

  const ned = { resourceType: 'Practitioner', firstName: 'Ned', lastName: 'Hill', email: 'ned@example.org' } as const;
  const membership = await one.medplum.invite(one.project, { ...ned, sendEmail: true });
  expect(membership).toMatchObject({ resourceType: 'ProjectMembership', profile: { display: 'Ned Hill' } });
  expect(sent.map(({ to }) => to)).toEqual(['ned@example.org']);
  await expect(other.medplum.invite(one.project, ned)).rejects.toThrow();

  const foreign = openService(stores[0], () => undefined, 'standard');
  expect((await foreign(new Request('https://clinic.example/fhir/R4/Patient'))).status).toBe(401);
  await Promise.all(stores.map((store) => store.close()));
});
