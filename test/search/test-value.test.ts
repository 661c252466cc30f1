import { describe, expect, test } from 'vitest';
import type { IndexValue, ValueTest } from '../../src/store.js';
import { narrowerTypes, testValue } from '../../src/search/evaluate/test-value.js';

type Prefix = Extract<ValueTest, { kind: 'number' }>['prefix'];

const number = (low: number, high = low): IndexValue => ({ kind: 'number', low, high });
const date = (low: number, high: number): IndexValue => ({ kind: 'date', low, high });
const string = (text: string, folded = text.toLowerCase()): IndexValue => ({ kind: 'string', text, folded });
const uri = (value: string): IndexValue => ({ kind: 'uri', value });

/** Which of the values pass. */
const passing = (asked: ValueTest, values: readonly IndexValue[]): readonly boolean[] =>
  values.map((value) => testValue(asked, value));

test('a value of another kind never passes', () => {
  const values: readonly IndexValue[] = [
    { kind: 'token', code: 'x' },
    string('x'),
    date(1, 2),
    number(1),
    { kind: 'quantity', low: 1, high: 1 },
    { kind: 'reference', type: 'Patient', id: 'x' },
    uri('x'),
  ];
  const tests: readonly ValueTest[] = [
    { kind: 'token', code: 'y', negated: true },
    { kind: 'string', comparator: 'not-equals', text: 'y' },
    { kind: 'date', prefix: 'ne', low: 7, high: 8 },
    { kind: 'number', prefix: 'ne', low: 7, high: 7 },
    { kind: 'quantity', prefix: 'ne', low: 7, high: 7 },
    { kind: 'reference', id: 'y', negated: true },
    { kind: 'uri', comparator: 'not-equals', value: 'y' },
  ];
  for (const [index, asked] of tests.entries()) {
    expect(passing(asked, values), asked.kind).toEqual(values.map((_, at) => at === index));
  }
});

describe('a date', () => {
  // Searched for is [10, 20).
  const STORED = {
    before: [1, 5],
    'up to the begin': [5, 10],
    'over the begin': [5, 15],
    'up to the end': [5, 20],
    same: [10, 20],
    inside: [12, 15],
    around: [5, 25],
    'from the begin': [10, 25],
    'over the end': [15, 25],
    'from the end': [20, 25],
    after: [22, 25],
  } as const;
  const INSIDE = ['same', 'inside'];
  const OVERLAPPING = ['over the begin', 'up to the end', 'same', 'inside', 'around', 'from the begin', 'over the end'];
  const BEGINS_BEFORE = ['before', 'up to the begin', 'over the begin', 'up to the end', 'around'];
  const ENDS_AFTER = ['around', 'from the begin', 'over the end', 'from the end', 'after'];

  test.each<[Prefix, readonly string[]]>([
    ['eq', INSIDE],
    ['ne', Object.keys(STORED).filter((name) => !INSIDE.includes(name))],
    ['gt', ENDS_AFTER],
    ['lt', BEGINS_BEFORE],
    ['ge', Object.keys(STORED).filter((name) => INSIDE.includes(name) || ENDS_AFTER.includes(name))],
    ['le', Object.keys(STORED).filter((name) => INSIDE.includes(name) || BEGINS_BEFORE.includes(name))],
    ['sa', ['from the end', 'after']],
    ['eb', ['before', 'up to the begin']],
    ['ap', OVERLAPPING],
    ['po', OVERLAPPING],
  ])('%s: %j', (prefix, expected) => {
    const asked: ValueTest = { kind: 'date', prefix, low: 10, high: 20 };
    const found = Object.entries(STORED).filter(([, [low, high]]) => testValue(asked, date(low, high)));
    expect(found.map(([name]) => name)).toEqual(expected);
  });
});

