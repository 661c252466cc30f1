import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { createFhirHandler } from '../../../src/http.js';
import { FhirError, MemoryStore, systemCaller } from '../../../src/index.js';
import { openService, outcomeText } from './open-service.js';

const GOOD = {
  store: new MemoryStore(),
  baseUrl: 'https://clinic.example/fhir/R4',
  audit: false,
  signIn: () => undefined,
};

describe('the configuration', () => {
  test.each<[string, object]>([
    [
      'audit must be a function that receives the audit trail; false leaves the service without one',
      { audit: undefined },
    ],
    ['signIn must be a function that gives the caller of a request', { signIn: undefined }],
    ['There is no option called "mailers". Did you mean "mailer"?', { mailers: {} }],
    ['mailer must be an object with send()', { mailer: {} }],
    ['maxBodyBytes must be a number above 0', { maxBodyBytes: 0 }],
    ['onError must be a function', { onError: true }],
    ['graphqlOverHttp knows the draft 2026-08-06', { graphqlOverHttp: '2020-01-01' }],
    ['extendedMeta must be true or false', { extendedMeta: 1 }],
    ['There is no limit called "dept"', { limits: { dept: 3 } }],
    ['baseUrl is missing: neither the handler nor the store has one', { baseUrl: undefined }],
    ['baseUrl must be an absolute URL such as https://clinic.example/fhir/R4, not "/fhir/R4"', { baseUrl: '/fhir/R4' }],
    [
      'baseUrl must be an absolute URL such as https://clinic.example/fhir/R4, not "ftp://clinic.example"',
      { baseUrl: 'ftp://clinic.example' },
    ],
  ])('%s', (message, change) => {
    const fault = (): unknown => createFhirHandler({ ...GOOD, ...change } as never);
    expect(fault).toThrow(new FhirError('invalid', message));
  });

  test('needs a store', () => {
    expect(() => createFhirHandler({ ...GOOD, store: undefined } as never)).toThrow(TypeError);
    expect(() => createFhirHandler(undefined as never)).toThrow(TypeError);
  });
});

describe('the caller', () => {
  test('without a token, every route except metadata is 401', async () => {
    const { call } = await openService();
    for (const [method, path] of [
      ['GET', 'Patient/1'],
      ['POST', 'Patient'],
      ['GET', '$graphql?query=%7B__typename%7D'],
      ['POST', '/admin/projects/1/invite'],
      ['POST', ''],
    ] as const) {
      const answer = await call(method, path, { as: null });
      expect([path, answer.status, answer.headers.get('www-authenticate')]).toEqual([path, 401, 'Bearer']);
    }
    expect((await call('GET', 'metadata', { as: null })).status).toBe(200);
  });

  test.each<[string, unknown, number, string]>([
    [
      'jose',
      Object.assign(new Error('"exp" claim timestamp check failed'), { code: 'ERR_JWT_EXPIRED' }),
      401,
      'The token is not valid',
    ],
    [
      'jsonwebtoken',
      Object.assign(new Error('jwt expired'), { name: 'TokenExpiredError' }),
      401,
      'The token is not valid',
    ],
    ['a key server', Object.assign(new Error('timeout'), { code: 'ERR_JWKS_TIMEOUT' }), 500, 'Internal error'],
    ['a bug', new TypeError('x is undefined'), 500, 'Internal error'],
    ['a value that is not an error', 'no', 500, 'Internal error'],
    ['a malformed name', new FhirError('invalid', 'no id'), 401, 'The token is not valid'],
    ['a refusal', new FhirError('membership-inactive', 'not active'), 403, 'not active'],
    ['an outage', new FhirError('unavailable', 'later'), 503, 'later'],
  ])('an error of %s in signIn', async (_, thrown, status, text) => {
    const { call, errors } = await openService({
      signIn() {
        throw thrown;
      },
    });
    const answer = await call('GET', 'Patient');
    expect([answer.status, outcomeText(answer)]).toEqual([status, text]);
    expect(errors).toEqual(status >= 500 ? [thrown] : []);
  });

  test('an invalid caller is a mistake of the host', async () => {
    const { call, errors } = await openService({ signIn: () => ({ kind: 'server', project: '' }) as never });
    expect((await call('GET', 'Patient')).status).toBe(500);
    expect(errors).toEqual([
      new TypeError('signIn must give a caller of this library, from its function signIn, or undefined'),
    ]);
  });

  test('a caller that the host provides needs no token', async () => {
    const { handler, project } = await openService();
    const request = new Request('https://clinic.example/fhir/R4/Patient');
    expect((await handler(request, { caller: systemCaller(project) })).status).toBe(200);
    expect((await handler(request, { caller: { kind: 'server', project } as never })).status).toBe(500);
  });
});

describe('errors', () => {
  test('onError receives the cause of internal errors, and no answer has it', async () => {
    const { call, errors, store } = await openService();
    const fault = new Error('the password is hunter2');
    const { search, read } = store;
    store.search = (query, options) =>
      query.type === 'Patient' ? Promise.reject(fault) : search.call(store, query, options);
    const answers = [
      await call('GET', 'Patient'),
      await call('POST', '$graphql', {
        body: { query: '{ a: PatientList { id } b: PatientList(gender: "x") { id } }' },
      }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([500, 200]);
    expect(errors).toEqual([fault, fault]);
    for (const { text } of answers) expect(text).not.toContain('hunter2');
    Object.assign(store, { search, read });
  });

  test.each<[string, () => void]>([
    [
      'throws',
      () => {
        throw new Error('down');
      },
    ],
    ['returns a promise that rejects', () => Promise.reject(new Error('down'))],
  ])('a hook that %s does not change the answer, and is reported without its cause', async (_, onError) => {
    const warned = once(process, 'warning');
    const { call, store } = await openService({ onError });
    store.history = () => Promise.reject(new Error('x'));
    const made = await call('PUT', 'Patient/p', { body: { resourceType: 'Patient', id: 'p' } });
    expect(made.status).toBe(201);
    expect((await call('GET', 'Patient/p/_history')).status).toBe(500);
    expect(await warned).toMatchObject([
      { code: 'FHIRGRAPH_HANDLER', message: 'onError of createFhirHandler threw an error' },
    ]);
  });

  test('the work ends with the signals of the request and of the host', async () => {
    const { handler } = await openService();
    const headers = { authorization: 'Bearer admin' };
    const signal = AbortSignal.abort();
    const own = new Request('https://clinic.example/fhir/R4/Patient', { headers, signal });
    const other = new Request('https://clinic.example/fhir/R4/Patient', { headers });
    expect((await handler(own)).status).toBe(503);
    expect((await handler(other, { signal })).status).toBe(503);
  });
});
