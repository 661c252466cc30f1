import {
  compareSubjects,
  compareToPosition,
  type IndexValue,
  positionOf,
  R4,
  type SearchSubject,
  sortValue,
} from '../../src/store.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseSort } from '../../src/search/parse/parse-search.js';
import { subject, text } from './harness.js';

const ids = (subjects: readonly SearchSubject[]): readonly string[] => subjects.map(({ id }) => id);
const date = (low: number, high = low + 1): IndexValue => ({ kind: 'date', low, high });

describe('compareSubjects', () => {
  const people = [
    subject('Patient/d', { family: [text('Éclair')], birthdate: [date(3)] }),
    subject('Patient/c', { family: [text('smith'), text('Adams')], birthdate: [date(1)] }),
    subject('Patient/b', { birthdate: [date(2)] }),
    subject('Patient/a', { family: [text('Smith')], birthdate: [date(1, 9)] }),
    subject('Patient/B', {}),
  ];

  it.each([
    [[], ['B', 'a', 'b', 'c', 'd']],
    [['_id'], ['B', 'a', 'b', 'c', 'd']],
    [['-_id'], ['d', 'c', 'b', 'a', 'B']],
    // The smallest of several values counts, without accents and case; absent values come last.
    [['family'], ['c', 'd', 'a', 'B', 'b']],
    // The largest value counts; absent values still come last.
    [['-family'], ['a', 'c', 'd', 'B', 'b']],
    [['birthdate'], ['a', 'c', 'b', 'd', 'B']],
    [['-birthdate'], ['d', 'b', 'a', 'c', 'B']],
    [['birthdate,-family'], ['a', 'c', 'b', 'd', 'B']],
    [
      ['birthdate', 'family'],
      ['c', 'a', 'b', 'd', 'B'],
    ],
  ])('by %j', (texts, expected) => {
    expect(ids(people.toSorted(compareSubjects(parseSort(R4, 'Patient', texts))))).toEqual(expected);
  });

  it('orders by the time of the last change', () => {
    const old = subject('Patient/a-old', {}, [], 1);
    const fresh = subject('Patient/b-fresh', {}, [], 2);
    const by = (key: string): readonly string[] =>
      ids([old, fresh].toSorted(compareSubjects(parseSort(R4, 'Patient', [key]))));
    expect(by('-_lastUpdated')).toEqual(['b-fresh', 'a-old']);
    expect(by('_lastUpdated')).toEqual(['a-old', 'b-fresh']);
  });

  it('is a total order', () => {
    const value = fc.oneof(
      fc.integer({ min: 0, max: 3 }).map((low) => date(low)),
      fc.constantFrom('a', 'B', 'é').map(text),
    );
    const some = fc.tuple(fc.constantFrom('1', '2', '3', '4'), fc.array(value, { maxLength: 3 })).map(([id, values]) =>
      subject(`Patient/${id}`, {
        birthdate: values.filter(({ kind }) => kind === 'date'),
        family: values.filter(({ kind }) => kind === 'string'),
      }),
    );
    const sort = fc
      .constantFrom('birthdate', '-birthdate', 'family,-birthdate', '-family')
      .map((key) => parseSort(R4, 'Patient', [key]));
    fc.assert(
      fc.property(sort, some, some, some, (keys, a, b, c) => {
        const compare = compareSubjects(keys);
        expect(Math.sign(compare(a, b)) + Math.sign(compare(b, a))).toBe(0);
        if (compare(a, b) <= 0 && compare(b, c) <= 0) expect(compare(a, c)).toBeLessThanOrEqual(0);
      }),
    );
  });
});

describe('compareToPosition', () => {
  const was = subject('Patient/b', { birthdate: [date(2)] });

  it.each([['_id'], ['_id,birthdate'], ['-_id,-birthdate,family']])(
    'by %s finds a resource at its position, whatever its other values are now',
    (text) => {
      const sort = parseSort(R4, 'Patient', [text]);
      const compare = compareToPosition(sort, positionOf(was, sort));
      for (const birthdate of [[], [date(1)], [date(2)], [date(3)]]) {
        expect(compare(subject('Patient/b', { birthdate }))).toBe(0);
      }
      const descending = text.startsWith('-');
      expect(Math.sign(compare(subject('Patient/a')))).toBe(descending ? 1 : -1);
      expect(Math.sign(compare(subject('Patient/c')))).toBe(descending ? -1 : 1);
    },
  );

  it('agrees with compareSubjects for every two subjects and sort', () => {
    const some = fc
      .tuple(fc.constantFrom('1', '2', '3', '4'), fc.option(fc.integer({ min: 0, max: 3 })))
      .map(([id, low]) => subject(`Patient/${id}`, low === null ? {} : { birthdate: [date(low)] }));
    const key = fc.constantFrom('birthdate', '-birthdate', '_id', '-_id', '-birthdate,_id', '-_id,birthdate', 'family');
    fc.assert(
      fc.property(key, some, some, (text, one, other) => {
        // Two states of one resource are not two resources.
        fc.pre(one.id !== other.id);
        const sort = parseSort(R4, 'Patient', [text]);
        const order = compareToPosition(sort, positionOf(other, sort))(one);
        expect(Math.sign(order)).toBe(Math.sign(compareSubjects(sort)(one, other)));
      }),
    );
  });
});

describe('sortValue', () => {
  const ascending = { parameter: 'p', descending: false };

  it.each<[IndexValue, string | number | undefined]>([
    [text("Ünal-O'Hara"), "unal-o'hara"],
    [date(5, 9), 5],
    [{ kind: 'number', low: 1, high: 2 }, 1],
    [{ kind: 'quantity', low: 1, high: 2, code: 'kg' }, 1],
    [{ kind: 'token', system: 'z', code: 'a' }, 'a'],
    [{ kind: 'token', texts: ['only text'] }, undefined],
    [{ kind: 'reference', type: 'Patient', id: '1' }, 'Patient/1'],
    [{ kind: 'reference', url: 'http://x' }, 'http://x'],
    [{ kind: 'uri', value: 'http://x' }, 'http://x'],
  ])('of %j is %j', (value, expected) => {
    expect(sortValue(subject('Patient/1', { p: [value] }), ascending)).toBe(expected);
  });

  it('of several values is the smallest if ascending and the largest if descending, at any index', () => {
    for (const order of [
      [1, 2, 3],
      [2, 3, 1],
      [3, 1, 2],
      [3, 2, 1],
    ]) {
      const several = subject('Patient/1', {
        p: [{ kind: 'token', texts: ['no order'] }, ...order.map((low) => date(low))],
      });
      expect(sortValue(several, ascending)).toBe(1);
      expect(sortValue(several, { ...ascending, descending: true })).toBe(3);
    }
  });

  it('of the id and of the time of the last change', () => {
    const changed = subject('Patient/1', {}, [], 7);
    expect(sortValue(changed, { ...ascending, parameter: '_id' })).toBe('1');
    expect(sortValue(changed, { ...ascending, parameter: '_lastUpdated' })).toBe(7);
  });
});
