import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Criteria } from '../../../src/search/criteria/criteria.js';
import type { ResourceStore } from '../../../src/store/store.js';
import { MemoryStore } from '../../../src/stores/memory/store.js';
import { TUNING } from '../../../src/stores/postgres/scans/tuning.js';
import { SKIP_TUNING } from '../../../src/stores/postgres/rows/skip-row.js';
import { PostgresStore } from '../../../src/stores/postgres/store.js';
import { keyOf, PROJECT, queryOf } from '../../../src/testing/conformance-case.js';
import { createRandom, oneOf } from '../../../src/testing/random.js';
import { cases, IS_WHOLE, SEED, someOf } from '../../support/chance.js';
import { noting, postgresPool } from './pool.js';
import { buildSkips } from './skip-build.js';
import { randomRange, rangedResources } from '../ranged-resources.js';
import { by, write } from '../skip-cases.js';

const [DEFAULTS, SKIPS] = [{ ...TUNING }, { ...SKIP_TUNING }];
// Few resources are many parts.
beforeAll(() => void Object.assign(SKIP_TUNING, { granule: 8, minGranules: 4, minHolders: 2, maxNumbered: 4 }));
afterEach(() => {
  Object.assign(TUNING, DEFAULTS);
  const { maxTested, maxScanned, maxCounted, manySeveral } = SKIPS;
  Object.assign(SKIP_TUNING, { maxTested, maxScanned, maxCounted, manySeveral });
});

describe('pages and counts of ranges with any ends equal those of a memory store', () => {
  test.each(someOf([true, false], 1))(`with further writes: %s, seed ${SEED}`, async (further) => {
    const random = createRandom(SEED);
    const pool = await postgresPool();
    const [store, memory] = [new PostgresStore(pool), new MemoryStore()];
    const resources = rangedResources(IS_WHOLE ? 300 : 150, random);
    await write(store, resources);
    await write(memory, resources);
    await buildSkips(pool, ['Observation', 'RiskAssessment']);
    if (further) {
      const others = rangedResources(300, random).filter((_, index) => index % 9 === 0);
      const gone = resources
        .filter((_, index) => index % 31 === 1)
        .map(({ resourceType, id }) => keyOf(resourceType, id!));
      for (const one of [store, memory]) {
        await write(one, others);
        await one.commit(gone.map((key) => ({ kind: 'delete', key })));
      }
    }
    for (let trial = 0; trial < cases(200, 30); trial++) {
      Object.assign(SKIP_TUNING, {
        maxTested: oneOf([0, 2, 64], random),
        maxScanned: oneOf([3, 1_000], random),
        maxCounted: oneOf([3, 1_000], random),
        manySeveral: oneOf([0, SKIPS.manySeveral], random),
      });
      Object.assign(TUNING, {
        looks: oneOf([[Infinity], DEFAULTS.looks], random),
        walkedFirst: 0,
        mostShare: 2,
        fewTogether: 4,
      });
      const { type, criteria } = randomRange(random);
      const sort = random() < 0.5 ? undefined : [by(type === 'Observation' ? 'code' : 'date', random() < 0.5)];
      const query = { project: PROJECT, type, criteria, sort, limit: oneOf([0, 10], random), total: true };
      const idsOf = async (from: ResourceStore): Promise<unknown> => {
        const { matches, total } = await from.search(query);
        return [total, matches.map(({ resource }) => resource.id)];
      };
      expect([criteria, await idsOf(store)]).toEqual([criteria, await idsOf(memory)]);
    }
    await store.close();
  });
});

test.each([
  ['ge', 50],
  ['gt', 50],
  ['le', 10],
  ['lt', 10],
] as const)('a value in the searched unit counts beyond a value in another unit: %s', async (prefix, value) => {
  const pool = await postgresPool();
  const store = new PostgresStore(pool);
  const component = (of: number, code: string): object => ({
    code: { text: 'part' },
    valueQuantity: { value: of, code },
  });
  const observations = Array.from({ length: 60 }, (_, index) => ({
    resourceType: 'Observation',
    id: `o${index}`,
    status: 'final',
    code: { text: 'measured' },
    component: [
      component(index, 'mg'),
      ...(index % 2 === 0 ? [component(-1 - index, 'g'), component(100 + index, 'g')] : []),
    ],
  }));
  await write(store, observations);
  await buildSkips(pool, ['Observation', 'RiskAssessment']);
  Object.assign(TUNING, { looks: [Infinity], walkedFirst: 0, mostShare: 2 });
  const quantity = { kind: 'quantity', prefix, low: value, high: value, code: 'mg' } as const;
  const criteria: Criteria = { kind: 'match', parameter: 'component-value-quantity', test: quantity };
  const { total, matches } = await store.search(queryOf('Observation', criteria, { limit: 60, total: true }));
  const expected = observations.filter((_, index) =>
    prefix.startsWith('g')
      ? index > value || (prefix === 'ge' && index === value)
      : index < value || (prefix === 'le' && index === value),
  );
  expect(total).toBe(expected.length);
  expect(matches.map(({ resource }) => resource.id).sort()).toEqual(expected.map(({ id }) => id).sort());
  await store.close();
});

