import { expect, test } from 'vitest';
import { SortedKeys } from '../../../src/stores/postgres/skip/format/sorted-keys.js';
import { KeySet } from '../../../src/stores/sql/skip/key-set.js';

const bytes = (...keys: readonly string[]): Buffer => Buffer.from(keys.join(''), 'hex');

test('positions of keys are found, also of keys with the same beginning, and of no others', () => {
  const keys = ['0'.repeat(32), '00000001aaaa'.padEnd(32, '0'), '00000001aaab'.padEnd(32, '0')];
  keys.push('00000001aaab'.padEnd(32, '1'), 'f'.repeat(32));
  const sorted = new SortedKeys([bytes(...keys.slice(0, 2)), bytes(...keys.slice(2))]);
  const placesOf = (...found: readonly string[]): readonly number[] => {
    const set = new KeySet(0, keys.length);
    sorted.addTo(set, bytes(...found));
    return set.keys();
  };
  expect(placesOf(keys[4]!, keys[0]!)).toEqual([0, 4]);
  expect(placesOf(keys[1]!)).toEqual([1]);
  expect(placesOf(keys[3]!)).toEqual([3]);
  expect(placesOf('00000001aaab'.padEnd(32, '2'), '00000002'.padEnd(32, '0'))).toEqual([]);
  expect(placesOf()).toEqual([]);
  const others = new SortedKeys([bytes(keys[1]!, '00000001aaab'.padEnd(31, '0') + '1', keys[3]!, keys[4]!)]);
  expect([...sorted.placesIn(others)]).toEqual([-1, 0, -1, 2, 3]);
  expect([...others.placesIn(sorted)]).toEqual([1, -1, 3, 4]);
});
