// Public FHIR clients, unchanged, against a handler on a SQLite file over loopback: `node fhir-clients.mjs fhir-kit-client`.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { TextDecoder } from 'node:util';
import { createProject, initialize, invite, signIn } from 'fhirgraph';
import { createFhirHandler, toNodeListener } from 'fhirgraph/http';
import { SqliteStore } from 'fhirgraph/sqlite';

const store = new SqliteStore(':memory:');
const { caller } = await initialize(store, { name: 'Operations' });
const project = (await createProject({ resourceType: 'Project', name: 'Clinic' }, { store, caller })).id;
const person = {
  resourceType: 'Practitioner',
  firstName: 'Ada',
  lastName: 'Stone',
  email: 'ada@example.org',
  admin: true,
};
const { membership } = await invite(project, person, { store, caller });
const server = createServer().listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const baseUrl = `http://127.0.0.1:${server.address().port}/fhir/R4`;
/** MedplumClient reads the profile only for a JWT with a login. */
const JWT = ['{}', '{"login_id":"1"}', 'x'].map((part) => Buffer.from(part).toString('base64url')).join('.');
const TOKENS = new Set(['Bearer ada', `Bearer ${JWT}`]);
const endpoints = {
  authorization_endpoint: 'https://id.example/authorize',
  token_endpoint: 'https://id.example/token',
};
server.on(
  'request',
  toNodeListener(
    createFhirHandler({
      store,
      baseUrl,
      audit: false,
      smartConfiguration: { ...endpoints, capabilities: ['launch-standalone', 'permission-patient'] },
      signIn: ({ headers }) =>
        TOKENS.has(headers.get('authorization')) ? signIn(store, { membership: membership.id }) : undefined,
    }),
  ),
);

