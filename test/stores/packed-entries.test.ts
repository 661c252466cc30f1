import { expect, test } from 'vitest';
import { indexEntries, type IndexEntry, R4, type Write } from '../../src/store.js';
import { createRandom, randomResources } from '../support/kit.js';
import { markEntries } from '../../src/stores/sql/extremes.js';
import { EntryPacker, EntryReader } from '../../src/stores/sqlite/threads/packed-entries.js';
import { isLarge, partOf } from '../../src/stores/sqlite/threads/text-writes.js';
import { cases, SEED } from '../support/chance.js';

test(`index entries arrive in a thread unchanged (seed ${SEED})`, () => {
  const random = createRandom(SEED);
  for (let left = cases(20, 2); left > 0; left--) {
    assertArrive(randomResources(random).map((resource) => indexEntries(R4, resource)));
  }
});

test('values of each kind arrive', () => {
  const values: readonly IndexEntry['value'][] = [
    { kind: 'token' },
    { kind: 'token', code: '' },
    { kind: 'token', system: 'http://a', code: 'x' },
    { kind: 'string', text: 'É', folded: 'e' },
    { kind: 'date', low: -62_135_596_800_000, high: 253_402_300_800_000 },
    { kind: 'number', low: -1e300, high: 0.1 },
    { kind: 'quantity', low: 1, high: 1 },
    { kind: 'quantity', low: 1, high: 2, system: 'http://u', code: 'kg', unit: 'Kilo' },
    { kind: 'reference', type: 'Patient', id: 'p' },
    { kind: 'reference', url: 'urn:x' },
    { kind: 'uri', value: 'http://v' },
  ];
  assertArrive([[], values.map((value, group) => ({ parameter: `p${group % 3}`, group, value })), []]);
});

test('a resource with entries that the thread computes has its position among the others', () => {
  const packer = new EntryPacker();
  const marked = markEntries(indexEntries(R4, { resourceType: 'Patient', ...{ active: true } }));
  packer.add(marked);
  packer.skip();
  packer.add(marked);
  const reader = new EntryReader(structuredClone(packer.take()));
  expect(Array.from({ length: 3 }, () => reader.read())).toEqual([marked, undefined, marked]);
});

/** Values that are absent may arrive as undefined, and texts of tokens stay behind. */
test('the thread computes the entries of a resource with long texts, at any depth and with any number of equal texts', () => {
  const putOf = (names: number, length: number): Write => {
    const name = Array.from({ length: names }, (_, n) => ({ family: `${n}`.padEnd(length, 'x') }));
    const resource = { resourceType: 'Patient', id: 'a', name };
    return { kind: 'put', key: { project: 'p', type: 'Patient', id: 'a' }, resource };
  };
  expect([putOf(1, 200_000), putOf(10, 20_000)].map(isLarge)).toEqual([true, true]);
  expect([putOf(1, 100_000), putOf(10, 10_000)].map(isLarge)).toEqual([false, false]);
  const commit = { now: 0, load: false };
  const part = partOf(R4, [putOf(10, 20_000), putOf(1, 10)], 0, commit, () => false);
  const reader = new EntryReader(part.entries);
  expect(reader.read()).toBeUndefined();
  expect(reader.read()?.entries.find(({ parameter }) => parameter === 'family')?.value).toMatchObject({
    text: '0xxxxxxxxx',
  });
});

function assertArrive(resources: readonly (readonly IndexEntry[])[]): void {
  const marked = resources.map(markEntries);
  const packer = new EntryPacker();
  for (const one of marked) packer.add(one);
  const reader = new EntryReader(structuredClone(packer.take()));
  for (const { entries, marks } of marked) {
    const indexed = entries.map(({ value, ...rest }) => ({ ...rest, value: { ...value, texts: undefined } }));
    expect(reader.read()).toEqual({ entries: indexed, marks });
  }
}
