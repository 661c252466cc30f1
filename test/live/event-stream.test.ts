import type { Observation } from '@medplum/fhirtypes';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createFhirHandler, toNodeListener, type FhirHandler } from '../../src/http.js';
import { createRepository, MemoryStore, type Repository, systemCaller } from '../../src/index.js';
import { eventStreamAnswer } from '../../src/http/exchange/event-stream.js';

let store: MemoryStore;
let repository: Repository;
let handler: FhirHandler;
let server: Server;
let url: string;
/** Ends the requests of a test. */
let over: AbortController;

beforeEach(async () => {
  store = new MemoryStore();
  over = new AbortController();
  repository = createRepository({ store, caller: systemCaller('clinic') });
  handler = createFhirHandler({
    store,
    baseUrl: 'http://clinic.example/fhir/R4',
    audit: false,
    signIn: () => systemCaller('clinic'),
  });
  server = createServer(toNodeListener(handler));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/fhir/R4/$graphql`;
});

afterEach(async () => {
  over.abort();
  await store.close();
  await new Promise((resolve) => server.close(resolve));
});

const QUERY = 'subscription { ObservationChanges(status: "final") { event id } }';

const observation = (id: string): Observation => ({ resourceType: 'Observation', id, status: 'final', code: {} });

function post(query: string, headers: { readonly [name: string]: string } = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
    body: JSON.stringify({ query }),
    signal: over.signal,
  });
}

interface Sent {
  readonly event?: string;
  readonly id?: string;
  readonly data?: string;
}

/** The events of a stream, comments left out. */
async function* eventsOf(response: Response): AsyncGenerator<Sent, undefined> {
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    const blocks = (text + chunk).split('\n\n');
    text = blocks.pop()!;
    for (const block of blocks) {
      const lines = block.split('\n').filter((line) => !line.startsWith(':'));
      if (lines.length === 0) continue;
      yield Object.fromEntries(lines.map((line) => [line.split(':', 1)[0]!, line.slice(line.indexOf(':') + 1).trim()]));
    }
  }
  return undefined;
}

async function next(events: AsyncGenerator<Sent>): Promise<Sent> {
  const { value, done } = await events.next();
  if (done === true) throw new Error('The stream has ended');
  return value;
}

describe('$graphql with Accept: text/event-stream', () => {
  test('an event for each result, whose id is its position', async () => {
    const response = await post(QUERY);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const events = eventsOf(response);
    await repository.update(observation('o1'));
    const first = await next(events);
    const { data, extensions } = JSON.parse(first.data!) as { data: unknown; extensions: { position: string } };
    expect(first.event).toBe('next');
    expect(data).toEqual({ ObservationChanges: { event: 'enter', id: 'o1' } });
    expect(first.id).toBe(extensions.position);
    await repository.delete('Observation', 'o1');
    expect(JSON.parse((await next(events)).data!)).toMatchObject({ data: { ObservationChanges: { event: 'leave' } } });
  });

  test('Last-Event-ID goes on after an event', async () => {
    const first = eventsOf(await post(QUERY));
    await repository.update(observation('o1'));
    const { id } = await next(first);
    await first.return(undefined);
    await repository.update(observation('o2'));
    const again = eventsOf(await post(QUERY, { 'last-event-id': id! }));
    expect(JSON.parse((await next(again)).data!)).toMatchObject({ data: { ObservationChanges: { id: 'o2' } } });
  });

  test('by GET, as EventSource asks', async () => {
    const response = await fetch(`${url}?query=${encodeURIComponent(QUERY)}`, {
      headers: { accept: 'text/event-stream' },
      signal: over.signal,
    });
    const events = eventsOf(response);
    await repository.update(observation('o1'));
    expect((await next(events)).event).toBe('next');
  });

  test('complete after the end, also after a reason', async () => {
    const events = eventsOf(await post(QUERY));
    await store.close();
    expect(await next(events)).toEqual({ event: 'complete', data: '' });
    expect(await events.next()).toEqual({ done: true, value: undefined });
  });

  test('a reset is the last result', async () => {
    const events = eventsOf(await post(QUERY, { 'last-event-id': 'of another store' }));
    expect(JSON.parse((await next(events)).data!)).toMatchObject({ errors: [{ extensions: { code: 'reset' } }] });
    expect(await next(events)).toEqual({ event: 'complete', data: '' });
  });

  test('a query is one result', async () => {
    const events = eventsOf(await post('{ __typename }'));
    expect(await next(events)).toEqual({ event: 'next', data: '{"data":{"__typename":"Query"}}' });
    expect((await next(events)).event).toBe('complete');
  });

  test('what is wrong before the first event has its status', async () => {
    const response = await post('subscription { ObservationChanges(none: 1) { id } }');
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'invalid' } }] });
  });

  test('clients that name the type beside JSON get JSON for queries', async () => {
    const accept = 'application/graphql-response+json, application/json, text/event-stream, multipart/mixed';
    expect((await post('{ __typename }', { accept })).headers.get('content-type')).toContain('json');
    expect((await post(QUERY, { accept })).headers.get('content-type')).toContain('event-stream');
  });

  test('the subscription ends when the client goes away', async () => {
    const request = new Request(url.replace(/^.*\/fhir/, 'http://clinic.example/fhir'), {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ query: QUERY }),
    });
    const response = await handler(request);
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
    expect((await reader.read()).done).toBe(true);
  });
});

test('a comment every 15 seconds, while the client reads', async () => {
  vi.useFakeTimers();
  try {
    const { stream } = eventStreamAnswer({
      [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }),
    });
    const reader = stream!.pipeThrough(new TextDecoderStream()).getReader();
    const first = await reader.read();
    const second = reader.read();
    await vi.advanceTimersByTimeAsync(15_000);
    expect([first, await second].map(({ value }) => value)).toEqual([':\n\n', ':\n\n']);
    await reader.cancel();
  } finally {
    vi.useRealTimers();
  }
});
