// Runs one of the servers over loopback and holds its answers against what the engine says: `node exercise.mjs mercurius`.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { openClinic } from './clinic.mjs';

const TYPES = ['Patient', 'Practitioner'];
const SERVERS = {
  async 'apollo-server'(options) {
    const { startApolloServer } = await import('./apollo-server.mjs');
    return startApolloServer(options);
  },
  async mercurius(options) {
    const { startMercurius } = await import('./mercurius.mjs');
    const { app, url } = await startMercurius(options);
    return { url, stop: () => app.close() };
  },
};

const name = process.argv[2];
const { store, token, callerOf } = await openClinic();
/** Calls that a check has put in the place of the store's own. */
const replaced = new Map();
const replaceable = new Proxy(store, {
  get(target, key) {
    const own = replaced.get(key) ?? target[key];
    return typeof own === 'function' ? own.bind(target) : own;
  },
});
const { url, stop } = await SERVERS[name]({ store: replaceable, callerOf, types: TYPES, port: 0 });
try {
  await answersUnderThePolicy();
  await tellsErrorsWithTheirCodes();
  await turnsStrangersAway();
  await writesByPostOnly();
  await runsTheOperationThatIsNamed();
  await tellsTheSchema();
  await takesWhatOnlyTheEngineTakes();
  await stopsWhenTheClientGoes();
  await tellsNothingOfBodiesItCannotRead();
  if (name === 'apollo-server') await keepsWhatIsApollos();
} finally {
  await stop();
}
console.log('answers');

async function answersUnderThePolicy() {
  const query = 'query find($born: [String]) { PatientList(birthdate: $born) { name { family } } }';
  const answer = { data: { PatientList: [{ name: [{ family: 'Brook' }] }] } };
  const { status, body } = await post({ query, variables: { born: '1970' }, operationName: 'find' });
  assert.deepEqual([status, body], [200, answer], 'the other patient is hidden by the policy');
  const got = await get({ query, variables: '{"born":"1970"}' });
  assert.deepEqual([got.status, got.body], [200, answer]);
}

async function tellsErrorsWithTheirCodes() {
  const unknown = await post({ query: '{ nothing }' });
  assert.equal(unknown.status, 400);
  assert.deepEqual(unknown.body.errors.map(withoutOutcome), [
    { message: 'Cannot query field "nothing" on type "Query".', locations: [{ line: 1, column: 3 }], code: 'invalid' },
  ]);
  const costly = await post({ query: '{ PatientList(_count: 1000000) { id } }' });
  assert.deepEqual(
    [costly.status, costly.body.data, costly.body.errors[0].extensions.code],
    [422, undefined, 'too-costly'],
  );

  // Of a field: the other one is answered, and the path has its number as a number.
  const query = '{ PatientList { name(fhirpath: "family.matches(\'(\')") { family } } Patient(id: "x") { id } }';
  const { status, body } = await post({ query });
  assert.equal(status, 200);
  assert.deepEqual(body.data, { PatientList: [{ name: null }], Patient: null });
  const errors = body.errors.map(({ path, extensions }) => [path, extensions.code, extensions.resource.resourceType]);
  assert.deepEqual(errors, [
    [['PatientList', 0, 'name'], 'invalid', 'OperationOutcome'],
    [['Patient'], 'not-found', 'OperationOutcome'],
  ]);
}

async function turnsStrangersAway() {
  const query = '{ PatientList { id } }';
  for (const authorization of ['', 'Bearer x']) {
    const { status, headers, body } = await post({ query }, { authorization });
    assert.deepEqual([status, headers.get('www-authenticate'), body.data], [401, 'Bearer', undefined]);
    assert.deepEqual(body.errors.map(withoutOutcome), [
      { message: 'A bearer token is needed', locations: undefined, code: 'unauthenticated' },
    ]);
  }
  const { status, body } = await post({ query }, { authorization: 'Bearer fault' });
  assert.equal(status, 500);
  assert.deepEqual(body.errors.map(withoutOutcome), [
    { message: 'Internal error', locations: undefined, code: 'internal' },
  ]);
}

async function writesByPostOnly() {
  const query =
    'mutation { PatientCreate(res: { gender: "female", name: [{ family: "Stone" }] }) { name { family } } }';
  const refused = await get({ query });
  assert.deepEqual([refused.status, refused.body.data ?? null], [405, null]);
  assert.deepEqual(await families(), ['Brook']);
  const { status, body } = await post({ query });
  assert.deepEqual([status, body], [200, { data: { PatientCreate: { name: [{ family: 'Stone' }] } } }]);
  assert.deepEqual(await families(), ['Brook', 'Stone']);
  const forbidden = await post({ query: 'mutation { PatientCreate(res: { gender: "male" }) { id } }' });
  assert.equal(forbidden.body.errors[0].extensions.code, 'forbidden');
}

