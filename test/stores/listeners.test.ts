import { once } from 'node:events';
import { expect, test } from 'vitest';
import { MemoryStore } from '../../src/stores/memory/store.js';
import { PROJECT, putAll, resourceOf } from '../../src/testing/conformance-case.js';

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

test('many commits are told once at their beginning, and once after them', async () => {
  const store = new MemoryStore();
  let told = 0;
  const later = Promise.withResolvers<undefined>();
  store.watch(PROJECT, () => {
    if ((told += 1) === 2) later.resolve(undefined);
  });
  store.watch('elsewhere', () => expect.fail('Nothing was written there'));
  await Promise.all(Array.from({ length: 100 }, (_, index) => putAll(store, resourceOf('Patient', `p${index}`))));
  await later.promise;
  expect(told).toBe(2);
});