describe('a number', () => {
  const STORED = [number(1), number(10), number(15), number(20), number(30), number(5, 10), number(10, 15), number(20, 25), number(1, 30)]; // prettier-ignore

  test.each<[Prefix, readonly number[], readonly number[]]>([
    // The positions that pass [10, 20), and those that pass exactly 10.
    ['eq', [1, 2, 6], [1]],
    ['ne', [0, 3, 4, 5, 7, 8], [0, 2, 3, 4, 5, 6, 7, 8]],
    ['gt', [4, 7, 8], [2, 3, 4, 6, 7, 8]],
    ['lt', [0, 5, 8], [0, 5, 8]],
    ['ge', [3, 4, 7, 8], [1, 2, 3, 4, 5, 6, 7, 8]],
    ['le', [0, 1, 5, 6, 8], [0, 1, 5, 6, 8]],
    ['sa', [4], [2, 3, 4, 7]],
    ['eb', [0], [0]],
    ['ap', [1, 2, 3, 5, 6, 7, 8], [1, 5, 6, 8]],
    ['po', [1, 2, 3, 5, 6, 7, 8], [1, 5, 6, 8]],
  ])('%s: %j, and of an exact number %j', (prefix, range, exact) => {
    const positions = (low: number, high: number): readonly number[] =>
      passing({ kind: 'number', prefix, low, high }, STORED).flatMap((passes, at) => (passes ? [at] : []));
    expect(positions(10, 20)).toEqual(range);
    expect(positions(10, 10)).toEqual(exact);
  });
});

test('a quantity must have the searched unit: a code of the system, or the unit in words without a system', () => {
  const exact = { kind: 'quantity', prefix: 'eq', low: 1, high: 1 } as const;
  const milligram: IndexValue = { kind: 'quantity', low: 1, high: 1, system: 'ucum', code: 'mg', unit: 'milligram' };
  const bare: IndexValue = { kind: 'quantity', low: 1, high: 1 };
  const values = [milligram, bare];
  expect(passing(exact, values)).toEqual([true, true]);
  expect(passing({ ...exact, low: 2, high: 2 }, values)).toEqual([false, false]);
  expect(passing({ ...exact, code: 'mg' }, values)).toEqual([true, false]);
  expect(passing({ ...exact, code: 'milligram' }, values)).toEqual([true, false]);
  expect(passing({ ...exact, code: 'g' }, values)).toEqual([false, false]);
  expect(passing({ ...exact, system: 'ucum' }, values)).toEqual([true, false]);
  expect(passing({ ...exact, system: 'ucum', code: 'mg' }, values)).toEqual([true, false]);
  expect(passing({ ...exact, system: 'ucum', code: 'milligram' }, values)).toEqual([false, false]);
  expect(passing({ ...exact, system: 'other', code: 'mg' }, values)).toEqual([false, false]);
});

test('a token must have the searched code and system', () => {
  const token = (code?: string, system?: string): IndexValue => ({
    kind: 'token',
    ...(code === undefined ? {} : { code }),
    ...(system === undefined ? {} : { system }),
  });
  const values = [token('a', 's'), token('a'), token('b', 's'), token(undefined, 's')];
  const asked = (more: object): readonly boolean[] => passing({ kind: 'token', ...more }, values);
  expect(asked({ code: 'a' })).toEqual([true, true, false, false]);
  expect(asked({ code: 'a', system: 's' })).toEqual([true, false, false, false]);
  expect(asked({ code: 'a', noSystem: true })).toEqual([false, true, false, false]);
  expect(asked({ system: 's' })).toEqual([true, false, true, true]);
  expect(asked({ code: 'A' })).toEqual([false, false, false, false]);
  expect(asked({ code: 'A', folded: 'a' })).toEqual([true, true, false, false]);
  expect(asked({ code: 'a', system: 's', negated: true })).toEqual([false, true, true, true]);
  expect(asked({ code: 'a', negated: false })).toEqual([true, true, false, false]);
});

test('a MIME type matches its narrower types', () => {
  const values = ['image', 'image/png', 'image/png;q=1', 'image/png ;q=1', 'images/png', 'image/pngx'].map(
    (code): IndexValue => ({ kind: 'token', code }),
  );
  const below = (code: string): readonly boolean[] => passing({ kind: 'token', code, below: true }, values);
  expect(below('image')).toEqual([true, true, true, true, false, true]);
  expect(below('image/png')).toEqual([false, true, true, true, false, false]);
  expect(passing({ kind: 'token', code: 'image' }, values)).toEqual([true, false, false, false, false, false]);
  expect(testValue({ kind: 'token', code: 'image', below: true }, { kind: 'token', system: 's' })).toBe(false);
  expect([narrowerTypes('image'), narrowerTypes('image/png')]).toEqual([['image/'], ['image/png;', 'image/png ;']]);
});

