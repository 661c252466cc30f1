import { describe, expect, test } from 'vitest';
import { readGraphqlRequest } from '../../src/http.js';
import { FhirError, type HttpRequest } from '../../src/index.js';

const QUERY = '{ PatientList { id } }';
const JSON_TYPE = { 'content-type': 'application/json' };
const post = (body: unknown, headers: HttpRequest['headers'] = JSON_TYPE, url = '/$graphql'): HttpRequest => ({
  method: 'POST',
  url,
  headers,
  body,
});
const get = (parameters: { readonly [name: string]: string }): HttpRequest => ({
  method: 'GET',
  url: `/fhir/R4/$graphql?${new URLSearchParams(parameters).toString()}`,
  headers: {},
});

/** The refusal of a request: status, message, headers. */
function refusal(request: HttpRequest): unknown {
  try {
    readGraphqlRequest(request);
  } catch (error) {
    if (!(error instanceof FhirError)) throw error;
    return [error.status, error.message, 'headers' in error ? error.headers : undefined];
  }
  return 'accepted';
}

describe('a request by POST', () => {
  const asked = { query: QUERY, variables: { a: 1 }, operationName: 'Q' };
  const read = { ...asked, focus: undefined, readonly: false };

  test.each<[string, unknown]>([
    ['as text', JSON.stringify(asked)],
    ['as bytes', Buffer.from(JSON.stringify(asked))],
    ['as a body parser left it', asked],
    ['with members that are not part of GraphQL', { ...asked, batch: 7, onCompleted: null }],
    ['with extensions', { ...asked, extensions: { trace: true } }],
  ])('of JSON %s', (_, body) => {
    expect(readGraphqlRequest(post(body))).toEqual(read);
  });

  test.each([
    'application/json',
    'application/JSON; charset=UTF-8',
    'application/json;charset="utf8"',
    'application/fhir+json',
    'application/graphql-response+json; charset=utf-8',
  ])('can have the media type %s for its JSON', (type) => {
    expect(readGraphqlRequest(post(asked, { 'Content-Type': type }))).toEqual(read);
    expect(readGraphqlRequest(post(asked, new Headers({ 'content-type': type })))).toEqual(read);
  });

  test('is the default method', () => {
    expect(readGraphqlRequest({ headers: JSON_TYPE, body: asked })).toEqual(read);
  });

  test('omits variables and operation if they are null or missing', () => {
    const bare = { query: QUERY, variables: undefined, operationName: undefined, focus: undefined, readonly: false };
    expect(readGraphqlRequest(post({ query: QUERY }))).toEqual(bare);
    expect(readGraphqlRequest(post({ query: QUERY, variables: null, operationName: null, extensions: null }))).toEqual(
      bare,
    );
  });

  test.each<[string, unknown]>([
    ['text', QUERY],
    ['bytes', Buffer.from(QUERY)],
  ])('of application/graphql is the query as %s, with variables in the URL', (_, body) => {
    const url = `/$graphql?operationName=Q&variables=${encodeURIComponent('{"a":1}')}&query=ignored`;
    expect(readGraphqlRequest(post(body, { 'content-type': 'application/graphql' }, url))).toEqual(read);
  });

  test.each([
    ['/Patient/1/$graphql', 'Patient/1'],
    ['/fhir/R4/Patient/a.B-1/%24graphql?x=1', 'Patient/a.B-1'],
    ['https://example.org/fhir/Observation/2/$graphql/', 'Observation/2'],
    ['/$graphql', undefined],
    ['/fhir/R4/$graphql', undefined],
    ['/Patient/$graphql', undefined],
    ['/Patient/1/2/$graphql', undefined],
    ['/Patient/1/$graphql/more', undefined],
    ['/patient/1/$graphql', undefined],
    [`/Patient/${'1'.repeat(65)}/$graphql`, undefined],
  ])('to %s is about %s', (url, focus) => {
    expect(readGraphqlRequest(post(asked, JSON_TYPE, url)).focus).toBe(focus);
  });

  test('can name a persisted document instead of a text', () => {
    const { query } = readGraphqlRequest(post({ documentId: 'sha256:abc' }));
    expect(query).toMatchObject({ documentId: 'sha256:abc' });
  });
});

describe('a request by GET', () => {
  test('has its parameters in the URL, and cannot write', () => {
    const request = get({ query: QUERY, variables: '{"a":[1]}', operationName: 'Q', extensions: '{}' });
    expect(readGraphqlRequest(request)).toEqual({
      query: QUERY,
      variables: { a: [1] },
      operationName: 'Q',
      focus: undefined,
      readonly: true,
    });
    expect(readGraphqlRequest({ ...request, method: 'get' }).readonly).toBe(true);
  });

  test('treats empty parameters as missing', () => {
    expect(readGraphqlRequest(get({ query: QUERY, variables: '', extensions: '' })).variables).toBeUndefined();
  });

  test('of a mutation is refused, of a query in the same document not', () => {
    const both = 'query Q { PatientList { id } } mutation M { PatientDelete(id: 1) }';
    const refused = [405, 'A mutation must be sent by POST', { allow: 'POST' }];
    expect(refusal(get({ query: 'mutation { PatientDelete(id: 1) }' }))).toEqual(refused);
    expect(refusal(get({ query: both, operationName: 'M' }))).toEqual(refused);
    expect(refusal(get({ query: both, operationName: 'Q' }))).toBe('accepted');
  });
});