describe('a range is counted without a test of a resource', () => {
  const [low, high] = [Date.UTC(2013, 0, 1), Date.UTC(2014, 0, 1)];
  const dated = (prefix: 'eq' | 'ge' | 'gt' | 'le' | 'lt' | 'ap'): Criteria => {
    return { kind: 'match', parameter: 'date', test: { kind: 'date', prefix, low, high } };
  };
  const likely = (prefix: 'gt' | 'lt'): Criteria => {
    return { kind: 'match', parameter: 'probability', test: { kind: 'number', prefix, low: 0.5, high: 0.5 } };
  };
  const statements: string[] = [];
  let store: PostgresStore;

  beforeAll(async () => {
    const pool = await postgresPool();
    store = new PostgresStore(noting(pool, statements));
    const resources = Array.from({ length: 400 }, (_, index) => ({
      resourceType: 'RiskAssessment',
      id: `r${(index * 7919) % 1_003}`,
      status: 'final',
      // One in forty is a long period, and one in three has two values.
      ...(index % 40 === 0
        ? { occurrencePeriod: { start: `${2008 + (index % 9)}-06-01`, end: `${2010 + (index % 11)}-06-01` } }
        : { occurrenceDateTime: `${2008 + (index % 12)}-0${1 + (index % 9)}-${11 + (index % 17)}` }),
      prediction: [
        { probabilityDecimal: (index % 97) / 97 },
        ...(index % 3 === 0 ? [{ probabilityDecimal: (index % 89) / 89 }] : []),
      ],
    }));
    await write(store, resources);
    await buildSkips(pool, ['Observation', 'RiskAssessment']);
  });

  test.each<[string, Criteria]>([
    ['since', dated('ge')],
    ['after', dated('gt')],
    ['until', dated('le')],
    ['before', dated('lt')],
    ['in', dated('eq')],
    ['overlapping', dated('ap')],
    ['above, also by another value', likely('gt')],
    ['below, also by another value', likely('lt')],
  ])('%s', async (_, criteria) => {
    Object.assign(TUNING, { looks: [Infinity] });
    const count = async (): Promise<number> =>
      (await store.search(queryOf('RiskAssessment', criteria, { limit: 0, total: true }))).total!;
    statements.length = 0;
    const total = await count();
    expect(statements.filter((text) => text.includes('EXISTS'))).toEqual([]);
    expect(statements.filter((text) => text.includes('string_agg(CASE')).length).toBeLessThan(2);
    Object.assign(SKIP_TUNING, { maxPending: -1 });
    expect(await count()).toBe(total);
    Object.assign(SKIP_TUNING, { maxPending: SKIPS.maxPending });
    expect(total).toBeGreaterThan(20);
  });
});

test.each(['gt', 'ge', 'lt', 'le', 'eq'] as const)(
  'a range that ends within a busy day needs no test of a resource: %s',
  async (prefix) => {
    const statements: string[] = [];
    const pool = await postgresPool();
    const store = new PostgresStore(noting(pool, statements));
    const minuteOf = (index: number): number => (index * 7) % 600;
    const day = Date.UTC(2014, 4, 6);
    // One in twenty lasts until the end of the day.
    const resources = Array.from({ length: 600 }, (_, index) => ({
      resourceType: 'RiskAssessment',
      id: `r${index}`,
      status: 'final',
      occurrenceDateTime:
        index % 20 === 0 ? '2014-05-06' : new Date(day + 60_000 * minuteOf(index)).toISOString().replace('.000', ''),
    }));
    await write(store, resources);
    await buildSkips(pool, ['RiskAssessment']);
    const [low, high] = [day + 60_000 * 300, day + 60_000 * 301];
    const criteria: Criteria = { kind: 'match', parameter: 'date', test: { kind: 'date', prefix, low, high } };
    Object.assign(TUNING, { looks: [Infinity] });
    Object.assign(SKIP_TUNING, { maxTested: 2 });
    statements.length = 0;
    const { total } = await store.search(queryOf('RiskAssessment', criteria, { limit: 0, total: true }));
    const [instants, days] = [resources.filter((_, index) => index % 20 !== 0), 600 / 20];
    const minutes = instants.map(({ id }) => minuteOf(Number(id.slice(1))));
    const later = minutes.filter((minute) => minute > 300).length;
    const same = minutes.filter((minute) => minute === 300).length;
    const earlier = minutes.length - later - same;
    const expected = {
      gt: later + days,
      ge: later + same + days,
      lt: earlier + days,
      le: earlier + same + days,
      eq: same,
    };
    expect(total).toBe(expected[prefix]);
    expect(statements.filter((text) => text.includes('EXISTS'))).toEqual([]);
    await store.close();
  },
);

test('a count by a range of repeating values reads a longer scan than a page, unless it definitely finds too many', async () => {
  const statements: string[] = [];
  const pool = await postgresPool();
  const store = new PostgresStore(noting(pool, statements));
  const resources = Array.from({ length: 200 }, (_, index) => ({
    resourceType: 'RiskAssessment',
    id: `r${index}`,
    status: 'final',
    prediction: [index % 10, (index * 7) % 10].map((tenths) => ({ probabilityDecimal: tenths / 10 })),
  }));
  await write(store, resources);
  await buildSkips(pool, ['RiskAssessment']);
  const equal = { kind: 'number', prefix: 'eq', low: 0.35, high: 0.45 } as const;
  const criteria: Criteria = { kind: 'not', of: { kind: 'match', parameter: 'probability', test: equal } };
  Object.assign(TUNING, { looks: [Infinity], maxTested: 10 });
  const count = async (maxCounted: number): Promise<readonly string[]> => {
    Object.assign(SKIP_TUNING, { maxScanned: 5, maxCounted, manySeveral: 0 });
    statements.length = 0;
    const { total } = await store.search(queryOf('RiskAssessment', criteria, { limit: 0, total: true }));
    expect(total).toBe(160);
    return statements.filter((text) => /\bquantity\b/.test(text));
  };
  // The first scan is that of long intervals.
  expect(await count(100)).toEqual([expect.stringContaining('k1 (key)')]);
  expect((await count(5)).filter((text) => text.includes('k1 (key)'))).toEqual([]);
  await store.close();
});
