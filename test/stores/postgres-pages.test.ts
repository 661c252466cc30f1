import { afterEach, describe, test } from 'vitest';
import type { AnyResource } from '../../src/fhir/resource.js';
import { TUNING } from '../../src/stores/postgres/pages/tuning.js';
import { PostgresStore } from '../../src/stores/postgres/store.js';
import { PROJECT, put } from '../../src/testing/conformance-case.js';
import { createRandom } from '../../src/testing/random.js';
import { randomResources } from '../../src/testing/random-resources.js';
import { skewedResources } from '../../src/testing/skewed-resources.js';
import { assertSearches } from '../../src/testing/suites/random-searches.js';
import { cases } from '../support/chance.js';
import { postgresPool } from './postgres-pool.js';

const DEFAULTS = { ...TUNING };
afterEach(() => void Object.assign(TUNING, DEFAULTS));

describe('every way to a page and a count gives it', () => {
  const WAYS = {
    'as the data say': {},
    collected: { looks: [1e9, Infinity], maxCollected: 1e9 },
    walked: { looks: [Infinity], broadTarget: 2 },
    'walked in short stretches': { looks: [Infinity], stretch: 3, growth: 2, broadTarget: 1 },
    'walked without collecting what is outside of a range': { looks: [Infinity], stretch: 5, growth: 2, maxOutside: 0 },
    'walked with lists': { looks: [Infinity], stretch: 5, growth: 2, listedFrom: 1, indirectFrom: 1 },
    'walked with short lists': {
      looks: [Infinity],
      stretch: 5,
      growth: 2,
      listedFrom: 1,
      indirectFrom: 1,
      maxListed: 5,
    },
    'walked a little, then collected': { looks: [2, 20, Infinity], stretch: 4, growth: 2, indirectFrom: 20 },
    'counted by lists': { looks: [1, Infinity], maxCollected: 0, countLook: 5, manyMatches: 0 },
    'counted by joins': { looks: [1, Infinity], maxCollected: 0, countLook: 5, maxCountList: 20 },
  };

  test.each(Object.entries(WAYS))('%s', async (_, tuning) => {
    const random = createRandom(5);
    const store = new PostgresStore(await postgresPool());
    const results = await store.commit(
      [...skewedResources(70, random), ...randomResources(random)].map((one) => put(one)),
    );
    const stored = results.map((result) => (result as unknown as { readonly resource: AnyResource }).resource);
    Object.assign(TUNING, tuning);
    const current = [...new Map(stored.map((one) => [`${one.resourceType}/${one.id}`, one])).values()];
    await assertSearches(store, PROJECT, current, random, cases(120, 15));
  });
});
