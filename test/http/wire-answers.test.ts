import { once } from 'node:events';
import { createServer, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createFhirHandler, type FhirHandler, toNodeListener } from '../../src/http.js';
import { createRepository, MemoryStore, systemCaller } from '../../src/index.js';
import { PARTS, TEXTS } from '../../src/fhir/json/stringify-json.js';
import { SEND_TUNING } from '../../src/http/exchange/answer.js';
import { PACE } from '../../src/platform/pace.js';
import { countTurns } from '../support/count-turns.js';

const TUNINGS = [SEND_TUNING, TEXTS, PARTS, PACE] as const;
const DEFAULTS = TUNINGS.map((one) => ({ ...one }));
const stops: (() => void)[] = [];
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  TUNINGS.forEach((one, index) => Object.assign(one, DEFAULTS[index]));
  for (const stop of stops.splice(0)) stop();
});

async function clinic(): Promise<FhirHandler> {
  const store = new MemoryStore();
  const caller = systemCaller('clinic');
  await createRepository({ store, caller }).update({ resourceType: 'Patient', id: 'p', name: [{ family: 'Müller' }] });
  return createFhirHandler({ store, baseUrl: 'http://localhost/fhir/R4', audit: false, signIn: () => caller });
}

async function listening(handler: FhirHandler): Promise<string> {
  const server = createServer(toNodeListener(handler)).listen(0, '127.0.0.1');
  stops.push(() => server.close().closeAllConnections());
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/fhir/R4`;
}

const REQUESTS: readonly (readonly [path: string, init: RequestInit])[] = [
  ['/Patient/p', {}],
  ['/Patient/p', { method: 'HEAD' }],
  ['/Patient/nobody', {}],
  ['/Patient/p', { method: 'OPTIONS' }],
  ['/Patient/p', { method: 'POST', body: '{}' }],
  ['/metadata', {}],
  [
    '/$graphql',
    {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"query":"{ Patient(id: \\"p\\") { name { family } } }"}',
    },
  ],
];

test.each(REQUESTS)('node:http sends %s %o like the handler', async (path, init) => {
  const handler = await clinic();
  const direct = await listening(handler);
  const wrapped = await listening((request, options) => handler(request, options));
  const seen = await Promise.all(
    [direct, wrapped].map(async (base) => {
      const response = await fetch(base + path, init);
      const headers = Object.fromEntries(response.headers);
      return { status: response.status, headers: { ...headers, date: '' }, body: await response.text() };
    }),
  );
  expect(seen[0]).toEqual(seen[1]);
  const { headers, body } = seen[0]!;
  if (body !== '')
    expect(Number((headers as { [name: string]: string })['content-length'])).toBe(Buffer.byteLength(body));
});

test.each([1, 2, 3, 4, 5])('a long text is sent in parts of %d characters, and no character is split', async (size) => {
  const store = new MemoryStore();
  const caller = systemCaller('clinic');
  const family = 'Müller 😀😀 𝒳y漢';
  await createRepository({ store, caller }).update({ resourceType: 'Patient', id: 'p', name: [{ family }] });
  const base = 'http://localhost/fhir/R4';
  const url = await listening(createFhirHandler({ store, baseUrl: base, audit: false, signIn: () => caller }));
  const whole = await fetch(`${url}/Patient/p`);
  const expected = await whole.text();
  expect(expected).toContain(family);
  SEND_TUNING.longText = size;
  const write = vi.spyOn(ServerResponse.prototype, 'write');
  const parts = await fetch(`${url}/Patient/p`);
  expect(await parts.text()).toBe(expected);
  expect(parts.headers.get('content-length')).toBe(whole.headers.get('content-length'));
  const characters = write.mock.calls.map(([chunk]) => new TextDecoder().decode(chunk as Uint8Array).length);
  expect(characters.length).toBeGreaterThan(expected.length / (size + 1) - 1);
  expect(Math.max(...characters)).toBeLessThanOrEqual(size + 1);
});

describe('a long answer of several texts', () => {
  const family = 'Müller 😀😀 𝒳y漢';
  const names = Array.from({ length: 40 }, (_, n) => ({ family: `${family} ${n}` }));

  async function longAnswer(): Promise<{ handler: FhirHandler; expected: string; bytes: number }> {
    const store = new MemoryStore();
    const caller = systemCaller('clinic');
    await createRepository({ store, caller }).update({ resourceType: 'Patient', id: 'p', name: names });
    const base = 'http://localhost/fhir/R4';
    const handler = createFhirHandler({ store, baseUrl: base, audit: false, signIn: () => caller });
    const expected = await (await handler(new Request(`${base}/Patient/p`))).text();
    Object.assign(PARTS, { long: 1, size: 1 });
    TEXTS.size = 100;
    PACE.turnMs = 0;
    return { handler, expected, bytes: Buffer.byteLength(expected) };
  }

  test('is a stream of a Response, encoded in turns while it is read', async () => {
    const { handler, expected } = await longAnswer();
    const response = await handler(new Request('http://localhost/fhir/R4/Patient/p'));
    const chunks: Uint8Array[] = [];
    const { turns } = await countTurns(async () => {
      for await (const chunk of response.body!) chunks.push(chunk);
    });
    expect(chunks.length).toBeGreaterThan(expected.length / 200);
    expect(turns).toBeGreaterThanOrEqual(chunks.length);
    for (const chunk of chunks) expect(chunk.length).toBeLessThan(400);
    expect(Buffer.concat(chunks).toString()).toBe(expected);
    expect(response.headers.get('etag')).toBe('W/"1"');
  });

  test('has its length over node:http, and goes out in parts', async () => {
    const { handler, expected, bytes } = await longAnswer();
    const url = await listening(handler);
    const write = vi.spyOn(ServerResponse.prototype, 'write');
    const response = await fetch(`${url}/Patient/p`);
    expect(await response.text()).toBe(expected);
    expect(response.headers.get('content-length')).toBe(String(bytes));
    expect(write.mock.calls.length).toBeGreaterThan(expected.length / 200);
  });

  test('has no body for HEAD', async () => {
    const { handler } = await longAnswer();
    const head = { method: 'HEAD' };
    expect((await handler(new Request('http://localhost/fhir/R4/Patient/p', head))).body).toBeNull();
    const sent = await fetch(`${await listening(handler)}/Patient/p`, head);
    expect([sent.status, sent.headers.get('etag'), await sent.text()]).toEqual([200, 'W/"1"', '']);
  });

  test('is not encoded further after its reader has left', async () => {
    const { handler } = await longAnswer();
    const response = await handler(new Request('http://localhost/fhir/R4/Patient/p'));
    const encode = vi.spyOn(TextEncoder.prototype, 'encode');
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
    expect(encode).toHaveBeenCalledTimes(1);
  });
});

test('node:http creates no Response for an answer', async () => {
  const base = await listening(await clinic());
  const made = vi.fn();
  const Original = globalThis.Response;
  vi.stubGlobal(
    'Response',
    class extends Original {
      constructor(body?: BodyInit | null, init?: ResponseInit) {
        made();
        super(body, init);
      }
    },
  );
  expect((await fetch(`${base}/Patient/p`)).status).toBe(200);
  expect(made).not.toHaveBeenCalled();
});
