import { beforeAll, describe, expect, test } from 'vitest';
import { type CallOptions, openService, type Service } from './open-service.js';

// The audits of the draft of 2026-08-06, in the order of its section about status codes.

let service: Service;
beforeAll(async () => {
  service = await openService({ graphqlOverHttp: '2026-08-06' });
});

const GRAPHQL = 'application/graphql-response+json';
const QUERY = '{ PatientList { id } }';
const PARTIAL = '{ PatientList { id } Patient(id: "none") { id } }';

const ask = async (
  body: unknown,
  accept: string | undefined = GRAPHQL,
  more: Partial<CallOptions> = {},
  method = 'POST',
): Promise<readonly [status: number, type: string | undefined]> => {
  const headers = { 'content-type': 'application/json', ...(accept === '' ? {} : { accept }), ...more.headers };
  const answer = await service.call(method, '$graphql', { ...more, body, headers });
  return [answer.status, answer.headers.get('content-type')?.split(';')[0]];
};

describe('the draft of 2026-08-06', () => {
  test.each([
    ['a result', { query: QUERY }, 200],
    ['a partial result', { query: PARTIAL }, 294],
    ['a document that cannot be parsed', { query: '{' }, 400],
    ['a document that is not valid', { query: '{ nothing }' }, 422],
    ['no operation of that name', { query: QUERY, operationName: 'x' }, 422],
    ['several operations', { query: 'query a { PatientList { id } } query b { PatientList { id } }' }, 422],
    [
      'a variable of another type',
      { query: 'query q($n: Int!) { PatientList(_count: $n) { id } }', variables: { n: 'x' } },
      422,
    ],
    ['a variable that is missing', { query: 'query q($n: Int!) { PatientList(_count: $n) { id } }' }, 422],
  ])('%s', async (_, body, status) => {
    expect(await ask(body)).toEqual([status, GRAPHQL]);
    // Clients that know JSON only get the same status, and its type with success.
    expect(await ask(body, 'application/json')).toEqual([status, status < 300 ? 'application/json' : GRAPHQL]);
  });

  test.each<[string, unknown, number]>([
    ['no JSON', 'NONSENSE', 400],
    ['JSON that ends too early', '{"query":', 400],
    ['a misspelled member', { qeury: QUERY }, 422],
    ['variables of another shape', { query: QUERY, variables: [7] }, 422],
    ['a batch', [{ query: QUERY }], 422],
  ])('%s', async (_, body, status) => {
    expect((await ask(body))[0]).toBe(status);
  });

  test.each([
    ['', GRAPHQL],
    ['*/*', GRAPHQL],
    ['application/*', GRAPHQL],
    ['application/json;q=0.5, */*;q=0.1', 'application/json'],
    [`application/json, ${GRAPHQL}`, GRAPHQL],
    [`application/json, ${GRAPHQL};q=0.9`, 'application/json'],
  ])('Accept "%s" selects %s', async (accept, type) => {
    expect(await ask({ query: QUERY }, accept)).toEqual([200, type]);
  });

  test('Accept without a known type is 406, and nothing is executed', async () => {
    const before = service.audit.length;
    expect((await ask({ query: QUERY }, 'text/html'))[0]).toBe(406);
    expect((await ask({ query: QUERY }, `${GRAPHQL};q=0`))[0]).toBe(406);
    expect(service.audit.length).toBe(before);
  });

  test('methods, media types, rights and sizes', async () => {
    const mutation = 'mutation { PatientDelete(id: "1") { id } }';
    const got = await service.call('GET', `$graphql?${new URLSearchParams({ query: mutation })}`);
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await ask({ query: QUERY }, GRAPHQL, {}, 'PUT'))[0]).toBe(405);
    expect((await ask('x', GRAPHQL, { headers: { 'content-type': 'text/plain' } }))[0]).toBe(415);
    expect((await ask({ query: QUERY }, GRAPHQL, { as: null }))[0]).toBe(401);
    expect((await ask({ query: `{ ${'a'.repeat(17_000_000)} }` }))[0]).toBe(413);
  });

  test('without the option, statuses are those of the audits of graphql-http', async () => {
    const { call } = await openService();
    const status = async (query: string, accept: string): Promise<number> =>
      (await call('POST', '$graphql', { body: { query }, headers: { accept } })).status;
    expect(await status('{ nothing }', GRAPHQL)).toBe(400);
    expect(await status(PARTIAL, GRAPHQL)).toBe(200);
    expect(await status('{ nothing }', 'application/json')).toBe(200);
  });
});
