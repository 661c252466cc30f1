import Database from 'better-sqlite3';
import { afterEach, expect, test, vi } from 'vitest';
import type { Criteria } from '../../../src/search/criteria/criteria.js';
import type { Prefix } from '../../../src/search/criteria/value-test.js';
import { COUNTING_SETS } from '../../../src/stores/sqlite/search/count-sets.js';
import { SKIP_TUNING } from '../../../src/stores/sqlite/rows/skip-row.js';
import { Statements } from '../../../src/stores/sqlite/database/statements.js';
import { SqliteStore } from '../../../src/stores/sqlite/store.js';
import { PROJECT } from '../../../src/testing/conformance-case.js';
import { createRandom } from '../../../src/testing/random.js';
import { SEED } from '../../support/chance.js';
import { DAY, daysOf, openEncounters, randomPeriodQuery, resourcesWithPeriods, START } from '../period-cases.js';
import { match, write } from '../skip-cases.js';
import { assertAnswersOfMemory, useSmallGranules } from './compared.js';
import { buildSkips } from './skip-build.js';

useSmallGranules();
afterEach(() => void vi.restoreAllMocks());

test(`ranges among periods without an end find the same as a memory store, also after writes, seed ${SEED}`, async () => {
  await assertAnswersOfMemory(resourcesWithPeriods, randomPeriodQuery, createRandom(SEED));
});

test('ranges read none of the many periods that reach into them or out of them', async () => {
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  await write(store, openEncounters(600));
  const count = async (prefix: Prefix): Promise<number> => {
    const criteria: Criteria = { kind: 'and', of: [daysOf(prefix), match('status', 'planned')] };
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

test('an order by ends that another version left is not used, and is rebuilt with the rest', async () => {
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
