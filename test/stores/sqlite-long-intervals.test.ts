import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { AnyResource } from '../../src/fhir/resource.js';
import type { Criteria } from '../../src/search/criteria/criteria.js';
import type { Prefix } from '../../src/search/criteria/value-test.js';
import type { ResourceStore } from '../../src/store/store.js';
import { MemoryStore } from '../../src/stores/memory/store.js';
import { COUNTING_SETS } from '../../src/stores/sqlite/count-sets.js';
import { TUNING } from '../../src/stores/sqlite/pages/tuning.js';
import { SKIP_TUNING } from '../../src/stores/sqlite/skip/skip-row.js';
import { Statements } from '../../src/stores/sqlite/statements.js';
import { SqliteStore } from '../../src/stores/sqlite/store.js';
import { keyOf, PROJECT } from '../../src/testing/conformance-case.js';
import { below, createRandom, oneOf } from '../../src/testing/random.js';
import { cases, SEED } from '../support/chance.js';
import { by, match, write } from './skip-cases.js';
import { buildSkips } from './sqlite-skip-build.js';

const [TUNED, COUNTS, SKIPS] = [{ ...TUNING }, { ...COUNTING_SETS }, { ...SKIP_TUNING }];
// Few resources are many granules.
beforeAll(() => void Object.assign(SKIP_TUNING, { granule: 8, minGranules: 3, minHolders: 2 }));
afterAll(() => void Object.assign(SKIP_TUNING, SKIPS));
afterEach(() => {
  Object.assign(TUNING, TUNED);
  Object.assign(COUNTING_SETS, COUNTS);
  Object.assign(SKIP_TUNING, { maxLookedUp: SKIPS.maxLookedUp, maxTested: SKIPS.maxTested, maxTied: SKIPS.maxTied });
  vi.restoreAllMocks();
});

function ordersByEnd(database: Database.Database): number {
  return database
    .prepare('SELECT count(*) FROM skip WHERE sort <> 0 AND subject = 3 AND value = -1')
    .pluck()
    .get() as number;
}

const DAY = 86_400_000;
const START = Date.UTC(2020, 0, 1);
const SPAN = 200;

/** Most have no end, some end in the same moment, some last hours. */
function period(random: () => number): object {
  const start = START + below(SPAN * 24, random) * 3_600_000;
  const ends = [undefined, undefined, undefined, start + below(90, random) * DAY, START + 150 * DAY, start + 3_600_000];
  const end = oneOf(ends, random);
  const text = (instant: number): string => new Date(instant).toISOString();
  return { start: text(start), ...(end !== undefined && { end: text(Math.max(start, end)) }) };
}

/** Encounters have one period, Compositions have several, and RiskAssessments have Ranges of numbers. */
function resourcesWithPeriods(count: number, random: () => number, prefix = ''): AnyResource[] {
  return Array.from({ length: count }, (_, index) => {
    const status = oneOf(['finished', 'finished', 'planned'], random);
    const id = `${prefix}${(index * 7919) % 1_003}`;
    if (index % 3 === 0) {
      const event = Array.from({ length: oneOf([1, 1, 2, 3], random) }, () => ({ period: period(random) }));
      return { resourceType: 'Composition', id, status, event };
    }
    if (index % 3 === 1) {
      const low = below(20, random) / 40;
      const range = { low: { value: low }, high: { value: oneOf([1, low + below(20, random) / 40], random) } };
      const prediction = [random() < 0.6 ? { probabilityRange: range } : { probabilityDecimal: low }];
      return { resourceType: 'RiskAssessment', id, status, prediction };
    }
    return { resourceType: 'Encounter', id, status, ...(random() < 0.05 ? {} : { period: period(random) }) };
  });
}

function randomCriteria(random: () => number): { readonly type: string; readonly criteria: Criteria } {
  const [type, parameter] = oneOf(
    [
      ['Encounter', 'date'],
      ['Composition', 'period'],
      ['RiskAssessment', 'probability'],
    ] as const,
    random,
  );
  const prefix = oneOf<Prefix>(['eq', 'gt', 'lt', 'ge', 'le', 'sa', 'eb', 'ap', 'po'], random);
  const range = (): Criteria => {
    if (type === 'RiskAssessment') {
      const low = below(20, random) / 40;
      const high = ['eq', 'ap', 'po'].includes(prefix) ? low + oneOf([0, 0.2], random) : low;
      return { kind: 'match', parameter, test: { kind: 'number', prefix, low, high } };
    }
    const low = START + below(SPAN, random) * DAY;
    const high = low + oneOf([1, DAY, 30 * DAY], random);
    return { kind: 'match', parameter, test: { kind: 'date', prefix, low, high } };
  };
  const criteria = oneOf<Criteria>(
    [
      range(),
      range(),
      { kind: 'not', of: range() },
      { kind: 'and', of: [range(), match('status', 'finished')] },
      { kind: 'or', of: [range(), range()] },
    ],
    random,
  );
  return { type, criteria };
}

