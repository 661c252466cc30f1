import { expect, test } from 'vitest';
import { MemoryStore, systemCaller, type ResourceStore } from '../../../src/index.js';
import { createFhirHandler } from '../../../src/http.js';
import type { CallOptions } from '../../../src/store.js';

const BASE = 'https://clinic.example/fhir/R4';
const PATIENT = { resourceType: 'Patient', id: 'p' };
const json = { 'content-type': 'application/fhir+json' };
const send = (method: string, path: string, body: object): [string, RequestInit] => [
  path,
  { method, headers: json, body: JSON.stringify(body) },
];
const counting = [{ request: { method: 'GET', url: 'Patient?_summary=count' } }];

const REQUESTS: readonly (readonly [string, RequestInit?])[] = [
  send('PUT', '/Patient/p', PATIENT),
  send('POST', '', { resourceType: 'Bundle', type: 'batch', entry: counting }),
  ['/Patient?name=x'],
  ['/Patient/p'],
  ['/Patient/p/_history'],
  ['/Patient/p/$everything'],
];

/** How much time the calls of each request have left, in whole half minutes; undefined: any. */
async function timesLeft(limits: { timeout?: number } | undefined): Promise<readonly (number | undefined)[]> {
  const inner = new MemoryStore();
  let left: (number | undefined)[] = [];
  const noted = <Result>(options: CallOptions | undefined, work: () => Result): Result => {
    const deadline = options?.deadline;
    left.push(deadline === undefined ? undefined : Math.ceil((deadline - performance.now()) / 30_000));
    return work();
  };
  const store = new Proxy(inner, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name, target);
      if (typeof method !== 'function') return method;
      const optionsAt = { read: 1, search: 1, commit: 1, history: 2 }[String(name)];
      return (...given: unknown[]): unknown => {
        const work = (): unknown => (method as (...all: unknown[]) => unknown).apply(target, given);
        return optionsAt === undefined ? work() : noted(given[optionsAt] as CallOptions | undefined, work);
      };
    },
  }) as ResourceStore;
  const handler = createFhirHandler({
    store,
    baseUrl: BASE,
    audit: false,
    limits,
    signIn: () => systemCaller('clinic'),
  });
  const found: (number | undefined)[] = [];
  for (const [path, init] of REQUESTS) {
    left = [];
    const { status } = await handler(new Request(`${BASE}${path}`, init));
    expect(status, path).toBeLessThan(300);
    found.push(...new Set(left));
  }
  return [...new Set(found)];
}

test('interactions over HTTP end after half a minute, unless the host sets another limit or none', async () => {
  expect(await timesLeft(undefined)).toEqual([1]);
  expect(await timesLeft({})).toEqual([1]);
  expect(await timesLeft({ timeout: 60_000_000 })).toEqual([2_000]);
  expect(await timesLeft({ timeout: Infinity })).toEqual([undefined]);
});
