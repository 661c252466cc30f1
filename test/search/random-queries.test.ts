import { expect, test } from 'vitest';
import { type Criteria, R4 } from '../../src/store.js';
import { createRandom, randomResources } from '../support/kit.js';
import { childrenOf } from '../../src/search/criteria/criteria.js';
import { RandomQueries } from '../../src/testing/random-queries.js';
import { ReferenceSearch } from '../../src/testing/reference-search.js';
import { cases, SEED } from '../support/chance.js';

/** The parameters of the `match` and `missing` nodes, and of the composites, with the types they belong to. */
function namesIn(type: string, criteria: Criteria): readonly (readonly [kind: string, type: string, name: string])[] {
  switch (criteria.kind) {
    case 'match':
    case 'missing':
    case 'composite':
      return [[criteria.kind, type, criteria.parameter]];
    case 'chain':
    case 'has':
      return namesIn(criteria.type, criteria.of);
    default:
      return childrenOf(criteria).flatMap((child) => namesIn(type, child));
  }
}

test('random searches use only parameters that a request can name: a component of a composite only within it', () => {
  const random = createRandom(SEED);
  const data = new ReferenceSearch(R4, randomResources(random));
  const queries = new RandomQueries('p', data, random);
  const searches = Array.from({ length: cases(2_000, 250) }, () => queries.search());
  const names = searches.flatMap(({ type, criteria }) => namesIn(type, criteria));
  const wrong = names.filter(([kind, type, name]) => {
    const parameter = R4.searchParameter(type, name.replace(/:(identifier|of-type|words|present)$/, ''));
    return parameter === undefined || (parameter.type === 'composite') !== (kind === 'composite');
  });
  expect(wrong).toEqual([]);
  expect(names.filter(([kind]) => kind === 'composite').length).toBeGreaterThan(0);
});