const CLIENTS = {
  async 'fhir-kit-client'() {
    const { Client } = await import('fhir-kit-client');
    const client = new Client({ baseUrl, bearerToken: 'ada' });
    assert.equal((await client.capabilityStatement()).fhirVersion, '4.0.1');
    assert.deepEqual(await client.smartAuthMetadata().then(({ tokenUrl }) => tokenUrl.href), endpoints.token_endpoint);
    const patient = await client.create({
      resourceType: 'Patient',
      body: { resourceType: 'Patient', gender: 'female' },
    });
    const { id } = patient;
    assert.equal((await client.read({ resourceType: 'Patient', id })).gender, 'female');
    await client.update({ resourceType: 'Patient', id, body: { ...patient, active: true } });
    const patch = [{ op: 'add', path: '/birthDate', value: '1990-01-01' }];
    assert.equal((await client.patch({ resourceType: 'Patient', id, jsonPatch: patch })).birthDate, '1990-01-01');
    assert.equal((await client.vread({ resourceType: 'Patient', id, version: '1' })).active, undefined);
    assert.equal((await client.history({ resourceType: 'Patient', id })).entry.length, 3);
    assert.equal((await client.resourceHistory({ resourceType: 'Patient', id })).total, 3);
    assert.equal((await client.typeHistory({ resourceType: 'Patient' })).entry.length, 3);
    assert.equal((await client.systemHistory()).entry[0].resource.birthDate, '1990-01-01');
    const observation = {
      resourceType: 'Observation',
      status: 'final',
      code: { text: 'x' },
      subject: { reference: `Patient/${id}` },
    };
    await client.create({ resourceType: 'Observation', body: observation });
    assert.equal(
      (await client.resourceSearch({ resourceType: 'Patient', searchParams: { gender: 'female' } })).entry.length,
      1,
    );
    assert.equal((await client.systemSearch({ searchParams: { _type: 'Patient,Observation' } })).entry.length, 2);
    const compartment = { resourceType: 'Patient', id };
    assert.equal(
      (await client.compartmentSearch({ resourceType: 'Observation', compartment, searchParams: {} })).entry.length,
      1,
    );
    const everything = { name: '$everything', resourceType: 'Patient', id };
    assert.equal((await client.operation({ ...everything, method: 'GET' })).entry.length, 2);
    assert.equal((await client.operation({ ...everything, method: 'POST' })).entry.length, 2);
    const body = {
      resourceType: 'Bundle',
      type: 'batch',
      entry: [{ request: { method: 'GET', url: `Patient/${id}` } }],
    };
    assert.equal((await client.batch({ body })).entry[0].response.status, '200 OK');
    await client.delete({
      resourceType: 'Patient',
      id: (await client.create({ resourceType: 'Patient', body: { resourceType: 'Patient' } })).id,
    });
  },
  async fhirclient() {
    const { default: FHIR } = await import('fhirclient');
    const fhir = FHIR({ headers: { host: '127.0.0.1' }, url: '/' }, {});
    const client = fhir.client({ serverUrl: baseUrl, tokenResponse: { access_token: 'ada' } });
    const { id } = await client.create({ resourceType: 'Patient', gender: 'female' });
    assert.equal((await client.request(`Patient/${id}`)).gender, 'female');
    const patch = [{ op: 'add', path: '/birthDate', value: '1990-01-01' }];
    assert.equal((await client.patch(`Patient/${id}`, patch)).birthDate, '1990-01-01');
    await client.create({
      resourceType: 'Observation',
      status: 'final',
      code: { text: 'x' },
      subject: { reference: `Patient/${id}` },
    });
    const pages = await client.request('Observation?_count=1', {
      pageLimit: 0,
      flat: true,
      resolveReferences: ['subject'],
    });
    assert.deepEqual(
      pages.map(({ subject }) => subject.id ?? subject.reference),
      [id],
    );
    assert.equal(await client.getFhirVersion(), '4.0.1');
    await client.update({ resourceType: 'Patient', id, gender: 'other' });
    await client.delete(`Observation/${pages[0].id}`);
  },
  // Medplum's React hooks, in a DOM without a browser.
  async '@medplum/react-hooks'() {
    const { JSDOM } = await import('jsdom');
    const { window } = new JSDOM('<div id="root"></div>', { url: 'http://localhost/' });
    Object.assign(window, { TextDecoder });
    Object.assign(globalThis, { window, document: window.document, IS_REACT_ACT_ENVIRONMENT: true });
    const { MedplumClient } = await import('@medplum/core');
    const { act, createElement: element } = await import('react');
    const { createRoot } = await import('react-dom/client');
    const { MedplumProvider, useMedplumProfile, useResource, useSearchResources } =
      await import('@medplum/react-hooks');
    const medplum = new MedplumClient({ baseUrl: baseUrl.replace('fhir/R4', ''), cacheTime: 0 });
    medplum.setAccessToken(JWT);
    assert.equal((await medplum.getProfileAsync()).name[0].family, 'Stone');
    const { id } = await medplum.createResource({ resourceType: 'Patient', gender: 'female' });
    const Screen = () => {
      const profile = useMedplumProfile();
      const [patients] = useSearchResources('Patient', 'gender=female');
      const patient = useResource({ reference: `Patient/${id}` });
      return element('p', null, `${profile?.name?.[0]?.family} ${patients?.length} ${patient?.gender}`);
    };
    const root = createRoot(window.document.getElementById('root'));
    await act(() => root.render(element(MedplumProvider, { medplum }, element(Screen))));
    const text = () => window.document.querySelector('p').textContent;
    for (let tries = 0; tries < 100 && text() !== 'Stone 1 female'; tries++) {
      await act(() => setTimeout(50));
    }
    assert.equal(text(), 'Stone 1 female');
    await act(() => root.unmount());
  },
};

try {
  await CLIENTS[process.argv[2]]();
  console.log('every call works');
} finally {
  server.closeAllConnections();
  server.close();
  await store.close();
}
