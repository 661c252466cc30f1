import { describe, expect, test } from 'vitest';
import { readGraphqlRequest } from '../../src/http.js';
import {
  createAllowList,
  ERROR_CODES,
  type ErrorCode,
  executeFhirGraphql,
  FhirError,
  MemoryStore,
  systemCaller,
  toHttpResponse,
} from '../../src/index.js';
import { HttpRequestError } from '../../src/http/http-types.js';

const GRAPHQL = 'application/graphql-response+json';
const accepting = (accept: string): { request: { headers: { accept: string } } } => ({
  request: { headers: { accept } },
});
/** A GraphQL result that failed as a whole. */
const failed = (code: ErrorCode, data?: null): object => ({
  ...(data === undefined ? {} : { data }),
  errors: [{ message: 'no', extensions: { code } }],
});

describe('a GraphQL result', () => {
  const partly = { data: { Patient: null }, errors: [{ message: 'no', extensions: { code: 'not-found' } }] };

  test('is sent unchanged', () => {
    expect(toHttpResponse(partly)).toEqual({
      status: 200,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: JSON.stringify(partly),
    });
  });

  // The first column of statuses is for clients of plain JSON, which take most of them for a broken connection.
  test.each<[ErrorCode, number, number]>([
    ['unauthenticated', 401, 401],
    ['unavailable', 503, 503],
    ['aborted', 503, 503],
    ['corrupt', 500, 500],
    ['internal', 500, 500],
    ['invalid', 200, 400],
    ['forbidden', 200, 403],
    ['not-found', 200, 404],
    ['gone', 200, 410],
    ['conflict', 200, 409],
    ['too-costly', 200, 422],
  ])('that failed with %s answers %d as JSON, %d as a GraphQL response', (code, json, graphql) => {
    expect(graphql).toBe(ERROR_CODES[code].status);
    for (const result of [failed(code), failed(code, null)]) {
      expect(toHttpResponse(result).status).toBe(json);
      expect(toHttpResponse(result, accepting('application/json')).status).toBe(json);
      expect(toHttpResponse(result, accepting(GRAPHQL)).status).toBe(graphql);
    }
  });

  test('says how to sign in only if there is no caller', () => {
    for (const accept of ['application/json', GRAPHQL]) {
      expect(toHttpResponse(failed('unauthenticated'), accepting(accept)).headers['www-authenticate']).toBe('Bearer');
      expect(toHttpResponse(failed('forbidden'), accepting(accept)).headers).not.toHaveProperty('www-authenticate');
    }
  });

  test('with data is 200, even with errors', () => {
    for (const accept of ['application/json', GRAPHQL]) {
      expect(toHttpResponse({ ...failed('internal'), data: { a: 1 } }, accepting(accept)).status).toBe(200);
    }
  });

  test('with a code of persisted documents is 200 as JSON', () => {
    const unknown = {
      errors: [{ message: 'PersistedQueryNotFound', extensions: { code: 'PERSISTED_QUERY_NOT_FOUND' } }],
    };
    expect(toHttpResponse(unknown).status).toBe(200);
  });

  test.each([
    [GRAPHQL, true],
    [`${GRAPHQL}; charset=utf-8, application/json`, true],
    [`application/json, ${GRAPHQL}`, true],
    [`application/json;q=0.9, ${GRAPHQL};q=0.9`, true],
    [GRAPHQL.toUpperCase(), true],
    [`application/json, ${GRAPHQL};q=0.5`, false],
    [`${GRAPHQL};q=0`, false],
    ['application/json', false],
    ['*/*', false],
    ['', false],
    [`${'text/plain,'.repeat(50)}${GRAPHQL}`, false],
  ])('is sent in the right media type if %.80s is accepted', (accept, newer) => {
    const type = newer ? GRAPHQL : 'application/json';
    expect(toHttpResponse(partly, accepting(accept)).headers['content-type']).toBe(`${type}; charset=utf-8`);
  });

  test('of a mutation by GET is 405 for every client, and names the method to use', async () => {
    const documents = createAllowList({ write: 'mutation { PatientDelete(id: "1") }', read: '{ PatientList { id } }' });
    const answer = async (id: string, accept: string) => {
      const http = { method: 'GET', url: `/$graphql?documentId=${id}`, headers: { accept } };
      const request = readGraphqlRequest(http);
      const store = new MemoryStore();
      const result = await executeFhirGraphql(request.query, {
        ...request,
        store,
        caller: systemCaller('p'),
        documents,
      });
      return toHttpResponse(result, { request: http });
    };
    for (const accept of ['application/json', GRAPHQL]) {
      const { status, headers, body } = await answer('write', accept);
      expect([status, headers['allow']]).toEqual([405, 'POST']);
      expect(JSON.parse(body)).toMatchObject({
        errors: [
          { message: 'This request may only read; send the mutation by POST', extensions: { code: 'forbidden' } },
        ],
      });
      const read = await answer('read', accept);
      expect([read.status, read.headers['allow']]).toEqual([200, undefined]);
    }
    // Other forbidden requests have other statuses.
    expect(toHttpResponse(failed('forbidden'), accepting(GRAPHQL)).headers['allow']).toBeUndefined();
  });

  test('keeps the status and headers that the host chose', () => {
    const options = { status: 299, headers: { 'x-trace': '1', 'www-authenticate': 'Basic' } };
    expect(toHttpResponse(failed('unauthenticated'), options)).toMatchObject({
      status: 299,
      headers: { 'x-trace': '1', 'www-authenticate': 'Basic' },
    });
  });
});

