import { expect, test } from 'vitest';
import { createTestService } from '../../../src/test-service.js';

// Every route with unexpected input: no answer can be an internal error.

const PATHS = [
  ...[
    '',
    'metadata',
    '$graphql',
    '%24graphql',
    'Patient',
    'Patient/ann',
    'Patient/ann/',
    'Patient//ann',
    'Nope',
    'patient',
  ],
  ...['Patient/ann/_history', 'Patient/_history', 'Patient/ann/_history/1', 'Patient/_search', 'Patient/$validate'],
  ...['Patient/ann/$everything', 'Patient/ann/$graphql', 'Patient/ann/$nope', 'Binary', 'Binary/scan', 'Project'],
  ...['Patient/%E0%A4%A', 'Patient/%00', 'Patient/a%2Fb', `Patient/${'x'.repeat(3000)}`],
  ...['../../admin/projects/x/invite', '../../admin/projects/x/members', '../../admin/projects/x/members/y'],
];
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PURGE'];
const FHIR = 'application/fhir+json';
const BODIES: readonly (readonly [body: BodyInit, headers: { readonly [name: string]: string }])[] = [
  ['', { 'content-type': FHIR }],
  ['{', { 'content-type': FHIR }],
  ['null', { 'content-type': FHIR }],
  ['[]', { 'content-type': 'application/json' }],
  ['['.repeat(20_000), { 'content-type': 'application/json' }],
  ['{}', { 'content-type': 'application/json; charset=latin1' }],
  ['{"resourceType":"Patient","__proto__":{"a":1},"constructor":1}', { 'content-type': `${FHIR}; fhirVersion=4.0` }],
  [new Uint8Array([31, 139, 8, 0]), { 'content-type': FHIR, 'content-encoding': 'gzip' }],
  [new Uint8Array([255, 254, 0]), { 'content-type': FHIR }],
  ['x'.repeat(60_000), { 'content-type': FHIR }],
  ['x', { 'content-type': ';;;' }],
  ['a=%zz&name:exact=x', { 'content-type': 'application/x-www-form-urlencoded' }],
];
const QUERIES = [
  ...[
    '?_format=json',
    '?_format=xml',
    '?_pretty=true',
    '?_format=&_pretty=maybe',
    '?%zz=1',
    '?_count=-1',
    '?_count=1e9',
  ],
  ...['?query=%7B', '?a=b', '?_summary=nope', '?_elements=', '?=x', '?_since=%00', '?_type=,', '?_cursor=/'],
];
const HEADERS: readonly { readonly [name: string]: string }[] = [
  ...[{ accept: 'text/html' }, { accept: '*/*;q=0' }, { 'if-match': '"x", "y"' }, { 'if-match': '*' }],
  ...[{ 'if-none-match': 'W/"1"' }, { prefer: 'return=nonsense' }, { 'if-modified-since': 'x' }],
  ...[{ 'if-none-exist': 'identifier=%zz' }, { 'x-security-context': '../..' }],
];

test('no request of a client causes an internal error', async () => {
  const service = await createTestService({ config: { maxBodyBytes: 50_000 } });
  const update = (resource: object): Promise<unknown> => service.repository.update(resource as never);
  const found: string[] = [];
  let requests = 0;
  for (const path of PATHS) {
    await update({ resourceType: 'Patient', id: 'ann' });
    await update({ resourceType: 'Binary', id: 'scan', contentType: 'image/png', data: 'AAAA' });
    for (const method of METHODS) {
      const hasBody = method !== 'GET' && method !== 'HEAD';
      const sent: readonly (readonly [query: string, init: RequestInit])[] = [
        ['', {}],
        ...QUERIES.map((query) => [query, {}] as const),
        ...HEADERS.map((headers) => ['', { headers }] as const),
        ...(hasBody ? BODIES.map(([body, headers]) => ['', { body, headers }] as const) : []),
      ];
      for (const [query, init] of sent) {
        const request = new Request(`${service.baseUrl}/${path}${query}`, { method, ...init });
        const { status, headers, text } = await answerTo(service.handler(request, { caller: service.administrator }));
        requests += 1;
        const faults = [
          ...(status >= 500 ? ['fails'] : []),
          ...(status === 405 && !/\bOPTIONS\b/.test(headers.get('allow') ?? '') ? ['has no Allow'] : []),
          ...(status >= 400 && method !== 'HEAD' && !/[/+]json\b/.test(headers.get('content-type') ?? '')
            ? ['has no outcome']
            : []),
          ...(method === 'HEAD' && text !== '' ? ['has a body'] : []),
          ...(headers.get('cache-control') === 'no-store' ? [] : ['may be cached']),
        ];
        if (faults.length > 0)
          found.push(`${method} ${path}${query} ${JSON.stringify(init.headers)}: ${status} ${faults.join()}`);
      }
    }
  }
  expect(found).toEqual([]);
  expect(service.errors).toEqual([]);
  expect(requests).toBeGreaterThan(5_000);
  await service.close();
});

async function answerTo(
  response: Promise<Response>,
): Promise<{ readonly status: number; readonly headers: Headers; readonly text: string }> {
  const { status, headers, ...rest } = await response.then(async (one) => ({
    status: one.status,
    headers: one.headers,
    text: await one.text(),
  }));
  return { status, headers, text: rest.text };
}
