import { type Criteria, R4 } from '../../src/store.js';
import { describe, expect, it } from 'vitest';
import { parseSearch, parseSort } from '../../src/search/parse/parse-search.js';
import { searchPairs } from '../../src/search/parse/search-pairs.js';
import { refusal } from './harness.js';

const token = (parameter: string, code: string): Criteria => ({
  kind: 'match',
  parameter,
  test: { kind: 'token', code },
});
const language = (code: string): Criteria => token('language', code);

describe('parseSearch', () => {
  it('treats repetition as and, commas as or', () => {
    expect(parseSearch(R4, 'Patient', 'language=FR,NL&language=EN')).toEqual({
      criteria: { kind: 'and', of: [{ kind: 'or', of: [language('FR'), language('NL')] }, language('EN')] },
    });
  });

  it('accepts query strings, URLSearchParams and objects', () => {
    const expected = {
      criteria: { kind: 'and', of: [token('gender', 'male'), language('EN'), language('FR')] },
      count: 5,
    };
    expect(parseSearch(R4, 'Patient', '?gender=male&language=EN&language=FR&_count=5')).toEqual(expected);
    const parameters = new URLSearchParams('gender=male&language=EN&language=FR&_count=5');
    expect(parseSearch(R4, 'Patient', parameters)).toEqual(expected);
    const object = { gender: 'male', language: ['EN', 'FR'], _count: '5', name: undefined };
    expect(parseSearch(R4, 'Patient', object)).toEqual(expected);
  });

  it('finds everything without conditions', () => {
    expect(parseSearch(R4, 'Patient', '')).toEqual({ criteria: { kind: 'all' } });
  });

  it('parses the parameters for the result', () => {
    const query = '_sort=-birthdate&_sort=family,_id&_count=20&_offset=40&_total=accurate&_summary=count';
    expect(parseSearch(R4, 'Patient', query)).toEqual({
      criteria: { kind: 'all' },
      sort: [
        { parameter: 'birthdate', descending: true },
        { parameter: 'family', descending: false },
        { parameter: '_id', descending: false },
      ],
      count: 20,
      offset: 40,
      total: 'accurate',
      summaryCount: true,
    });
    expect(parseSearch(R4, 'Patient', '_count=0&_summary=false')).toEqual({ criteria: { kind: 'all' }, count: 0 });
  });

  it('joins _filter and plain parameters by and', () => {
    expect(parseSearch(R4, 'Patient', { _filter: ['gender eq male', 'language eq EN'], active: 'true' })).toEqual({
      criteria: { kind: 'and', of: [token('gender', 'male'), language('EN'), token('active', 'true')] },
    });
  });

  it('ignores the parameters for the answer of the host', () => {
    expect(parseSearch(R4, 'Patient', 'gender=male&_format=json&_pretty=true&_format=xml')).toEqual({
      criteria: token('gender', 'male'),
    });
  });

  it.each([
    '_include=a',
    '_revinclude:iterate=a',
    '_elements=id',
    '_summary=text',
    '_contained=true',
    '_text=a',
    '_list=1',
  ])('%s is unsupported', (query) => {
    const { code, message } = refusal(() => parseSearch(R4, 'Patient', query));
    expect(code).toBe('unsupported');
    expect(message).toContain(query.split(/[=:]/, 1)[0]);
  });

  it.each([
    '_count=-1',
    '_count=ten',
    '_count=1.5',
    '_count=1&_count=2',
    '_offset=',
    '_total=some',
    '_summary=none',
    '_sort=',
    '_sort=family,,given',
    '_sort=famly',
    'famly=a',
    '__proto__=a',
    '=a',
    '_filter=',
    'family=',
  ])('%s is invalid', (query) => {
    expect(refusal(() => parseSearch(R4, 'Patient', query)).code).toBe('invalid');
  });

  it('bounds the comparisons of a whole search', () => {
    const values = Array(1_000).fill('a').join();
    const query = Array(11).fill(`gender=${values}`).join('&');
    expect(refusal(() => parseSearch(R4, 'Patient', query))).toMatchObject({
      code: 'too-costly',
      details: { max: 10_000, value: 11_000 },
    });
  });

  it.each([
    ['a text', many(10_000), 'invalid'],
    ['parameters', new URLSearchParams(many(10_000)), 'invalid'],
    ['a text of more parameters', many(30_000), 'too-costly'],
    ['more parameters', new URLSearchParams(many(30_000)), 'too-costly'],
  ])('reads at most 10,000 parameters: %s', (_, query, code) => {
    expect(refusal(() => parseSearch(R4, 'Patient', query)).code).toBe(code);
    if (code === 'invalid') expect(searchPairs(query)).toHaveLength(10_000);
    else expect(refusal(() => searchPairs(query))).toMatchObject({ code, details: { max: 10_000 } });
  });
});

function many(count: number): string {
  return Array(count).fill('unknown=1').join('&');
}

describe('parseSort', () => {
  it('parses keys in order, a minus descends', () => {
    expect(parseSort(R4, 'Observation', ['-date,code', '_lastUpdated'])).toEqual([
      { parameter: 'date', descending: true },
      { parameter: 'code', descending: false },
      { parameter: '_lastUpdated', descending: false },
    ]);
  });

  it('keeps the first of repeated keys', () => {
    expect(parseSort(R4, 'Patient', ['family,-family,gender'])).toEqual([
      { parameter: 'family', descending: false },
      { parameter: 'gender', descending: false },
    ]);
  });

  it.each([
    ['Patient', '_score', 'unsupported'],
    ['Location', 'near', 'unsupported'],
    ['Observation', 'code-value-quantity', 'invalid'],
    ['Patient', 'family:exact', 'invalid'],
    ['Patient', '-', 'invalid'],
    ['Patient', '--family', 'invalid'],
    ['Patient', 'constructor', 'invalid'],
  ] as const)('%s by %s is %s', (type, text, code) => {
    expect(refusal(() => parseSort(R4, type, [text])).code).toBe(code);
  });

  it('does not process millions of keys', () => {
    expect(parseSort(R4, 'Patient', [Array(1_000_000).fill('family').join()])).toEqual([
      { parameter: 'family', descending: false },
    ]);
  });
});
