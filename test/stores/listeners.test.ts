import { once } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { MemoryStore } from '../../src/index.js';
import { PROJECT, putAll, resourceOf } from '../support/kit.js';

test('a listener that fails fails no commit and no other listener, and is reported', async () => {
  const store = new MemoryStore();
  let told = 0;
  store.watch(PROJECT, () => {
    throw new Error('it is full');
  });
  store.watch(PROJECT, () => (told += 1));
  const warned = once(process, 'warning');
  await putAll(store, resourceOf('Patient', 'a'));
  expect(told).toBe(1);
  expect(await warned).toMatchObject([{ code: 'FHIRGRAPH_LISTENER', message: 'it is full' }]);
});

test('many commits are told at their beginning, and once in 50 ms after that', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const store = new MemoryStore();
  let told = 0;
  store.watch(PROJECT, () => (told += 1));
  store.watch('elsewhere', () => expect.fail('Nothing was written there'));
  for (let index = 0; index < 100; index++) await putAll(store, resourceOf('Patient', `p${index}`));
  expect(told).toBe(1);
  vi.advanceTimersByTime(49);
  expect(told).toBe(1);
  vi.advanceTimersByTime(1);
  expect(told).toBe(2);
  vi.advanceTimersByTime(1_000);
  expect(told).toBe(2);
});
