import { afterEach, beforeAll, expect, test } from 'vitest';
import type { Criteria } from '../../../src/search/criteria/criteria.js';
import type { Prefix } from '../../../src/search/criteria/value-test.js';
import { MemoryStore } from '../../../src/stores/memory/store.js';
import { TUNING } from '../../../src/stores/postgres/scans/tuning.js';
import { SKIP_TUNING } from '../../../src/stores/postgres/rows/skip-row.js';
import { PostgresStore } from '../../../src/stores/postgres/store.js';
import { keyOf, queryOf } from '../../../src/testing/conformance-case.js';
import { createRandom, oneOf } from '../../../src/testing/random.js';
import { cases, SEED } from '../../support/chance.js';
import { daysOf, openEncounters, randomPeriodQuery, resourcesWithPeriods } from '../period-cases.js';
import { noting, postgresPool } from './pool.js';
import { buildSkips, rowsOf } from './skip-build.js';
import { answerOf, match, write } from '../skip-cases.js';

const [TUNED, SKIPS] = [{ ...TUNING }, { ...SKIP_TUNING }];
const TYPES = ['Encounter', 'Composition', 'RiskAssessment'];
// Few resources are many granules.
beforeAll(() => void Object.assign(SKIP_TUNING, { granule: 8, minGranules: 3, minHolders: 2 }));
afterEach(() => {
  Object.assign(TUNING, TUNED);
  Object.assign(SKIP_TUNING, {
    maxFresh: SKIPS.maxFresh,
    maxScanned: SKIPS.maxScanned,
    maxTested: SKIPS.maxTested,
  });
});

test(`ranges among periods without an end find the same as a memory store, also after writes, seed ${SEED}`, async () => {
  const random = createRandom(SEED);
  const [pool, memory] = [await postgresPool(), new MemoryStore()];
  const store = new PostgresStore(pool);
  const resources = resourcesWithPeriods(300, random);
  for (const one of [store, memory]) await write(one, resources);
  await buildSkips(pool, TYPES);
  const orders = await rowsOf(pool, `SELECT type FROM fhirgraph_skip WHERE subject = 3 AND value = 'o' ORDER BY 1`);
  expect(orders.flat()).toEqual(TYPES.toSorted());
  for (const step of ['all built', 'written since', 'in a layer']) {
    if (step === 'in a layer') {
      Object.assign(SKIP_TUNING, { maxFresh: 0 });
      await buildSkips(pool, TYPES);
    }
    for (let trial = 0; trial < cases(120, 25); trial++) {
      Object.assign(SKIP_TUNING, { maxTested: oneOf([0, 64], random), maxScanned: oneOf([3, 1_000], random) });
      Object.assign(TUNING, { looks: oneOf([[Infinity], TUNED.looks], random), walkedFirst: 0, mostShare: 2 });
      const query = randomPeriodQuery(random);
      expect([step, await answerOf(store, query)]).toEqual([step, await answerOf(memory, query)]);
    }
    expect((await store.verify()).problems).toEqual([]);
    const later = [...resourcesWithPeriods(20, random), ...resourcesWithPeriods(9, random, `${step.slice(0, 3)}-`)];
    const gone = resources.find(({ resourceType }) => resourceType === 'Encounter')!;
    for (const one of [store, memory]) {
      await write(one, later);
      await one.commit([{ kind: 'delete', key: keyOf('Encounter', gone.id!) }]);
    }
  }
  await store.close();
});

test('ranges read none of the many periods that reach into them or out of them', async () => {
  const statements: string[] = [];
  const pool = await postgresPool();
  const store = new PostgresStore(noting(pool, statements));
  await write(store, openEncounters(600));
  await buildSkips(pool, TYPES);
  // A scan that finds more is given up, and then each resource is tested.
  Object.assign(SKIP_TUNING, { maxScanned: 20 });
  Object.assign(TUNING, { looks: [Infinity] });
  const found: Record<string, number> = {};
  for (const prefix of ['ge', 'gt', 'ap', 'eq', 'le', 'eb'] as const satisfies readonly Prefix[]) {
    const criteria: Criteria = { kind: 'and', of: [daysOf(prefix), match('status', 'planned')] };
    statements.length = 0;
    found[prefix] = (await store.search(queryOf('Encounter', criteria, { limit: 0, total: true }))).total!;
    expect([prefix, statements.filter((text) => text.includes('EXISTS'))]).toEqual([prefix, []]);
  }
  expect(found).toEqual({ ge: 600, gt: 600, ap: 330, eq: 0, le: 300, eb: 0 });
  await store.close();
});
