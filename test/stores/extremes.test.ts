import { expect, test } from 'vitest';
import type { IndexEntry } from '../../src/store.js';
import { LARGEST, markEntries, SEVERAL, SMALLEST } from '../../src/stores/sql/extremes.js';

const VALUES = 10_000;

/** Codes of one parameter, each twice, and numbers of another. */
const ENTRIES = Array.from({ length: VALUES }, (_, n): IndexEntry[] => [
  { parameter: 'code', group: 0, value: { kind: 'token', code: `c${n >> 1}` } },
  { parameter: 'value', group: 0, value: { kind: 'number', low: (n * 7) % VALUES, high: VALUES } },
]).flat();

test('each parameter has one smallest and one largest value, and repeated codes are there once', () => {
  const { marks } = markEntries(ENTRIES);
  const those = (parameter: string, bit: number): number[] =>
    [...marks.keys()].filter((n) => ENTRIES[n]!.parameter === parameter && (marks[n]! & bit) !== 0);
  expect(those('value', SEVERAL)).toHaveLength(VALUES);
  expect(those('code', SEVERAL)).toHaveLength(VALUES);
  expect(those('code', 8)).toHaveLength(VALUES / 2);
  for (const parameter of ['code', 'value']) {
    expect(those(parameter, SMALLEST)).toHaveLength(1);
    expect(those(parameter, LARGEST)).toHaveLength(1);
  }
  expect(ENTRIES[those('value', LARGEST)[0]!]!.value).toMatchObject({ low: VALUES - 1 });
});
