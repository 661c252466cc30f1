import { expect, test } from 'vitest';
import { KeySet } from '../../../src/stores/sql/skip/key-set.js';
import { KeyPrefixes } from '../../../src/stores/postgres/skip/key-prefixes.js';

test('numbers of keys are found by their beginnings, those of keys that begin alike together', () => {
  const keys = ['0'.repeat(32), '00000001aaaa'.padEnd(32, '0'), '00000001aaab'.padEnd(32, '0')];
  keys.push('00000001aaab'.padEnd(32, '1'), 'f'.repeat(32));
  const prefixes = new KeyPrefixes(Buffer.from(keys.map((key) => key.slice(0, 12)).join(''), 'hex'));
  const numbersOf = (...found: readonly string[]): readonly number[] => {
    const set = new KeySet(0, keys.length);
    prefixes.addTo(set, Buffer.from(found.join(''), 'hex'));
    return set.keys();
  };
  expect(numbersOf(keys[4]!, keys[0]!)).toEqual([0, 4]);
  expect(numbersOf(keys[1]!)).toEqual([1]);
  expect(numbersOf(keys[3]!)).toEqual([2, 3]);
  expect(numbersOf('00000001aaac'.padEnd(32, '0'), '00000002'.padEnd(32, '0'))).toEqual([]);
  expect(numbersOf()).toEqual([]);
});
