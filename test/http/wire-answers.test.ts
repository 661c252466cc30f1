import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { systemCaller } from '../../src/access/caller.js';
import type { FhirHandler } from '../../src/http/exchange/handler-config.js';
import { createFhirHandler } from '../../src/http/handler/create-fhir-handler.js';
import { toNodeListener } from '../../src/http/to-node-listener.js';
import { createRepository } from '../../src/repository/create-repository.js';
import { MemoryStore } from '../../src/stores/memory/store.js';

const stops: (() => void)[] = [];
afterEach(() => {
  vi.unstubAllGlobals();
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

test.each(REQUESTS)('node:http sends %s %o as the handler answers it', async (path, init) => {
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

test('node:http makes no Response of an answer', async () => {
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