describe('a request is refused', () => {
  test.each(['PUT', 'DELETE', 'patch', 'HEAD', ''])('by method %s', (method) => {
    const refused = [405, 'GraphQL takes POST and GET', { allow: 'GET, POST' }];
    expect(refusal({ ...post({ query: QUERY }), method })).toEqual(refused);
  });

  test.each([
    [{}],
    [{ 'content-type': '' }],
    [{ 'content-type': 'text/plain' }],
    [{ 'content-type': 'application/x-www-form-urlencoded' }],
    [{ 'content-type': 'application/json; charset=iso-8859-1' }],
    [{ 'content-type': 'text/plain; application/json' }],
    [{ 'x-content-type': 'application/json' }],
  ])('with headers %j', (headers) => {
    const accept = 'application/json, application/fhir+json, application/graphql-response+json, application/graphql';
    const message =
      'The body must be application/json or application/fhir+json or application/graphql-response+json or application/graphql, in UTF-8';
    expect(refusal(post({ query: QUERY }, headers))).toEqual([415, message, { accept }]);
  });

  test.each<[unknown, string]>([
    [undefined, 'The request has no body'],
    [null, 'The request has no body'],
    ['', 'The body is not JSON'],
    ['{"query": secret', 'The body is not JSON'],
    [new Uint8Array([0xff, 0xfe]), 'The body is not UTF-8'],
    ['[{"query":"{ id }"}]', 'The body must be a JSON object with a "query"; batches are not taken'],
    ['"text"', 'The body must be a JSON object with a "query"; batches are not taken'],
    [7, 'The body must be a JSON object with a "query"; batches are not taken'],
    [{}, 'The request holds no "query", nor the id of a persisted document'],
    [{ query: '' }, 'The request holds no "query", nor the id of a persisted document'],
    [{ query: QUERY, variables: [1] }, '"variables" must be an object'],
    [{ query: QUERY, variables: '{}' }, '"variables" must be an object'],
    [{ query: QUERY, operationName: 7 }, '"operationName" must be a string'],
    [{ query: QUERY, extensions: 'x' }, '"extensions" must be an object'],
  ])('with the body %j', (body, message) => {
    expect(refusal(post(body))).toEqual([400, message, undefined]);
  });

  test.each([
    ['/$graphql?query=%7B%20id%20%7D&variables=%7B', 'Parameter "variables" is not JSON'],
    ['/$graphql?query=%7B%20id%20%7D&extensions=x', 'Parameter "extensions" is not JSON'],
    ['/$graphql?query=%7B%20id%20%7D&variables=1', '"variables" must be an object'],
    ['/$graphql', 'The request holds no "query", nor the id of a persisted document'],
    ['http://[', 'The URL of the request is malformed'],
  ])('by GET of %s', (url, message) => {
    expect(refusal({ method: 'GET', url, headers: {} })).toEqual([400, message, undefined]);
  });
});

describe("the web's Request", () => {
  const URL_OF_SERVICE = 'https://clinic.example/fhir/R4/$graphql';
  const headers = { 'content-type': 'application/json' };

  test('is read with its body', async () => {
    const body = JSON.stringify({ query: '{ PatientList { id } }', variables: { a: 1 } });
    expect(await readGraphqlRequest(new Request(URL_OF_SERVICE, { method: 'POST', headers, body }))).toEqual({
      query: '{ PatientList { id } }',
      variables: { a: 1 },
      operationName: undefined,
      focus: undefined,
      readonly: false,
    });
    const search = new URLSearchParams({ query: '{ PatientList { id } }' });
    expect(await readGraphqlRequest(new Request(`${URL_OF_SERVICE}?${search}`))).toMatchObject({ readonly: true });
  });

  test('rejects with the errors of other requests, and if its body is too long', async () => {
    const codeOf = (init: RequestInit): Promise<number> =>
      readGraphqlRequest(new Request(URL_OF_SERVICE, init)).then(
        () => 200,
        (error: FhirError) => error.status,
      );
    expect(await codeOf({ method: 'PUT', headers, body: '{}' })).toBe(405);
    expect(await codeOf({ method: 'POST', body: '{}' })).toBe(415);
    expect(await codeOf({ method: 'POST', headers, body: '{' })).toBe(400);
    expect(await codeOf({ method: 'POST', headers, body: ' '.repeat(16 * 1024 * 1024 + 1) })).toBe(413);
  });
});
