// The handler in a web framework over loopback: `node hosts.mjs express`. test/hosts has more, over node:http and Hono.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { createFhirHandler, toNodeListener } from 'fhirgraph/http';
import { openClinic } from './clinic.mjs';

const HOSTS = {
  async express(handler) {
    const { default: express } = await import('express');
    const app = express();
    // A router removes its path from the URL, and the handler still finds the route.
    app.use('/fhir', toNodeListener(handler));
    app.use(express.json());
    app.post('/own', ({ body }, response) => void response.json(body));
    const server = createServer(app).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    return { origin: `http://127.0.0.1:${server.address().port}`, stop: () => server.close() };
  },
  async fastify(handler) {
    const { default: fastify } = await import('fastify');
    // A file of examples/hosts, which the check copies beside this one.
    const { fhirHook } = await import(new URL('fastify.ts', import.meta.url).href);
    const app = fastify({ forceCloseConnections: true });
    const hook = fhirHook(handler);
    app.addHook('onRequest', async (request, reply) => {
      if (request.url.startsWith('/fhir/')) await hook(request, reply);
    });
    app.post('/own', async ({ body }) => body);
    return { origin: await app.listen({ port: 0, host: '127.0.0.1' }), stop: () => app.close() };
  },
};

const { store, token, callerOf } = await openClinic();
let answer;
const { origin, stop } = await HOSTS[process.argv[2]]((request) => answer(request));
const baseUrl = `${origin}/fhir/R4`;
const signIn = ({ headers }) => (headers.has('authorization') ? callerOf(headers.get('authorization')) : undefined);
answer = createFhirHandler({ store, baseUrl, signIn, audit: false });

async function call(method, path, body, headers = { authorization: `Bearer ${token}` }) {
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const response = await fetch(`${origin}${path}`, { method, headers: { ...type, ...headers }, body });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

try {
  const query = JSON.stringify({ query: '{ PatientList { name { family } } }' });
  const found = await call('POST', '/fhir/R4/$graphql', query);
  assert.deepEqual([found.status, found.body], [200, { data: { PatientList: [{ name: [{ family: 'Brook' }] }] } }]);
  assert.equal((await call('POST', '/fhir/R4/$graphql', query, {})).status, 401);
  assert.equal((await call('GET', '/fhir/R4/Patient?gender=female')).body.entry.length, 1);
  assert.equal((await call('GET', '/fhir/R4/nothing/here')).body.resourceType, 'OperationOutcome');

  // Larger than the frameworks' own parsers accept, and digit by digit.
  const image = 'AAAA'.repeat(500_000);
  const decimal = '{"url":"urn:x","valueDecimal":1.00}';
  const patient = `{"resourceType":"Patient","gender":"female","photo":[{"contentType":"image/png","data":"${image}"}],"extension":[${decimal}]}`;
  const created = await call('POST', '/fhir/R4/Patient', patient);
  assert.equal(created.status, 201);
  const stored = await fetch(`${baseUrl}/Patient/${created.body.id}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.ok((await stored.text()).includes('1.00'));

  // The routes of the host keep their own parser.
  assert.deepEqual((await call('POST', '/own', '{"a":1}')).body, { a: 1 });
} finally {
  await stop();
}
console.log('answers');
