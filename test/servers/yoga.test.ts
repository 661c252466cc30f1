import { afterAll, beforeAll, expect, test } from 'vitest';
import { openYoga, type OpenYoga } from './open-yoga.js';

let yoga: OpenYoga;
beforeAll(async () => {
  yoga = await openYoga({ introspection: { types: ['Patient', 'Practitioner'] } });
});
afterAll(() => yoga.stop());

const GRAPHQL_RESPONSE = 'application/graphql-response+json';

async function ask(body: object, headers: { [name: string]: string } = {}): Promise<[status: number, body: unknown]> {
  const response = await fetch(yoga.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${yoga.token}`, ...headers },
    body: JSON.stringify(body),
  });
  return [response.status, await response.json()];
}

test('Yoga gives the answers of the engine: queries, variables, mutations, introspection', async () => {
  const query = 'query find($family: String) { PractitionerList(family: $family) { name { family } } }';
  const answer = { data: { PractitionerList: [{ name: [{ family: 'Stone' }] }] } };
  expect(await ask({ query, variables: { family: 'sto' }, operationName: 'find' })).toEqual([200, answer]);
  const search = new URLSearchParams({ query, variables: '{"family":"stone"}' });
  const got = await fetch(`${yoga.url}?${search}`, { headers: { authorization: `Bearer ${yoga.token}` } });
  expect([got.status, await got.json()]).toEqual([200, answer]);

  const mutation = 'mutation { PatientCreate(res: { name: [{ family: "Brook" }] }) { name { family } } }';
  expect(await ask({ query: mutation })).toMatchObject([
    200,
    { data: { PatientCreate: { name: [{ family: 'Brook' }] } } },
  ]);
  expect(await ask({ query: '{ PatientList(name: "brook") { name { family } } }' })).toEqual([
    200,
    { data: { PatientList: [{ name: [{ family: 'Brook' }] }] } },
  ]);

  const [, schema] = await ask({
    query: '{ __type(name: "Patient") { fields { name } } Observation: __type(name: "Observation") { name } }',
  });
  const { data } = schema as { data: { __type: { fields: { name: string }[] }; Observation: unknown } };
  expect(data.__type.fields.map(({ name }) => name)).toContain('birthDate');
  expect(data.Observation, 'a type that GraphiQL is not told of').toBeNull();
});

test('errors keep their codes and locations, and have the status of their media type', async () => {
  const wrong = { query: '{ nothing }' };
  const error = {
    message: 'Cannot query field "nothing" on type "Query".',
    locations: [{ line: 1, column: 3 }],
    extensions: { code: 'invalid' },
  };
  expect(await ask(wrong, { accept: 'application/json' })).toMatchObject([200, { errors: [error] }]);
  expect(await ask(wrong, { accept: GRAPHQL_RESPONSE })).toMatchObject([400, { errors: [error] }]);
  expect(JSON.stringify(await ask(wrong)), 'what is for Yoga alone').not.toContain('spec');
  expect(await ask({ query: '{ nothing ' }, { accept: GRAPHQL_RESPONSE })).toMatchObject([
    400,
    { errors: [{ extensions: { code: 'GRAPHQL_PARSE_FAILED' } }] },
  ]);
  expect(await ask({ query: '{ Patient(id: "x") { id } }' }, { accept: GRAPHQL_RESPONSE })).toMatchObject([
    200,
    { data: { Patient: null }, errors: [{ path: ['Patient'], extensions: { code: 'not-found' } }] },
  ]);
});

test('refuses requests without a token; and a GET writes nothing', async () => {
  const query = '{ PractitionerList { id } }';
  const refused = (message: string): object => ({ errors: [{ message, extensions: { code: 'unauthenticated' } }] });
  expect(await ask({ query }, { authorization: '' })).toMatchObject([401, refused('A bearer token is needed')]);
  expect(await ask({ query }, { authorization: 'Bearer x' })).toMatchObject([401, refused('The token is not valid')]);
  const search = new URLSearchParams({ query: 'mutation { PatientCreate(res: {}) { id } }' });
  const got = await fetch(`${yoga.url}?${search}`, { headers: { authorization: `Bearer ${yoga.token}` } });
  expect(got.status).toBe(405);
});