test('a text is part of one of the texts of a token, in any case', () => {
  const token: IndexValue = { kind: 'token', code: 'x', texts: ['Blood Pressure', 'BP'] };
  const asked = (text: string, value: IndexValue = token): boolean => testValue({ kind: 'text', text }, value);
  expect([asked('pressure'), asked('bp'), asked('pulse')]).toEqual([true, true, false]);
  expect(asked('x', { kind: 'token', code: 'x' })).toBe(false);
  expect(asked('x', string('x'))).toBe(false);
});

test('a string compares in folded form, except an exact string', () => {
  const values = [string('Ann'), string('Anna'), string('Joann'), string('Bob')];
  const asked = (comparator: Extract<ValueTest, { kind: 'string' }>['comparator'], text: string): readonly boolean[] =>
    passing({ kind: 'string', comparator, text }, values);
  expect(asked('starts-with', 'ann')).toEqual([true, true, false, false]);
  expect(asked('ends-with', 'ann')).toEqual([true, false, true, false]);
  expect(asked('contains', 'ann')).toEqual([true, true, true, false]);
  expect(asked('equals', 'ann')).toEqual([true, false, false, false]);
  expect(asked('not-equals', 'ann')).toEqual([false, true, true, true]);
  expect(asked('exact', 'Ann')).toEqual([true, false, false, false]);
  expect(asked('exact', 'ann')).toEqual([false, false, false, false]);
});

test('a reference must have the searched target', () => {
  const values: readonly IndexValue[] = [
    { kind: 'reference', type: 'Patient', id: 'a' },
    { kind: 'reference', type: 'Group', id: 'a' },
    { kind: 'reference', url: 'http://x/a|1' },
    { kind: 'reference', url: 'http://x/a' },
  ];
  const asked = (more: object): readonly boolean[] => passing({ kind: 'reference', ...more }, values);
  expect(asked({ id: 'a' })).toEqual([true, true, false, false]);
  expect(asked({ id: 'b' })).toEqual([false, false, false, false]);
  expect(asked({ id: 'a', types: ['Patient', 'Device'] })).toEqual([true, false, false, false]);
  expect(asked({ types: ['Group'] })).toEqual([false, true, false, false]);
  expect(asked({ url: 'http://x/a' })).toEqual([false, false, true, true]);
  expect(asked({ url: 'http://x/a|1' })).toEqual([false, false, true, false]);
  expect(asked({ url: 'http://x/a|' })).toEqual([false, false, false, false]);
  expect(asked({ id: 'a', types: ['Patient'], negated: true })).toEqual([false, true, true, true]);
  expect(asked({ id: 'a', negated: true })).toEqual([false, false, true, true]);
});

test('a URI compares as a whole, by its version, its path or its text', () => {
  const values = ['http://x/a', 'http://x/a/', 'http://x/a/b', 'http://x/ab', 'http://x', 'http://x/a|1'].map(uri);
  const asked = (comparator: Extract<ValueTest, { kind: 'uri' }>['comparator'], value: string): readonly number[] =>
    passing({ kind: 'uri', comparator, value }, values).flatMap((passes, at) => (passes ? [at] : []));
  expect(asked('equals', 'http://x/a')).toEqual([0]);
  expect(asked('not-equals', 'http://x/a')).toEqual([1, 2, 3, 4, 5]);
  expect(asked('canonical', 'http://x/a')).toEqual([0, 5]);
  expect(asked('not-canonical', 'http://x/a')).toEqual([1, 2, 3, 4]);
  expect(asked('canonical', 'http://x/a|1')).toEqual([5]);
  expect(asked('below', 'http://x/a')).toEqual([0, 1, 2]);
  expect(asked('below', 'http://x/a/')).toEqual([1, 2]);
  expect(asked('above', 'http://x/a/b/c')).toEqual([0, 1, 2, 4]);
  expect(asked('starts-with', 'http://x/a')).toEqual([0, 1, 2, 3, 5]);
  expect(asked('ends-with', 'b')).toEqual([2, 3]);
  expect(asked('contains', '/a')).toEqual([0, 1, 2, 3, 5]);
});
