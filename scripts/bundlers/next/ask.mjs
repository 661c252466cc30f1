// Starts the built application on a free port of loopback, and asks the routes of the service.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';

const args = [process.argv[2], 'start', '--hostname', '127.0.0.1', '--port', '0'];
const server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
try {
  const address = await addressOf(server);
  const ask = async (method, path, body, type = 'application/fhir+json') => {
    const headers = { authorization: 'Bearer ann', ...(body && { 'content-type': type }) };
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const response = await fetch(`${address}${path}`, init);
    const text = await response.text();
    return [response.status, text === '' ? undefined : JSON.parse(text), response.headers];
  };
  const patient = { resourceType: 'Patient', gender: 'female' };
  const [created, , headers] = await ask('POST', '/fhir/R4/Patient', patient);
  assert.equal(created, 201);
  assert.match(headers.get('location'), /^https:\/\/clinic\.example\/fhir\/R4\/Patient\//);
  const batch = {
    resourceType: 'Bundle',
    type: 'batch',
    entry: [{ request: { method: 'GET', url: 'Patient?_total=accurate' } }],
  };
  assert.equal((await ask('POST', '/fhir/R4', batch))[1].entry[0].resource.total, 1);
  const query = { query: '{ PatientList { gender } }' };
  assert.deepEqual((await ask('POST', '/fhir/R4/$graphql', query, 'application/json'))[1], {
    data: { PatientList: [{ gender: 'female' }] },
  });
  assert.equal((await ask('GET', '/admin/projects/clinic/members'))[0], 404);
  assert.equal((await ask('HEAD', '/fhir/R4/Patient'))[0], 200);
  assert.equal((await fetch(`${address}/fhir/R4/Patient`)).status, 401);
  console.log('routes answer REST, Bundles and GraphQL');
} finally {
  server.kill();
}

/** What the server says when it is ready. Its output stays open: a program may end when it cannot write any more. */
function addressOf({ stdout }) {
  let output = '';
  return new Promise((resolve, reject) => {
    stdout.on('data', (text) => {
      output += text;
      const found = /(http:\/\/127\.0\.0\.1:\d+)\s[^]*Ready/.exec(output);
      if (found !== null) resolve(found[1]);
    });
    stdout.on('end', () => reject(new Error(`The server ended: ${output}`)));
  });
}
