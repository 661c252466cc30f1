import { describe } from 'vitest';
import type { AnyResource } from '../../../src/index.js';
import type { Criteria, SearchQuery, StringTest, ValueTest } from '../../../src/store.js';
import { below, oneOf, PROJECT, queryOf, randomResources, resourceOf } from '../../support/kit.js';
import { compositeResources } from '../../../src/testing/random-resources.js';
import { assertSearches, skewedResources } from '../../../src/testing/suites/random-searches.js';
import { by, match } from '../queries.js';
import { answerEverywhere, askEverywhere } from './ask-everywhere.js';

describe('any question about values of which nearly all resources have the same', () => {
  askEverywhere({
    make: (count, random) => [
      ...skewedResources(count, random),
      ...randomResources(random),
      ...compositeResources(random),
    ],
    count: 100,
    ask: (random) => queryOf('Observation', match('status', oneOf(['final', 'amended', 'x'], random)), { limit: 5 }),
    also: (store, current, random, runs) => assertSearches(store, PROJECT, current, random, 3 * runs),
  });
});

/** Codes with and without a system, references and URLs, some of them longer than a database has in its index. */
function manyValues(count: number, random: () => number): readonly AnyResource[] {
  return Array.from({ length: count }, (_, index) => [
    resourceOf('Observation', `o${index}`, {
      status: oneOf(['amended', 'final', 'final'], random),
      code: {
        coding: [{ code: `c${oneOf([0, below(40, random)], random)}`, system: oneOf(['urn:c', 'urn:d'], random) }],
      },
      subject: { reference: `Patient/p${below(50, random)}` },
    }),
    resourceOf('ValueSet', `v${index}`, {
      status: oneOf(['active', 'draft'], random),
      url: urlOf(below(50, random)),
    }),
  ]).flat();
}

function urlOf(value: number): string {
  return `http://a.example/${'x'.repeat(value % 4 === 0 ? 300 : 0)}${value}`;
}

const KINDS: readonly (readonly [type: string, parameter: string, status: string, (value: number) => ValueTest])[] = [
  ['Observation', 'code', 'final', (value) => ({ kind: 'token', code: `c${value}` })],
  ['Observation', 'code', 'final', (value) => ({ kind: 'token', code: `c${value}`, system: 'urn:c' })],
  ['Observation', 'subject', 'final', (value) => ({ kind: 'reference', types: ['Patient'], id: `p${value}` })],
  ['ValueSet', 'url', 'draft', (value) => ({ kind: 'uri', comparator: 'equals', value: urlOf(value) })],
];

/** One of `length` values, of which some exist. */
function oneOfMany(length: number, random: () => number): SearchQuery {
  const [type, parameter, status, testOf] = oneOf(KINDS, random);
  const of = Array.from({ length }, (_, value): Criteria => ({ kind: 'match', parameter, test: testOf(2 * value) }));
  const any: Criteria = { kind: 'or', of };
  const criteria: Criteria = {
    kind: 'and',
    of: [random() < 0.3 ? { kind: 'not', of: any } : any, match('status', status)],
  };
  return queryOf(type, criteria, { limit: 7, total: true, sort: [by('status'), by('_id', random() < 0.5)] });
}

describe('one of many values', () => {
  askEverywhere({ make: manyValues, count: 120, ask: (random) => oneOfMany(oneOf([3, 10, 10, 600], random), random) });
});

const FAMILIES = 500;
const named = (text: string): Criteria => {
  const test: StringTest = { kind: 'string', comparator: 'contains', text };
  return { kind: 'match', parameter: 'family', test };
};
const born: Criteria = {
  kind: 'match',
  parameter: 'birthdate',
  test: { kind: 'date', prefix: 'lt', low: Date.UTC(1950, 0, 20), high: Date.UTC(1950, 0, 21) },
};
const EITHER: Criteria = { kind: 'or', of: [named('na7'), { kind: 'and', of: [born, match('gender', 'male')] }] };
answerEverywhere(
  'a part of a string, as an alternative to another condition',
  Array.from({ length: 1_000 }, (_, index) =>
    resourceOf('Patient', `p${index}`, {
      gender: index % 2 === 0 ? 'male' : 'female',
      birthDate: new Date(Date.UTC(1950, 0, 1 + index)).toISOString().slice(0, 10),
      name: [{ family: `Anna${index % FAMILIES}` }],
    }),
  ),
  [
    [
      queryOf('Patient', EITHER, { sort: [by('birthdate', true)], limit: 5 }),
      { ids: ['p579', 'p578', 'p577', 'p576', 'p575'] },
    ],
    // Families 7 and 70 to 79, twice each, and the men of the first nineteen days but number 7.
    [queryOf('Patient', EITHER, { limit: 0, total: true }), { total: 22 + 10 }],
  ],
);
