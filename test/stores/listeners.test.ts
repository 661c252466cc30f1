import { once } from 'node:events';
import { expect, test } from 'vitest';
import { MemoryStore } from '../../src/stores/memory/store.js';
import { putAll, resourceOf } from '../../src/testing/conformance-case.js';

test.each<[string, () => void]>([
  [
    'at once',
    () => {
      throw new Error('it is full');
    },
  ],
  ['in its promise', () => Promise.reject(new Error('it is full'))],
])('a listener that fails %s fails no commit and no other listener, and is reported', async (_, listener) => {
  const store = new MemoryStore();
  const heard: string[] = [];
  store.subscribe(listener);
  store.subscribe((changes) => heard.push(...changes.map(({ key }) => key.id)));
  const warned = once(process, 'warning');
  await putAll(store, resourceOf('Patient', 'a'));
  expect(heard).toEqual(['a']);
  expect(await warned).toMatchObject([{ code: 'FHIRGRAPH_LISTENER', message: 'it is full' }]);
});
