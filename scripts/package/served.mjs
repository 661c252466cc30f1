/* global Bun, Deno, Headers */
// What a stranger makes of the README: a guarded service with invitations, served by the runtime's own server and asked by
// MedplumClient over a socket. A second service beside it has a store and a dialect of its own.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { MedplumClient } from '@medplum/core';
import { createProject, initialize, invite, MemoryStore, signIn } from 'fhirgraph';
import { createFhirHandler, toNodeListener } from 'fhirgraph/http';

const sent = [];

/** The stranger's own code. */
function openService(store, verifyToken, dialect) {
  return createFhirHandler({
    store,
    dialect,
    baseUrl: 'https://clinic.example/fhir/R4',
    audit: false,
    mailer: { send: async (invitation) => sent.push(invitation) },
    async signIn(request) {
      const identity = verifyToken(request.headers.get('authorization'));
      return identity && signIn(store, identity);
    },
  });
}

/** A server of this runtime on a free port of loopback. */
async function serve(handler) {
  if (typeof Bun !== 'undefined') {
    const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => handler(request) });
    return { name: 'Bun.serve', port: server.port, stop: () => server.stop(true) };
  }
  if (typeof Deno !== 'undefined') {
    const options = { port: 0, hostname: '127.0.0.1', onListen: () => undefined };
    const server = Deno.serve(options, (request) => handler(request));
    return { name: 'Deno.serve', port: server.addr.port, stop: () => server.shutdown() };
  }
  const server = createServer(toNodeListener(handler)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { name: 'node:http', port: server.address().port, stop: () => server.close() && server.closeAllConnections() };
}

/** A running service with an administrator, whose token is the name. */
async function start(store, name, dialect) {
  const { caller } = await initialize(store);
  const project = (await createProject({ resourceType: 'Project', name }, { store, caller })).id;
  const person = { resourceType: 'Practitioner', firstName: name, lastName: 'Stone', email: `${name}@example.org` };
  const { user } = await invite(project, { ...person, admin: true }, { store, caller });
  const verify = (token) => (token === `Bearer ${name}` ? { project, user: user.id } : undefined);
  const server = await serve(openService(store, verify, dialect));
  const baseUrl = `http://127.0.0.1:${server.port}/`;
  const withToken = (url, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${name}`);
    return fetch(url, { ...init, headers });
  };
  return { project, server, baseUrl, medplum: new MedplumClient({ baseUrl, fetch: withToken }) };
}

/** SQLite where the runtime has a module for it. */
async function secondStore() {
  try {
    const [{ DatabaseSync }, { SqliteStore }] = await Promise.all([import('node:sqlite'), import('fhirgraph/sqlite')]);
    return new SqliteStore(new DatabaseSync(':memory:'));
  } catch (error) {
    if (error.code !== 'ERR_UNKNOWN_BUILTIN_MODULE' && error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    return new MemoryStore();
  }
}

async function main() {
  const stores = [new MemoryStore(), await secondStore()];
  const [one, other] = await Promise.all([start(stores[0], 'ada', 'standard'), start(stores[1], 'bea', 'hl7')]);
  const patient = await one.medplum.createResource({ resourceType: 'Patient', name: [{ family: 'Kulas' }] });
  await other.medplum.createResource({ resourceType: 'Patient', name: [{ family: 'Brook' }] });
  const query = '{ PatientList { birthDate name(fhirpath: "family.exists()") { family } } }';
  // An absent element is null in the one dialect, and left out in the other.
  const answers = [await one.medplum.graphql(query), await other.medplum.graphql(query)];
  assert.deepEqual(answers, [
    { data: { PatientList: [{ birthDate: null, name: [{ family: 'Kulas' }] }] } },
    { data: { PatientList: [{ name: [{ family: 'Brook' }] }] } },
  ]);
  const ned = { resourceType: 'Practitioner', firstName: 'Ned', lastName: 'Hill', email: 'ned@example.org' };
  const membership = await one.medplum.invite(one.project, { ...ned, sendEmail: true });
  assert.equal(membership.profile.display, 'Ned Hill');
  assert.deepEqual(
    sent.map(({ to }) => to),
    ['ned@example.org'],
  );
  await assert.rejects(other.medplum.invite(one.project, ned));
  assert.equal((await one.medplum.readHistory('Patient', patient.id)).entry.length, 1);
  assert.equal((await fetch(`${one.baseUrl}fhir/R4/Patient`)).status, 401);
  await Promise.all([one.server.stop(), other.server.stop()]);
  await Promise.all(stores.map((store) => store.close()));
  return `two services answer MedplumClient through ${one.server.name}, one of them over ${stores[1].constructor.name}`;
}

main().then(console.log, (error) => {
  console.error(error);
  process.exitCode = 1;
});