async function runsTheOperationThatIsNamed() {
  const create = 'mutation create { PatientCreate(res: { gender: "female", name: [{ family: "Wood" }] }) { id } }';
  const { body } = await post({ query: create, operationName: 'other' });
  assert.deepEqual([body.data ?? null, body.errors.length], [null, 1], 'another operation than the one named');
  const two = `${create} query list { PatientList { gender } }`;
  const list = await post({ query: two, operationName: 'list' });
  assert.deepEqual(list.body, { data: { PatientList: [{ gender: 'female' }, { gender: 'female' }] } });
  assert.equal((await post({ query: two })).body.errors.length, 1);
  assert.deepEqual(await families(), ['Brook', 'Stone']);
}

async function tellsTheSchema() {
  const query = '{ Patient: __type(name: "Patient") { name } Observation: __type(name: "Observation") { name } }';
  assert.deepEqual((await post({ query })).body, { data: { Patient: { name: 'Patient' }, Observation: null } });
}

/** Reshaped answers come through; what the plain schema does not have, where validation is the engine's alone. */
async function takesWhatOnlyTheEngineTakes() {
  const flat = await post({ query: '{ PatientList(_sort: "family") @flatten { name @first @flatten { family } } }' });
  assert.deepEqual(flat.body, { data: { family: ['Brook', 'Stone'] } });
  const bare = await post({ query: '{ PatientList(_count: 1, gender: female, _sort: family) { name { family } } }' });
  const answer = { data: { PatientList: [{ name: [{ family: 'Brook' }] }] } };
  const single = 'query find($family: String) { PatientList(family: $family) { name { family } } }';
  const variable = await post({ query: single, variables: { family: 'brook' } });
  for (const { status, body } of [bare, variable]) {
    if (name === 'apollo-server') assert.deepEqual(body, answer);
    else assert.deepEqual([status, body.errors[0].extensions.code], [400, 'invalid']);
  }
}

async function stopsWhenTheClientGoes() {
  const client = new AbortController();
  const stopped = new Promise((resolve) => {
    const search = (_query, { signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          reject(signal.reason);
          resolve();
        });
        client.abort();
      });
    replaced.set('search', search);
  });
  await assert.rejects(post({ query: '{ PatientList { id } }' }, { signal: client.signal }), { name: 'AbortError' });
  await stopped;
  replaced.clear();
}

async function tellsNothingOfBodiesItCannotRead() {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
  const response = await fetch(url, { method: 'POST', headers, body: '{ "query": Brook' });
  assert.equal(response.status, 400);
  assert.doesNotMatch(await response.text(), /Brook|at JSON/);
}

async function keepsWhatIsApollos() {
  const query = '{ PatientList(family: "brook") { gender } }';
  const answer = { data: { PatientList: [{ gender: 'female' }] } };
  const sha256Hash = createHash('sha256').update(query).digest('hex');
  const extensions = { persistedQuery: { version: 1, sha256Hash } };
  assert.equal((await post({ extensions })).body.errors[0].extensions.code, 'PERSISTED_QUERY_NOT_FOUND');
  assert.deepEqual((await post({ query, extensions })).body, answer);
  const known = await post({ extensions });
  assert.deepEqual([known.body, known.headers.get('cache-control')], [answer, 'no-store']);

  assert.equal((await post({ query: '{ nothing' })).body.errors[0].extensions.code, 'GRAPHQL_PARSE_FAILED');
  const foreign = await fetch(`${url}?${new URLSearchParams({ query })}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(foreign.status, 400);
}

async function families() {
  const { body } = await post({ query: '{ PatientList(_sort: "family") { name { family } } }' });
  return body.data.PatientList.map(({ name: [{ family }] }) => family);
}

function withoutOutcome({ message, locations, extensions: { code, resource, ...others } }) {
  assert.deepEqual([resource.resourceType, others], ['OperationOutcome', {}]);
  return { message, locations, code };
}

async function post(body, { authorization = `Bearer ${token}`, signal } = {}) {
  const headers = { 'content-type': 'application/json', authorization };
  return read(await fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal }));
}

async function get(parameters) {
  // Apollo Server takes no GET that a page of another site could send.
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
  return read(await fetch(`${url}?${new URLSearchParams(parameters)}`, { headers }));
}

async function read(response) {
  return { status: response.status, headers: response.headers, body: await response.json() };
}
