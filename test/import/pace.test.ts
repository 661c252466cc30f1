import { afterEach, expect, test, vi } from 'vitest';
import { importBundle, MemoryStore, systemCaller } from '../../src/index.js';
import { PACE } from '../../src/platform/pace.js';
import { READ_TUNING } from '../../src/store/every-page.js';

const DEFAULT = PACE.turnMs;
const KEYS = READ_TUNING.keysAtOnce;
afterEach(() => {
  PACE.turnMs = DEFAULT;
  READ_TUNING.keysAtOnce = KEYS;
});

function transaction(size: number): object {
  const entry = Array.from({ length: size }, (_, index) => ({
    resource: { resourceType: 'Patient', id: `p${index}` },
    request: { method: 'PUT', url: `Patient/p${index}` },
  }));
  return { resourceType: 'Bundle', type: 'transaction', entry };
}

/** Turns of the event loop that others have during some work. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    if (isDone) return;
    turns += 1;
    setImmediate(count);
  };
  setImmediate(count);
  await work;
  isDone = true;
  return turns;
}

test.each([
  // The first turn is counted when it is over. The entries are read, identified, reviewed, linked in
  // two steps, compared and planned, then validated and decided, and answered in two steps.
  ['a turn after each entry of each step', 0, 11 * 320],
  ['no turn if all of it is short', 1e9, 0],
])('a transaction of 320 entries yields to other work %s', async (_, turnMs, turns) => {
  PACE.turnMs = turnMs;
  const context = { store: new MemoryStore(), caller: systemCaller('clinic') };
  const imported = importBundle(transaction(320), context);
  const counted = await turnsDuring(imported);
  expect((await imported).created).toBe(320);
  expect(counted).toBeGreaterThanOrEqual(turns);
  if (turns === 0) expect(counted).toBeLessThan(5);
});

test('a transaction yields after each link to an entry', async () => {
  PACE.turnMs = 0;
  const bundle = (fullUrl: (index: number) => object): object => ({
    resourceType: 'Bundle',
    type: 'transaction',
    entry: Array.from({ length: 100 }, (_, index) => ({
      ...fullUrl(index),
      resource: { resourceType: 'Patient', id: `p${index}` },
      request: { method: 'PUT', url: `Patient/p${index}` },
    })),
  });
  const turnsOf = (body: object): Promise<number> =>
    turnsDuring(importBundle(body, { store: new MemoryStore(), caller: systemCaller('clinic') }));
  const without = await turnsOf(bundle(() => ({})));
  const withLinks = await turnsOf(bundle((index) => ({ fullUrl: `http://x.example/Patient/p${index}` })));
  expect(withLinks - without).toBeGreaterThanOrEqual(100);
});

test('the targets of a long Bundle are found in turns', async () => {
  PACE.turnMs = 0;
  const context = { store: new MemoryStore(), caller: systemCaller('clinic') };
  const without = await turnsDuring(importBundle(transaction(100), context));
  const audited = { ...context, store: new MemoryStore(), audit: () => undefined };
  // Before and after it is carried out.
  expect((await turnsDuring(importBundle(transaction(100), audited))) - without).toBeGreaterThanOrEqual(195);
});

test('a transaction reads the stored resources in parts', async () => {
  READ_TUNING.keysAtOnce = 100;
  const store = new MemoryStore();
  const read = vi.spyOn(store, 'read');
  const context = { store, caller: systemCaller('clinic') };
  expect((await importBundle(transaction(320), context)).created).toBe(320);
  const sizes = (): number[] => read.mock.calls.map(([keys]) => keys.length).filter((size) => size > 1);
  expect(sizes()).toEqual([100, 100, 100, 20]);
  expect((await importBundle(transaction(320), context)).unchanged).toBe(320);
});

test.each(['batch', 'transaction'])('the reads of a %s yield after each read', async (type) => {
  const context = { store: new MemoryStore(), caller: systemCaller('clinic') };
  await importBundle(transaction(1), context);
  PACE.turnMs = 0;
  const entry = Array.from({ length: 40 }, () => ({ request: { method: 'GET', url: 'Patient?_count=1' } }));
  const imported = importBundle({ resourceType: 'Bundle', type, entry }, context);
  // Entries are read, identified and planned, and then answered; the reads of a transaction are tried before.
  expect(await turnsDuring(imported)).toBeGreaterThanOrEqual(40 * (type === 'batch' ? 4 : 5) - 1);
  expect((await imported).bundle.entry).toHaveLength(40);
});

test('a batch of faulty entries gives others a turn after each, in each step', async () => {
  PACE.turnMs = 0;
  const entry = Array.from({ length: 40 }, () => ({}));
  const context = { store: new MemoryStore(), caller: systemCaller('clinic') };
  const imported = importBundle({ resourceType: 'Bundle', type: 'batch', entry }, context);
  // Entries are read, their faults become outcomes, and those the answer.
  expect(await turnsDuring(imported)).toBeGreaterThanOrEqual(40 * 3 - 1);
  expect((await imported).failed).toBe(40);
});
