import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createRepository, MemoryStore, serverCaller } from '../../src/index.js';
import {
  remoteTerminology,
  withTerminology,
  type RemoteTerminologyOptions,
  type TerminologyContext,
} from '../../src/terminology.js';
import { codeOf, faultOf, system } from '../repository/harness.js';

const CONTEXT: TerminologyContext = { project: 'clinic', search: () => Promise.resolve([]) };
const SET = { kind: 'value-set', url: 'https://clinic.example/ValueSet/a' } as const;
const EXPANSION = {
  resourceType: 'ValueSet',
  expansion: {
    total: 3,
    contains: [
      { system: 'urn:s', code: 'a', display: 'A', contains: [{ system: 'urn:s', code: 'b' }] },
      { abstract: true, system: 'urn:s', code: 'group' },
    ],
  },
};

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** A server on loopback that answers everything alike. */
async function serve(
  answer: (response: ServerResponse, asked: Asked) => void,
): Promise<{ url: string; asked: Asked[] }> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const one = { method: request.method!, url: request.url!, headers: request.headers, body };
      asked.push(one);
      answer(response, one);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/fhir`, asked };
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/fhir+json' }).end(JSON.stringify(body));
}

async function open(
  answer: (response: ServerResponse, asked: Asked) => void,
  options: Partial<RemoteTerminologyOptions> = {},
) {
  const { url, asked } = await serve(answer);
  return { terminology: remoteTerminology({ url, ...options }), asked, url };
}

const codes = (concepts: readonly { readonly code: string }[]): string[] => concepts.map(({ code }) => code).sort();

test('expands a value set over HTTP, and caches the expansion', async () => {
  const { terminology, asked } = await open((response) => json(response, 200, EXPANSION), {
    headers: () => ({ authorization: 'Bearer x' }),
  });
  const [one, other] = await Promise.all([terminology.expand(SET, CONTEXT), terminology.expand(SET, CONTEXT)]);
  expect(codes(one)).toEqual(['a', 'b']);
  expect(one).toContainEqual({ system: 'urn:s', code: 'a', display: 'A' });
  expect(other).toBe(one);
  expect(await terminology.expand(SET, CONTEXT)).toBe(one);
  await terminology.expand({ kind: 'value-set', url: `${SET.url}|2` }, CONTEXT);
  expect(asked.map(({ method, url }) => [method, url])).toEqual([
    ['GET', `/fhir/ValueSet/$expand?url=${encodeURIComponent(SET.url)}&count=10001`],
    ['GET', `/fhir/ValueSet/$expand?url=${encodeURIComponent(SET.url)}&count=10001&valueSetVersion=2`],
  ]);
  expect(asked[0]!.headers.authorization).toBe('Bearer x');
});

test('requests again when an expansion is too old or not cached, and after an error', async () => {
  let fails = true;
  const { terminology, asked } = await open(
    (response) => (fails ? json(response, 503, {}) : json(response, 200, EXPANSION)),
    { maxAge: 0 },
  );
  expect(await codeOf(terminology.expand(SET, CONTEXT))).toBe('unavailable');
  fails = false;
  expect(codes(await terminology.expand(SET, CONTEXT))).toEqual(['a', 'b']);
  await terminology.expand(SET, CONTEXT);
  expect(asked).toHaveLength(3);
});

test('above and below are filters of a value set in the request', async () => {
  const { terminology, asked } = await open((response) => json(response, 200, EXPANSION));
  await terminology.expand({ kind: 'below', system: 'urn:s', code: 'a' }, CONTEXT);
  await terminology.expand({ kind: 'above', system: 'urn:s', code: 'a' }, CONTEXT);
  const filters = asked.map(({ method, body }) => {
    const { parameter } = JSON.parse(body) as { parameter: [{ resource: { compose: { include: unknown } } }] };
    return [method, parameter[0].resource.compose.include];
  });
  expect(filters).toEqual([
    ['POST', [{ system: 'urn:s', filter: [{ property: 'concept', op: 'is-a', value: 'a' }] }]],
    ['POST', [{ system: 'urn:s', filter: [{ property: 'concept', op: 'generalizes', value: 'a' }] }]],
  ]);
});

test('subsumes and lookup', async () => {
  const { terminology, asked } = await open((response, { url }) => {
    if (url.includes('code=none')) json(response, 404, { resourceType: 'OperationOutcome' });
    else if (url.includes('$lookup')) json(response, 200, { parameter: [{ name: 'display', valueString: 'Cat' }] });
    else json(response, 200, { parameter: [{ name: 'outcome', valueCode: 'subsumed-by' }] });
  });
  expect(await terminology.subsumes({ system: 'urn:s', codeA: 'a', codeB: 'b' }, CONTEXT)).toBe('subsumed-by');
  expect(await terminology.lookup({ system: 'urn:s', code: 'a' }, CONTEXT)).toEqual({
    system: 'urn:s',
    code: 'a',
    display: 'Cat',
  });
  expect(await terminology.lookup({ system: 'urn:s', code: 'none' }, CONTEXT)).toBeUndefined();
  expect(asked[0]!.url).toBe('/fhir/CodeSystem/$subsumes?system=urn%3As&codeA=a&codeB=b');
});

const outcome = (code: string): object => ({
  resourceType: 'OperationOutcome',
  issue: [{ severity: 'error', code, diagnostics: 'their words' }],
});

test.each<[string, (response: ServerResponse) => void, string]>([
  ['404', (response) => json(response, 404, {}), 'invalid'],
  ['an unknown set', (response) => json(response, 422, outcome('not-found')), 'invalid'],
  ['a set that is too large', (response) => json(response, 422, outcome('too-costly')), 'too-costly'],
  ['something unsupported', (response) => json(response, 422, outcome('not-supported')), 'unsupported'],
  ['500', (response) => json(response, 500, outcome('exception')), 'unavailable'],
  ['401', (response) => json(response, 401, {}), 'unavailable'],
  ['no JSON', (response) => response.writeHead(200).end('<html>'), 'unavailable'],
  ['no expansion', (response) => json(response, 200, { resourceType: 'ValueSet' }), 'unavailable'],
  [
    'a page of more',
    (response) => json(response, 200, { expansion: { total: 9, contains: [{ code: 'a' }] } }),
    'too-costly',
  ],
  [
    'more codes than allowed',
    (response) =>
      json(response, 200, { expansion: { contains: Array.from({ length: 6 }, (_, n) => ({ code: `c${n}` })) } }),
    'too-costly',
  ],
  [
    'more bytes than allowed',
    (response) => json(response, 200, { expansion: {}, padding: 'x'.repeat(20_000) }),
    'unavailable',
  ],
  [
    'half an answer',
    (response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{');
      response.destroy();
    },
    'unavailable',
  ],
])('%s is an error', async (_, answer, code) => {
  const { terminology } = await open(answer, { maxConcepts: 5, maxBytes: 10_000 });
  const fault = await faultOf(terminology.expand(SET, CONTEXT));
  expect(fault.code).toBe(code);
  expect(fault.message).not.toContain('their words');
});

test('redirects are not followed: the other host receives no request', async () => {
  const other = await serve((response) => json(response, 200, EXPANSION));
  for (const status of [301, 302, 303, 307, 308]) {
    const { terminology } = await open((response) =>
      response.writeHead(status, { location: `${other.url}/ValueSet/$expand` }).end(),
    );
    expect(await codeOf(terminology.expand(SET, CONTEXT))).toBe('unavailable');
  }
  expect(other.asked).toEqual([]);
});

test('a server that does not answer in time, or cannot be reached, is unavailable', async () => {
  const { terminology } = await open(() => undefined, { timeout: 30 });
  expect((await faultOf(terminology.expand(SET, CONTEXT))).message).toContain('does not answer within 30 ms');
  const { url } = await serve(() => undefined);
  await new Promise((resolve) => servers.pop()!.close(resolve));
  expect(await codeOf(remoteTerminology({ url }).expand(SET, CONTEXT))).toBe('unavailable');
  for (const wrong of ['file:///etc/passwd', 'tx.example']) {
    expect(() => remoteTerminology({ url: wrong })).toThrow('begins with https:// or http://');
  }
});

test('searches use it: found, and an error when it is down', async () => {
  let down = false;
  const { terminology } = await open((response) => (down ? json(response, 503, {}) : json(response, 200, EXPANSION)), {
    maxAge: 0,
  });
  const store = withTerminology(new MemoryStore(), terminology);
  await (
    await system(store)
  ).update({
    resourceType: 'Observation',
    id: 'o',
    status: 'final',
    code: { coding: [{ system: 'urn:s', code: 'b' }] },
  });
  const repository = createRepository({ store, caller: serverCaller('clinic') });
  const search = (modifier: string) => repository.search('Observation', `code:${modifier}=${SET.url}`);
  expect((await search('in')).entry).toHaveLength(1);
  expect((await search('not-in')).entry ?? []).toEqual([]);
  down = true;
  for (const modifier of ['in', 'not-in']) expect(await codeOf(search(modifier))).toBe('unavailable');
});
