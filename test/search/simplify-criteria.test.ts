import { type Criteria, R4 } from '../../src/store.js';
import { createRandom, oneOf, randomResources } from '../support/kit.js';
import { describe, expect, test } from 'vitest';
import { and, not, or, simplifyCriteria } from '../../src/search/criteria/criteria.js';
import { parseSearch } from '../../src/search/parse/parse-search.js';
import { RandomQueries } from '../../src/testing/random-queries.js';
import { ReferenceSearch } from '../../src/testing/reference-search.js';
import { cases, SEED } from '../support/chance.js';

function token(parameter: string, code: string): Criteria {
  return { kind: 'match', parameter, test: { kind: 'token', code } };
}

const MALE = token('gender', 'male');
const ACTIVE = token('active', 'true');

describe('equal conditions are merged', () => {
  test('a parameter repeated 400 times', () => {
    const { criteria } = parseSearch(R4, 'Patient', Array.from({ length: 400 }, () => 'gender=male').join('&'));
    expect(simplifyCriteria(criteria)).toEqual(MALE);
  });

  test.each(['and', 'or'])('a _filter that repeats a comparison by "%s"', (word) => {
    const text = Array.from({ length: 400 }, () => 'gender eq male').join(` ${word} `);
    expect(simplifyCriteria(parseSearch(R4, 'Patient', { _filter: text }).criteria)).toEqual(MALE);
  });

  test('with parts in any order', () => {
    const pairs = [or([MALE, ACTIVE]), or([ACTIVE, MALE]), or([ACTIVE, MALE, ACTIVE])];
    expect(simplifyCriteria({ kind: 'and', of: pairs })).toEqual(pairs[0]);
  });

  test('inside chains, _has and negations, and between these', () => {
    const twice: Criteria = { kind: 'and', of: [MALE, MALE] };
    const chain = (of: Criteria): Criteria => ({ kind: 'chain', parameter: 'subject', type: 'Patient', of });
    const has = (of: Criteria): Criteria => ({ kind: 'has', parameter: 'link', type: 'Patient', of });
    expect(simplifyCriteria(and([chain(twice), chain(MALE), not(has(twice)), not(has(MALE))]))).toEqual({
      kind: 'and',
      of: [chain(MALE), { kind: 'not', of: has(MALE) }],
    });
  });

  test('conditions that differ in anything are kept', () => {
    const criteria = and([MALE, token('gender', 'female'), token('active', 'male'), not(MALE)]);
    expect(simplifyCriteria(criteria)).toBe(criteria);
  });
});

test('a condition that several alternatives share is in the criteria once', () => {
  const shared = or([token('language', 'de'), token('language', 'fr')]);
  const [a, b, c] = ['a', 'b', 'c'].map((code) => token('_tag', code)) as [Criteria, Criteria, Criteria];
  expect(simplifyCriteria(or([and([a, shared]), MALE, and([b, shared]), and([shared, c, ACTIVE])]))).toEqual(
    or([MALE, and([shared, or([a, b, and([c, ACTIVE])])])]),
  );
});

test('criteria without repetition keep their identity, so explanations find their rules', () => {
  const inner = or([MALE, ACTIVE]);
  const { of } = simplifyCriteria({ kind: 'and', of: [inner, MALE, MALE] }) as { readonly of: readonly Criteria[] };
  expect(of[0]).toBe(inner);
  expect(of).toHaveLength(2);
});

test('shared nodes are read once: a hundred levels of two equal branches are one', () => {
  let criteria: Criteria = MALE;
  for (let level = 0; level < 100; level++)
    criteria = { kind: level % 2 === 0 ? 'and' : 'or', of: [criteria, criteria] };
  expect(simplifyCriteria(criteria)).toEqual(MALE);
});

test('criteria nested deeper than any parser allows are refused', () => {
  let criteria: Criteria = MALE;
  for (let level = 0; level < 5_000; level++) criteria = { kind: 'not', of: criteria };
  expect(() => simplifyCriteria(criteria)).toThrow(expect.objectContaining({ code: 'too-costly' }) as Error);
});

test(`simplified criteria find the same on random resources (seed ${SEED})`, () => {
  const random = createRandom(SEED);
  const resources = randomResources(random).map((resource) => ({
    ...resource,
    meta: { ...resource.meta, lastUpdated: '2024-01-01T00:00:00.000Z' },
  }));
  const data = new ReferenceSearch(R4, resources);
  const queries = new RandomQueries('clinic', data, random);
  let shorter = 0;
  for (let n = 0; n < cases(400, 800); n++) {
    const { criteria: plain, type } = queries.search();
    const repeated = repeat(plain, random);
    const simplified = simplifyCriteria(repeated);
    if (JSON.stringify(simplified).length < JSON.stringify(repeated).length) shorter++;
    const query = { project: 'clinic', type };
    const expected = data.search({ ...query, criteria: plain });
    expect(data.search({ ...query, criteria: repeated }), JSON.stringify(plain)).toEqual(expected);
    expect(data.search({ ...query, criteria: simplified }), JSON.stringify(plain)).toEqual(expected);
  }
  expect(shorter).toBeGreaterThan(100);
});

/** The same criteria with some parts said several times. */
function repeat(criteria: Criteria, random: () => number): Criteria {
  switch (criteria.kind) {
    case 'and':
    case 'or': {
      const of = criteria.of.map((one) => repeat(one, random));
      const again = of.length === 0 ? [] : [oneOf(of, random), structuredClone(oneOf(of, random))];
      return { kind: criteria.kind, of: [...of, ...again] };
    }
    case 'not':
    case 'chain':
    case 'has':
      return { ...criteria, of: repeat(criteria.of, random) };
    default:
      return random() < 0.3
        ? { kind: oneOf(['and', 'or'] as const, random), of: [criteria, structuredClone(criteria)] }
        : criteria;
  }
}
