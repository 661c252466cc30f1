import Database from 'better-sqlite3';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { AnyResource } from '../../../src/fhir/resource.js';
import type { Criteria } from '../../../src/search/criteria/criteria.js';
import type { TokenTest } from '../../../src/search/criteria/value-test.js';
import { MemoryStore } from '../../../src/stores/memory/store.js';
import { Statements } from '../../../src/stores/sqlite/database/statements.js';
import { SKIP_TUNING, SYSTEMS } from '../../../src/stores/sqlite/rows/skip-row.js';
import { TUNING } from '../../../src/stores/sqlite/scans/tuning.js';
import { COUNTING_SETS } from '../../../src/stores/sqlite/search/count-sets.js';
import { SqliteStore } from '../../../src/stores/sqlite/store.js';
import { keyOf, queryOf } from '../../../src/testing/conformance-case.js';
import { below, createRandom, oneOf } from '../../../src/testing/random.js';
import { IS_WHOLE, SEED } from '../../support/chance.js';
import { answerOf, by, match, write } from '../skip-cases.js';
import { codedObservations, TESTS, UNUSED } from '../system-cases.js';
import { buildSkips } from './skip-build.js';

const RESOURCES = codedObservations(IS_WHOLE ? 500 : 250);

beforeAll(() => {
  Object.assign(SKIP_TUNING, { granule: 8, minGranules: 4, minHolders: 20, maxLookedUp: 0 });
  Object.assign(TUNING, { looks: [Infinity], skipFrom: 0 });
  Object.assign(COUNTING_SETS, { minRows: 0 });
});
afterEach(() => vi.restoreAllMocks());

async function bothStores(): Promise<readonly [Database.Database, SqliteStore, MemoryStore]> {
  const database = new Database(':memory:');
  const [store, memory] = [new SqliteStore(database), new MemoryStore()];
  for (const one of [store, memory]) await write(one, RESOURCES);
  buildSkips(database);
  return [database, store, memory];
}

/** Asserts that each test finds the same in both stores. @returns the tests whose counts read tokens */
async function compare(store: SqliteStore, memory: MemoryStore, parameter: string): Promise<readonly TokenTest[]> {
  const spies = (['all', 'get', 'column'] as const).map((name) => vi.spyOn(Statements.prototype, name));
  const readers = new Set<TokenTest>();
  for (const one of TESTS) {
    const asked: Criteria = { kind: 'match', parameter, test: one };
    for (const each of [asked, { kind: 'not', of: asked } as const]) {
      const criteria: Criteria = { kind: 'and', of: [each, match('status', 'final')] };
      for (const spy of spies) spy.mockClear();
      const count = queryOf('Observation', criteria, { limit: 0, total: true });
      expect([each, (await store.search(count)).total]).toEqual([each, (await memory.search(count)).total]);
      const texts = spies.flatMap(({ mock }) => mock.calls.map(([{ text }]) => text));
      // Looks into scans, up to a few rows, come first.
      if (texts.some((text) => /\btoken\b/.test(text) && !text.startsWith(LOOK))) readers.add(one);
      const page = queryOf('Observation', criteria, { limit: 5, sort: [by('_id', true)] });
      expect(await answerOf(store, page)).toEqual(await answerOf(memory, page));
    }
  }
  return [...readers];
}

const LOOK = 'SELECT count(*) FROM (SELECT 1 FROM';

describe('codes with their system', () => {
  test.each([
    ['code', (test: TokenTest) => test.code !== 'b'],
    ['method', (test: TokenTest) => test.code !== 'b'],
    // It has 70 systems, and all values have the same code.
    ['category', ({ code, system, noSystem }: TokenTest) => code === 'a' && system === undefined && noSystem !== true],
    [UNUSED, () => true],
  ])('are found in sets, if they are frequent: %s', async (parameter, isKept) => {
    const [, store, memory] = await bothStores();
    const readers = await compare(store, memory, parameter);
    const isAny = ({ code, system, noSystem }: TokenTest): boolean => !(code ?? system) && noSystem !== true;
    expect(readers.filter((one) => isKept(one) && !isAny(one))).toEqual([]);
    await store.close();
  });

  test(`are found after writes, and after the index includes them, seed ${SEED}`, async () => {
    const random = createRandom(SEED);
    const [database, store, memory] = await bothStores();
    const codings = (systems: readonly string[]): object[] =>
      Array.from({ length: 1 + below(2, random) }, () => ({
        code: oneOf(['a', 'a', 'b', 'new'], random),
        ...(random() < 0.9 ? { system: oneOf(systems, random) } : {}),
      }));
    for (let round = 0; round < 4; round++) {
      // A system that no value had before, or that all values of a code had.
      const systems = ['urn:1', 'urn:2', `urn:new${round}`];
      const some = Array.from({ length: 12 }, () => ({
        ...oneOf(RESOURCES, random),
        code: { coding: codings(round === 0 ? ['urn:1'] : systems) },
        method: random() < 0.2 ? { text: 'x' } : { coding: codings(systems) },
      }));
      const changed = [...new Map(some.map((one) => [one.id, one])).values()] as unknown as AnyResource[];
      const { id } = RESOURCES.find((one) => !changed.some((other) => other.id === one.id))!;
      for (const one of [store, memory]) {
        await write(one, changed);
        await one.commit([{ kind: 'delete', key: keyOf('Observation', id!) }]);
        await write(one, [RESOURCES.find((resource) => resource.id === id)!]);
        await one.commit([{ kind: 'delete', key: keyOf('Observation', changed[0]!.id!) }]);
      }
      for (const parameter of ['code', 'method']) await compare(store, memory, parameter);
      vi.restoreAllMocks();
      buildSkips(database);
      expect((await store.verify()).problems).toEqual([]);
      for (const parameter of ['code', 'method']) {
        const readers = await compare(store, memory, parameter);
        expect(readers.filter(({ code, system }) => code === 'a' && system !== undefined)).toEqual([]);
        vi.restoreAllMocks();
      }
    }
    await store.close();
  });

  test('are verified', async () => {
    const [database, store] = await bothStores();
    const { changes } = database
      .prepare(`UPDATE skip SET data = replace(data, '"own":[]', '"own":[77]') WHERE subject = ? AND value = 'a'`)
      .run(SYSTEMS);
    expect(changes).toBeGreaterThan(0);
    expect((await store.verify()).problems).toEqual([expect.stringContaining('skip')]);
    await store.close();
  });
});