test(`ranges among periods without an end find what a memory store finds, also after writes, seed ${SEED}`, async () => {
  const random = createRandom(SEED);
  const [database, memory] = [new Database(':memory:'), new MemoryStore()];
  const store = new SqliteStore(database);
  const resources = resourcesWithPeriods(400, random);
  for (const one of [store, memory]) await write(one, resources);
  buildSkips(database);
  expect(ordersByEnd(database)).toBe(3);
  for (let step = 0; step < 4; step++) {
    Object.assign(COUNTING_SETS, { minRows: 0 });
    for (let trial = 0; trial < cases(150, 20); trial++) {
      Object.assign(SKIP_TUNING, {
        maxLookedUp: oneOf([0, 20], random),
        maxTested: oneOf([1, 64], random),
        maxTied: oneOf([0, 20, 8_192], random),
      });
      Object.assign(TUNING, { looks: oneOf([[Infinity], TUNED.looks], random), skipFrom: 0 });
      const { type, criteria } = randomCriteria(random);
      const sort = random() < 0.5 ? undefined : [by('_id', random() < 0.5)];
      const query = { project: PROJECT, type, criteria, sort, limit: oneOf([0, 10], random), total: true };
      const idsOf = async (from: ResourceStore): Promise<unknown> => {
        const { matches, total } = await from.search(query);
        return [total, matches.map(({ resource }) => resource.id)];
      };
      expect([criteria, await idsOf(store)]).toEqual([criteria, await idsOf(memory)]);
    }
    const later = [...resourcesWithPeriods(20, random), ...resourcesWithPeriods(9, random, `n${step}-`)];
    const gone = oneOf(
      resources.filter(({ resourceType }) => resourceType === 'Encounter'),
      random,
    );
    for (const one of [store, memory]) {
      await write(one, later);
      await one.commit([{ kind: 'delete', key: keyOf('Encounter', gone.id!) }]);
    }
    // Every second time the index says nothing of what was written.
    if (step % 2 === 0) buildSkips(database);
    expect((await store.verify()).problems).toEqual([]);
  }
});

test('ranges read none of the many periods that reach into them or out of them', async () => {
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  const encounters = Array.from({ length: 600 }, (_, index) => {
    const start = new Date(START + index * DAY).toISOString();
    return {
      resourceType: 'Encounter',
      id: `e${index}`,
      status: 'planned',
      period: { start },
    } as unknown as AnyResource;
  });
  await write(store, encounters);
  const count = async (prefix: Prefix): Promise<number> => {
    const low = START + 300 * DAY;
    const test = { kind: 'date', prefix, low, high: low + 30 * DAY } as const;
    const criteria: Criteria = {
      kind: 'and',
      of: [{ kind: 'match', parameter: 'date', test }, match('status', 'planned')],
    };
    return (await store.search({ project: PROJECT, type: 'Encounter', criteria, limit: 0, total: true })).total!;
  };
  buildSkips(database);
  Object.assign(COUNTING_SETS, { minRows: 0 });
  Object.assign(SKIP_TUNING, { maxLookedUp: 3 });
  const column = vi.spyOn(Statements.prototype, 'column');
  const found: Record<string, number> = {};
  for (const prefix of ['ge', 'gt', 'ap', 'eq', 'le', 'eb'] as const) {
    column.mockClear();
    found[prefix] = await count(prefix);
    const read = column.mock.results.reduce((sum, { value }) => sum + (value as readonly unknown[]).length, 0);
    expect([prefix, read]).toEqual([prefix, expect.toSatisfy((rows: number) => rows < 40)]);
  }
  expect(found).toEqual({ ge: 600, gt: 600, ap: 330, eq: 0, le: 300, eb: 0 });
});

test('an order by ends that another version left behind is not used, and is rebuilt with the rest', async () => {
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  const random = createRandom(SEED);
  await write(store, resourcesWithPeriods(300, random));
  buildSkips(database);
  Object.assign(COUNTING_SETS, { minRows: 0 });
  const test = { kind: 'date', prefix: 'ge', low: START + 250 * DAY, high: START + 251 * DAY } as const;
  const query = {
    project: PROJECT,
    type: 'Encounter',
    criteria: {
      kind: 'and',
      of: [
        { kind: 'match', parameter: 'date', test },
        { kind: 'not', of: match('status', 'x') },
      ],
    },
    limit: 0,
    total: true,
  } as const;
  const { total } = await store.search(query);
  expect(total).toBeGreaterThan(20);
  // As after an update by a version that does not know it.
  const foreign = `UPDATE skip SET data = json_set(data, '$.of', 'another') WHERE sort <> 0 AND subject = 3 AND value = -1`;
  database.exec(foreign);
  database.exec(`UPDATE skip SET data = x'' WHERE sort <> 0 AND subject = 3 AND value = 0`);
  // Of another connection, which has cached nothing.
  expect((await new SqliteStore(database).search(query)).total).toBe(total);
  await write(store, resourcesWithPeriods(9, random, 'later'));
  buildSkips(database);
  const orders = database.prepare('SELECT data FROM skip WHERE sort <> 0 AND subject = 3 AND value = -1').pluck().all();
  expect(orders.length).toBeGreaterThan(2);
  expect(orders.filter((order) => (order as string).includes('another'))).toEqual([]);
  expect((await store.verify()).problems).toEqual([]);
});
