import { type Criteria, R4 } from '../../src/store.js';
import { describe, expect, test } from 'vitest';
import { assertAffordable, criteriaCost, MAX_SEARCH_COST } from '../../src/search/parse/parse-context.js';
import { parseSearch } from '../../src/search/parse/parse-search.js';

function costOf(type: string, search: string): number {
  return criteriaCost(parseSearch(R4, type, search).criteria);
}

describe('the cost of criteria', () => {
  test.each([
    ['Patient', '', 0],
    ['Patient', '_id=a,b,c', 1],
    ['Patient', '_lastUpdated=gt2020', 1],
    ['Patient', 'gender=male', 1],
    ['Patient', 'gender:not=male&birthdate=gt2000', 2],
    ['Patient', 'organization:missing=true', 3],
    ['Observation', 'code:text=sugar', 10],
    ['Observation', 'code-value-quantity=a$5', 2],
    ['Observation', 'subject:Patient.gender=male', 3],
    ['Observation', 'subject:Patient.organization.name=x', 5],
    ['Patient', '_has:Observation:subject:status=final', 5],
    ['Observation', 'subject._id=x', 4 * 0.6 + 1 + 0.4],
    ['Observation', `code=${Array.from({ length: 501 }, (_, n) => n).join()}`, 2],
    ['Patient', `family=${Array.from({ length: 51 }, (_, n) => 2000 + n).join()}`, 2],
    ['Observation', `date=${Array.from({ length: 51 }, (_, n) => 2000 + n).join()}`, 13.5],
  ])('%s?%s', (type, search, cost) => {
    expect(costOf(type, search)).toBeCloseTo(cost);
  });

  test('parts that are used in several places count in each, and are read once', () => {
    let criteria: Criteria = { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'male' } };
    for (let level = 0; level < 60; level++) {
      criteria = { kind: 'and', of: [criteria, { kind: 'not', of: criteria }, criteria] };
    }
    expect(criteriaCost(criteria)).toBeCloseTo(3 ** 60, -25);
    expect(() => assertAffordable({ criteria })).toThrow(/At most 64 look-ups per resource in one search/);
  });
});

describe('the limit', () => {
  test('accepts lists of a thousand values', () => {
    const thousand = Array.from({ length: 1_000 }, (_, n) => `v${n}`).join();
    expect(costOf('Observation', `code=${thousand}&subject=${thousand}`)).toBeLessThan(MAX_SEARCH_COST);
  });

  test('accepts two hundred dates, numbers or quantities, and refuses thousands', () => {
    const days = (count: number): string =>
      Array.from({ length: count }, (_, n) => new Date(n * 86_400_000).toISOString().slice(0, 10)).join();
    expect(costOf('Observation', `date=${days(200)}`)).toBeLessThan(MAX_SEARCH_COST);
    const { criteria } = parseSearch(R4, 'Observation', `date=${days(300)}`);
    expect(() => assertAffordable({ criteria })).toThrow(/At most 64 look-ups per resource in one search/);
    const urls = Array.from({ length: 1_000 }, (_, n) => `urn:${n}`).join();
    expect(costOf('ValueSet', `url=${urls}`)).toBeLessThan(4);
  });

  test('is named in the error, with the value and how to avoid it', () => {
    const search = Array.from({ length: 65 }, (_, n) => `gender:not=x${n}`).join('&');
    const { criteria } = parseSearch(R4, 'Patient', search);
    expect(() => assertAffordable({ criteria })).toThrow(
      expect.objectContaining({
        code: 'too-costly',
        details: { max: 64, value: 65 },
        message:
          'At most 64 look-ups per resource in one search are allowed, this has 65: use fewer conditions, name the target types of chains, or search in several requests',
      }) as Error,
    );
  });

  test('counts the keys of a sort', () => {
    const search = Array.from({ length: 63 }, (_, n) => `gender:not=x${n}`).join('&');
    const { criteria } = parseSearch(R4, 'Patient', search);
    const sort = ['family', 'gender', 'birthdate'].map((parameter) => ({ parameter, descending: false }));
    expect(() => assertAffordable({ criteria, sort: sort.slice(2) })).not.toThrow();
    expect(() => assertAffordable({ criteria, sort })).toThrow(/this has 66/);
  });
});
