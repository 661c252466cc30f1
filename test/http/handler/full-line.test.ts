import { expect, test } from 'vitest';
import { createFhirHandler } from '../../../src/http.js';
import { MemoryStore, systemCaller } from '../../../src/index.js';
import { storeWith } from '../../support/store-with.js';
import { neverPause } from '../../support/never-pause.js';

neverPause();

// Requests that find no place in the line are refused before their bodies are read and parsed.

const URL_OF_BATCH = 'https://clinic.example/fhir/R4';
const CONCURRENCY = { total: 3, project: 1, queue: 2 };

/** A service whose searches wait until they are released or aborted. Tokens are the names of projects. */
function heldService() {
  const inner = new MemoryStore();
  const waiting: (() => void)[] = [];
  const store = storeWith(inner, {
    async search(query, options) {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        options?.signal?.addEventListener('abort', () => resolve());
      });
      return inner.search(query, options);
    },
  });
  const handler = createFhirHandler({
    store,
    baseUrl: URL_OF_BATCH,
    audit: false,
    limits: { concurrency: CONCURRENCY },
    signIn: (request) => systemCaller(request.headers.get('authorization')!),
  });
  const list = (project: string, signal?: AbortSignal): Promise<Response> =>
    handler(new Request(`${URL_OF_BATCH}/Patient`, { headers: { authorization: project }, ...(signal && { signal }) }));
  const post = (project: string, path: string, body: ReadableStream<Uint8Array>, type: string): Promise<Response> =>
    handler(
      new Request(`${URL_OF_BATCH}${path}`, {
        method: 'POST',
        headers: { authorization: project, 'content-type': type },
        body,
        duplex: 'half',
      } as RequestInit),
    );
  const release = async (all: readonly Promise<Response>[]): Promise<readonly number[]> => {
    let isOver = false;
    const done = Promise.all(all).finally(() => (isOver = true));
    while (!isOver) {
      for (const resolve of waiting.splice(0)) resolve();
      await new Promise((resolve) => setImmediate(resolve));
    }
    return (await done).map(({ status }) => status);
  };
  return { list, post, release, waiting };
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** A body that is not JSON, and that counts the bytes read from it. */
function countedBody(before: () => Promise<void> = async () => undefined) {
  const counted = { chunks: 0 };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        counted.chunks += 1;
        await before();
        controller.enqueue(new TextEncoder().encode('{ not JSON'));
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return { body, counted };
}

const POSTS = [
  ['', 'application/fhir+json'],
  ['/Patient', 'application/fhir+json'],
  ['/Binary', 'image/png'],
  ['/$graphql', 'application/json'],
  ['/Patient/_search', 'application/x-www-form-urlencoded'],
] as const;

test.each(POSTS)('POST %s of a project with a full queue is refused without reading its body', async (path, type) => {
  const { list, post, release } = heldService();
  const all = [list('greedy'), list('greedy')];
  await settled();
  const { body, counted } = countedBody();
  const refused = await post('greedy', path, body, type);
  expect([refused.status, refused.headers.get('retry-after'), counted.chunks]).toEqual([429, '1', 0]);
  // That of another project is read.
  const other = countedBody();
  const answer = post('modest', path, other.body, type);
  await settled();
  expect(other.counted.chunks).toBe(1);
  expect((await release([answer, ...all])).slice(1)).toEqual([200, 200]);
  expect((await answer).status).not.toBe(429);
});

test('a body that arrives when the queue has become full is not parsed', async () => {
  const { list, post, release } = heldService();
  const all: Promise<Response>[] = [];
  const { body, counted } = countedBody(async () => {
    all.push(list('greedy'), list('greedy'));
    await settled();
  });
  const refused = await post('greedy', '', body, 'application/fhir+json');
  expect([refused.status, counted.chunks]).toEqual([429, 1]);
  expect(await release(all)).toEqual([200, 200]);
});

test('aborted requests keep neither turns nor places in the queue', async () => {
  const { list, release, waiting } = heldService();
  for (let round = 0; round < 20; round += 1) {
    const controllers = [new AbortController(), new AbortController()];
    const all = controllers.map(({ signal }) => list('greedy', signal));
    await settled();
    for (const controller of controllers) controller.abort();
    expect((await Promise.all(all)).every(({ status }) => status >= 400 && status !== 429)).toBe(true);
  }
  waiting.length = 0;
  const all = [list('greedy'), list('greedy')];
  await settled();
  expect(waiting).toHaveLength(1);
  expect((await list('greedy')).status).toBe(429);
  expect(await release(all)).toEqual([200, 200]);
});
