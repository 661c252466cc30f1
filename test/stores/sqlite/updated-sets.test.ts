import Database from 'better-sqlite3';
import { afterEach, beforeAll, expect, test, vi } from 'vitest';
import { R4 } from '../../../src/fhir/r4.js';
import type { AnyResource } from '../../../src/fhir/resource.js';
import type { Criteria } from '../../../src/search/criteria/criteria.js';
import type { DateTest } from '../../../src/search/criteria/value-test.js';
import type { ResourceStore } from '../../../src/store/store.js';
import { MemoryStore } from '../../../src/stores/memory/store.js';
import { Connection } from '../../../src/stores/sqlite/connection.js';
import { COUNTING_SETS } from '../../../src/stores/sqlite/search/count-sets.js';
import { TUNING } from '../../../src/stores/sqlite/scans/tuning.js';
import { SKIP_TUNING } from '../../../src/stores/sqlite/rows/skip-row.js';
import { Statements } from '../../../src/stores/sqlite/database/statements.js';
import { SqliteStore } from '../../../src/stores/sqlite/store.js';
import { PROJECT } from '../../../src/testing/conformance-case.js';
import { createRandom, oneOf } from '../../../src/testing/random.js';
import { cases, SEED } from '../../support/chance.js';
import { by, match, write } from '../skip-cases.js';

const [DEFAULTS, COUNTS] = [{ ...TUNING }, { ...COUNTING_SETS }];
beforeAll(() => void Object.assign(SKIP_TUNING, { granule: 4, minGranules: 4, minHolders: 30 }));
afterEach(() => {
  Object.assign(TUNING, DEFAULTS);
  Object.assign(COUNTING_SETS, COUNTS);
  vi.restoreAllMocks();
});

const START = Date.UTC(2024, 0, 1);
const DAY = 86_400_000;

/** Both stores have the same resources, written over ten days, and SQLite a skip index of them. */
async function filled(): Promise<{ sqlite: ResourceStore; memory: ResourceStore; instants: readonly number[] }> {
  const random = createRandom(SEED);
  const instants: number[] = [];
  let now = START;
  const clock = (): Date => new Date(now);
  const database = new Database(':memory:');
  const [sqlite, memory] = [new SqliteStore(database, { clock }), new MemoryStore({ clock })];
  const commit = async (from: number, count: number): Promise<void> => {
    now += oneOf([1, 2, 1_000, DAY / 8, DAY], random);
    instants.push(now);
    const resources = Array.from({ length: count }, (_, index) => ({
      resourceType: 'ServiceRequest',
      id: `s${((from + index) * 7919) % 1_009}`,
      status: (from + index) % 3 === 0 ? 'draft' : 'active',
    })) as unknown as AnyResource[];
    for (const store of [sqlite, memory]) await write(store, resources);
  };
  for (let part = 0; part < 40; part++) await commit(part * 7, 7);
  const options = { cacheBytes: 0, clock, ownsFile: false };
  const { skipIndexes } = new Connection(R4, database, options);
  for (const collection of skipIndexes.listStale()) skipIndexes.write(skipIndexes.build(collection));
  await commit(30, 6);
  return { sqlite, memory, instants };
}

function updated(prefix: DateTest['prefix'], low: number, high: number): Criteria {
  return { kind: 'last-updated', test: { kind: 'date', prefix, low, high } };
}

const PREFIXES: readonly DateTest['prefix'][] = ['eq', 'ne', 'lt', 'le', 'gt', 'ge', 'sa', 'eb', 'ap'];

async function answer(store: ResourceStore, criteria: Criteria, limit: number): Promise<unknown> {
  const query = { project: PROJECT, type: 'ServiceRequest', criteria, limit, total: true, sort: [by('status')] };
  const { matches, total } = await store.search(query);
  return [total, matches.map(({ resource }) => resource.id)];
}

test(`instants of change are found and counted like in memory, seed ${SEED}`, async () => {
  const random = createRandom(SEED + 1);
  const { sqlite, memory, instants } = await filled();
  Object.assign(COUNTING_SETS, { minRows: 0 });
  for (let trial = 0; trial < cases(400, 50); trial++) {
    Object.assign(SKIP_TUNING, { maxTested: oneOf([0, 3, 64], random) });
    Object.assign(COUNTING_SETS, {
      maxRead: oneOf([0, 30, 4_096], random),
      fewTested: oneOf([0, 20], random),
      maxTested: oneOf([0, 20, 1_000], random),
    });
    Object.assign(TUNING, { looks: oneOf([[Infinity], DEFAULTS.looks], random), skipFrom: 0 });
    const low = oneOf(instants, random) + oneOf([-1, 0, 0, 1, -DAY], random);
    const one = updated(oneOf(PREFIXES, random), low, low + oneOf([1, 1, 1_000, DAY, 3 * DAY], random));
    const other = oneOf<Criteria>([match('status', 'active'), { kind: 'not', of: match('status', 'draft') }], random);
    const criteria = oneOf<Criteria>(
      [
        one,
        { kind: 'not', of: one },
        { kind: 'and', of: [one, other] },
        {
          kind: 'or',
          of: [
            { kind: 'not', of: one },
            { kind: 'not', of: other },
          ],
        },
        { kind: 'and', of: [{ kind: 'not', of: one }, other] },
      ],
      random,
    );
    const limit = oneOf([0, 10], random);
    expect([criteria, await answer(sqlite, criteria, limit)]).toEqual([
      criteria,
      await answer(memory, criteria, limit),
    ]);
  }
});

test.each(PREFIXES.filter((prefix) => prefix !== 'ne'))(
  'a negation of %s by the instant tests later writes',
  async (prefix) => {
    const { sqlite, memory, instants } = await filled();
    Object.assign(COUNTING_SETS, { minRows: 0 });
    Object.assign(TUNING, { looks: [Infinity], skipFrom: 0 });
    const get = vi.spyOn(Statements.prototype, 'get');
    const middle = instants[20]!;
    const of: readonly Criteria[] = [
      { kind: 'not', of: updated(prefix, middle, middle + 1_000) },
      match('status', 'active'),
    ];
    const criteria: Criteria = { kind: 'and', of };
    expect(await answer(sqlite, criteria, 0)).toEqual(await answer(memory, criteria, 0));
    const tests = get.mock.calls.filter(([{ text }]) => text.includes('r0.') && !text.includes('LIMIT'));
    const lists = tests.flatMap(([{ values }]) => values.filter((value) => String(value).startsWith('[')));
    expect(tests).toHaveLength(1);
    expect(JSON.parse(String(lists[0]))).toHaveLength(6);
  },
);
