/* global Request */
// The whole service over HTTP on whatever runtime runs this, mounted as frameworks of the web's Request mount it: a guarded
// service inside a test, and one of a host's own with an invitation.
import assert from 'node:assert/strict';
import { createProject, invite, MemoryStore, serverCaller, signIn, systemCaller } from 'fhirgraph';
import { createFhirHandler, toFetch } from 'fhirgraph/http';
import { createTestService } from 'fhirgraph/test-service';

const tested = await createTestService({ data: [{ resourceType: 'Patient', id: 'ann', gender: 'female' }] });
const read = await tested.fetch(`${tested.baseUrl}/Patient/ann`);
assert.equal((await read.json()).gender, 'female');
assert.equal(tested.audit.length > 0, true);
await tested.close();

const store = new MemoryStore();
const baseUrl = 'https://clinic.example/fhir/R4';
const { id } = await createProject({ resourceType: 'Project', name: 'Clinic' }, { store, caller: serverCaller() });
const body = { resourceType: 'Practitioner', firstName: 'Ann', lastName: 'Lee', email: 'ann@example.org', admin: true };
const { membership } = await invite(id, body, { store, caller: systemCaller(id) });
const handler = createFhirHandler({
  store,
  baseUrl,
  audit: false,
  signIn: (request) =>
    request.headers.get('authorization') === 'Bearer ann' ? signIn(store, { membership: membership.id }) : undefined,
});

// The form of a route handler of Next.js: exported functions of a Request and its parameters.
const route = { GET: handler, POST: handler, PUT: handler, PATCH: handler, DELETE: handler };
const headers = { authorization: 'Bearer ann', 'content-type': 'application/fhir+json' };
const post = new Request(`${baseUrl}/Patient`, {
  method: 'POST',
  headers,
  body: JSON.stringify({ resourceType: 'Patient', name: [{ family: 'Müller' }] }),
});
const created = await route.POST(post, { params: Promise.resolve({ path: ['Patient'] }) });
assert.equal(created.status, 201);

// The form of Bun, Deno and Hono: a function of the Request.
const serve = (request) => handler(request);
const png = new Uint8Array([137, 80, 78, 71, 0, 255]);
const upload = new Request(`${baseUrl}/Binary`, {
  method: 'POST',
  headers: { ...headers, 'content-type': 'image/png' },
  body: png,
});
const location = (await serve(upload)).headers.get('location');
const image = await serve(new Request(location, { headers: { authorization: 'Bearer ann' } }));
assert.deepEqual(new Uint8Array(await image.arrayBuffer()), png);
assert.equal(image.headers.get('content-type'), 'image/png');

const query = '{ PatientList(name: "muller") { name(fhirpath: "family.exists()") { family } } }';
const send = toFetch(handler);
const answer = await send(`${baseUrl}/$graphql?query=${encodeURIComponent(query)}`, { headers });
assert.deepEqual((await answer.json()).data, { PatientList: [{ name: [{ family: 'Müller' }] }] });
const history = await (await send(`${baseUrl}/Patient/_history`, { headers })).json();
assert.equal(history.entry.length, 1);
assert.equal((await send(`${baseUrl}/Patient`)).status, 401);
console.log('a service answers');
