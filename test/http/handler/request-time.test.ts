import { afterEach, expect, test, vi } from 'vitest';
import { createFhirHandler } from '../../../src/http.js';
import { MemoryStore, systemCaller } from '../../../src/index.js';

// The time of a request includes that of reading its JSON.

const BASE = 'https://clinic.example/fhir/R4';
const now = performance.now.bind(performance);
let later = 0;
afterEach(() => {
  later = 0;
  vi.restoreAllMocks();
});

const handler = createFhirHandler({
  store: new MemoryStore(),
  baseUrl: BASE,
  audit: false,
  limits: { timeout: 2_000_000 },
  signIn: () => systemCaller('clinic'),
});

/** Sends a body that takes an hour to parse, if it is `slow`: the clock is set forward by then. */
async function send(method: string, path: string, body: object, slow: boolean): Promise<string> {
  vi.spyOn(performance, 'now').mockImplementation(() => now() + later);
  const parse = JSON.parse.bind(JSON);
  vi.spyOn(JSON, 'parse').mockImplementation((text, reviver) => {
    if (slow) later = 3_600_000;
    return parse(text, reviver) as unknown;
  });
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(bytes);
      controller.close();
    },
  });
  const headers = { 'content-type': path.endsWith('graphql') ? 'application/json' : 'application/fhir+json' };
  const request = new Request(`${BASE}${path}`, { method, headers, body: stream, duplex: 'half' } as RequestInit);
  const answer = await handler(request);
  return `${answer.status} ${(await answer.text()).includes('2000000 ms') ? 'too long' : 'in time'}`;
}

const NAMES = Array.from({ length: 2_000 }, (_, index) => ({ family: `Family ${index} `.padEnd(300, 'x') }));
const PATIENT = { resourceType: 'Patient', id: 'p', name: NAMES };
const QUERY = { query: 'query ($p: String) { PatientList(name: $p) { id } }', variables: { p: 'x', other: NAMES } };

test.each([
  ['a write', 'PUT', '/Patient/p', PATIENT],
  ['a validation', 'POST', '/Patient/$validate', PATIENT],
  ['a query', 'POST', '/$graphql', QUERY],
])('%s ends by its deadline, which began before its body was parsed', async (_, method, path, body) => {
  expect(await send(method, path, body, false)).toMatch(/^20[01] in time$/);
  vi.restoreAllMocks();
  expect(await send(method, path, body, true)).toMatch(/too long$/);
});