describe('a resource', () => {
  test('is FHIR JSON, with the headers of its version', () => {
    const meta = { versionId: '3', lastUpdated: '2026-01-02T03:04:05.678Z' };
    const resource = { resourceType: 'Patient', id: '1', meta };
    expect(toHttpResponse(resource, { status: 201, headers: { location: '/Patient/1' } })).toEqual({
      status: 201,
      headers: {
        'content-type': 'application/fhir+json; charset=utf-8',
        etag: 'W/"3"',
        'last-modified': 'Fri, 02 Jan 2026 03:04:05 GMT',
        location: '/Patient/1',
      },
      body: JSON.stringify(resource),
    });
  });

  test.each([[undefined], [{}], [{ versionId: 3, lastUpdated: 'yesterday' }], ['text']])(
    'with the meta %j has no headers of a version',
    (meta) => {
      const { status, headers } = toHttpResponse({ resourceType: 'Patient', meta });
      expect([status, headers]).toEqual([200, { 'content-type': 'application/fhir+json; charset=utf-8' }]);
    },
  );

  test('is a resource even if it has an element called data', () => {
    expect(toHttpResponse({ resourceType: 'Binary', data: 'AA==' }).headers['content-type']).toContain('fhir+json');
  });
});

describe('other results', () => {
  test.each([undefined, null])('%s is not content', (nothing) => {
    expect(toHttpResponse(nothing)).toEqual({ status: 204, headers: {}, body: '' });
    expect(toHttpResponse(nothing, { status: 200, headers: { a: 'b' } })).toEqual({
      status: 200,
      headers: { a: 'b' },
      body: '',
    });
  });

  test.each([[{ created: 3 }], [[1]], ['text'], [{ data: 1, count: 2 }], [{ extensions: {} }]])(
    '%j is JSON',
    (value) => {
      expect(toHttpResponse(value)).toEqual({
        status: 200,
        headers: { 'content-type': 'application/json; charset=utf-8' },
        body: JSON.stringify(value),
      });
    },
  );
});

describe('an error', () => {
  test.each(Object.entries(ERROR_CODES))('with code %s has its status and its OperationOutcome', (code, { status }) => {
    const error = new FhirError(code as ErrorCode, 'for the client', { cause: new Error('secret') });
    const response = toHttpResponse(error);
    expect([response.status, JSON.parse(response.body)]).toEqual([status, error.outcome]);
    expect(response.body).not.toContain('secret');
    expect(response.headers).toEqual({
      'content-type': 'application/fhir+json; charset=utf-8',
      ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    });
  });

  test('that is not ours reveals nothing about itself', () => {
    const { status, body } = toHttpResponse(new TypeError('the password is hunter2'));
    expect([status, JSON.parse(body)]).toMatchObject([
      500,
      {
        resourceType: 'OperationOutcome',
        issue: [{ severity: 'error', code: 'exception', details: { text: 'Internal error' } }],
      },
    ]);
    expect(body).not.toContain('hunter2');
  });

  test('of HTTP has a status and headers of its own', () => {
    const error = new HttpRequestError(405, 'No', { allow: 'GET' });
    expect([error.code, error.status]).toEqual(['invalid', 405]);
    expect(toHttpResponse(error, { headers: { 'x-trace': '1' } })).toMatchObject({
      status: 405,
      headers: { allow: 'GET', 'x-trace': '1' },
    });
  });

  test('is a GraphQL response for a client that prefers this media type', () => {
    const error = new FhirError('unauthenticated', 'Who are you?');
    const { status, headers, body } = toHttpResponse(error, accepting(` ${GRAPHQL}, application/json`));
    expect([status, headers]).toEqual([
      401,
      { 'content-type': `${GRAPHQL}; charset=utf-8`, 'www-authenticate': 'Bearer' },
    ]);
    expect(JSON.parse(body)).toEqual({
      errors: [{ message: 'Who are you?', extensions: { code: 'unauthenticated', resource: error.outcome } }],
    });
    expect(toHttpResponse(error, accepting(`application/fhir+json, ${GRAPHQL}`)).headers['content-type']).toContain(
      'fhir',
    );
  });
});
