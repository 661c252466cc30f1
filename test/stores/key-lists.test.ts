import { expect, test } from 'vitest';
import { addList, listBytes, readList } from '../../src/stores/sql/skip/key-bytes.js';
import { KeySet } from '../../src/stores/sql/skip/key-set.js';
import { createRandom } from '../../src/testing/random.js';
import { SEED } from '../support/chance.js';

test(`lists and sets have exactly the keys that they were built from, ${SEED}`, () => {
  const random = createRandom(SEED);
  for (const size of [1, 31, 33, 200, 20_000, 3_000_000]) {
    for (const share of [0, 0.0001, 0.02, 0.5, 1]) {
      const count = Math.min(2_000, Math.ceil(size * share));
      const drawn = Array.from({ length: count }, () => Math.floor(random() * size));
      const keys = [...new Set(drawn)].sort((a, b) => a - b);
      const bytes = listBytes(keys, 0);
      expect(readList(bytes, 0)).toEqual(keys);
      expect(readList(bytes, 7)).toEqual(keys.map((key) => key + 7));
      const set = new KeySet(0, size);
      addList(set, bytes);
      expect(set.keys()).toEqual(keys);
      expect(set.count).toBe(keys.length);
      const some = new KeySet(0, size);
      for (const key of keys) if (key % 3 === 0) some.add(key);
      expect(readList(bytes, 0, some)).toEqual(some.keys());
    }
  }
  const all = new KeySet(0, 100).fill();
  expect([all.count, all.keys().length, all.keys().at(-1)]).toEqual([100, 100, 99]);
});
