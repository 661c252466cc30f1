import { expect, test } from 'vitest';
import { FhirError, importNdjson, type NdjsonContext, type NdjsonProgress } from '../../src/index.js';
import { contents, memoryContext } from './harness.js';
import { neverPause } from '../support/never-pause.js';

neverPause();

const line = (id: string, type = 'Patient'): string => `{"resourceType":"${type}","id":"${id}"}\n`;

/** A store that commits only when a test lets it. */
function heldContext(): {
  readonly context: NdjsonContext;
  readonly begun: string[];
  /** Ends the waiting commit of the first lines, with the given error if there is one. */
  end(error?: Error): Promise<void>;
} {
  const context = memoryContext();
  const begun: string[] = [];
  /** By their contents: the order in which batches reach the store is open. */
  const waiting = new Map<string, (error?: Error) => void>();
  const commit = context.store.commit.bind(context.store);
  context.store.commit = async (writes, options) => {
    const ids = writes.map((write) => (write.kind === 'put' ? write.key.id : write.kind)).join();
    begun.push(ids);
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    waiting.set(ids, (error) => (error === undefined ? resolve(undefined) : reject(error)));
    await promise;
    return commit(writes, options);
  };
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    context: { ...context, batchLines: 2 },
    begun,
    async end(error) {
      await settled();
      const [first] = [...waiting.keys()].toSorted();
      const settle = waiting.get(first!)!;
      waiting.delete(first!);
      settle(error);
      await settled();
    },
  };
}

test('three batches are prepared and sent while the batch before is written, and no further batch', async () => {
  const { context, begun, end } = heldContext();
  const told: NdjsonProgress[] = [];
  const imported = importNdjson(
    Array.from('abcdefghijkl', (id) => line(id)),
    {
      ...context,
      onProgress: (progress) => told.push(progress),
    },
  );
  await end();
  expect(begun.toSorted()).toEqual(['a,b', 'c,d', 'e,f', 'g,h', 'i,j']);
  for (let left = 5; left > 0; left--) await end();
  expect(await imported).toMatchObject({ created: 12, imported: 12, lines: 12 });
  expect(told.map(({ lines, imported: count }) => [lines, count])).toEqual([
    [2, 2],
    [4, 4],
    [6, 6],
    [8, 8],
    [10, 10],
    [12, 12],
    [12, 12],
  ]);
});

test('only one batch is prepared while large batches are written', async () => {
  const { context, begun, end } = heldContext();
  const lines = Array.from('abcdef', (id) => line(id));
  // Each batch is as large as it may be.
  const imported = importNdjson(lines, { ...context, batchLines: 200, batchBytes: 1 });
  await end();
  expect(begun.toSorted()).toEqual(['a', 'b', 'c']);
  for (let left = 5; left > 0; left--) await end();
  expect(await imported).toMatchObject({ created: 6 });
});

test('a batch that ends first is counted and reported after the batch before', async () => {
  const { context, end } = heldContext();
  const told: NdjsonProgress[] = [];
  const commit = context.store.commit.bind(context.store);
  const released: string[] = [];
  context.store.commit = (writes, options) => {
    const isSecond = writes.some((write) => write.kind === 'put' && write.key.id === 'c');
    if (!isSecond) return commit(writes, options);
    released.push('c');
    return Promise.reject(new FhirError('unprocessable', 'No'));
  };
  const imported = importNdjson(
    ['a', 'b', 'c', 'd'].map((id) => line(id)),
    {
      ...context,
      onProgress: (progress) => told.push(progress),
    },
  );
  await end();
  expect(released.length).toBeGreaterThan(0);
  await end();
  const result = await imported;
  expect(result.errors.map((error) => error.line)).toEqual([3]);
  expect(told[0]).toMatchObject({ lines: 2, imported: 2, failed: 0 });
});

test.each<[string, readonly string[], Partial<NdjsonContext>]>([
  ['has a resource of the one before', [line('a'), line('b'), line('a'), line('c')], {}],
  ['decides access', [line('a'), line('b'), line('a', 'AccessPolicy'), line('c')], {}],
  ['follows a line that may end the import', [line('a'), line('b'), line('c'), line('d')], { stopOnError: true }],
  [
    'must be recorded',
    [line('a'), line('b'), line('c'), line('d')],
    { audit: () => Promise.resolve(), requireAudit: true },
  ],
])('a batch waits if it %s', async (_, lines, more) => {
  const { context, begun, end } = heldContext();
  const imported = importNdjson([...lines], { ...context, ...more });
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toEqual(['a,b']);
  await end();
  expect(begun.length).toBe(2);
  await end();
  await imported;
});

test('a batch that waits for an earlier batch is overtaken by batches about other resources', async () => {
  const { context, begun, end } = heldContext();
  const told: number[] = [];
  const again = '{"resourceType":"Patient","id":"a","active":true}\n';
  const lines = [line('a'), line('b'), again, line('c'), line('d'), line('e'), line('a'), line('f')];
  const imported = importNdjson(lines, { ...context, onProgress: (progress) => told.push(progress.lines) });
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(begun.toSorted()).toEqual(['a,b', 'd,e']);
  await end();
  expect([begun.at(-1), told]).toEqual(['a,c', [2]]);
  await end();
  expect([begun.at(-1), told]).toEqual(['a,f', [2, 4]]);
  for (let left = 2; left > 0; left--) await end();
  expect(await imported).toMatchObject({ created: 6, updated: 2, lines: 8 });
  expect((await contents(context.store))['Patient/a']).not.toHaveProperty('active');
});

test('a failed import is over: the batches in progress have ended, and the error says that some may be written', async () => {
  const { context, end } = heldContext();
  let isOver = false;
  const imported = importNdjson(
    ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => line(id)),
    context,
  );
  const failed = expect(imported)
    .rejects.toMatchObject({ code: 'unavailable', details: { unknown: true } })
    .then(() => (isOver = true));
  await end(new FhirError('unavailable', 'down'));
  expect(isOver).toBe(false);
  await end();
  expect(isOver).toBe(false);
  await end();
  await failed;
  expect(Object.keys(await contents(context.store))).toEqual(['c', 'd', 'e', 'f'].map((id) => `Patient/${id}`));
});

test('after a failed batch no further batch is written, and batches in progress have ended', async () => {
  const { context, begun, end } = heldContext();
  const commit = context.store.commit.bind(context.store);
  context.store.commit = (writes, options) =>
    writes.some((write) => write.kind === 'put' && write.key.id === 'c')
      ? Promise.reject(new FhirError('unavailable', 'down'))
      : commit(writes, options);
  let isOver = false;
  const imported = importNdjson(
    Array.from('abcdefghijkl', (id) => line(id)),
    context,
  );
  const failed = expect(imported)
    .rejects.toMatchObject({ code: 'unavailable', details: { unknown: true } })
    .then(() => (isOver = true));
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(isOver).toBe(false);
  for (let left = 3; left > 0; left--) await end();
  await failed;
  // The last two were under way.
  expect(begun.toSorted()).toEqual(['a,b', 'e,f', 'g,h']);
  expect(Object.keys(await contents(context.store))).toEqual(Array.from('abefgh', (id) => `Patient/${id}`));
});
