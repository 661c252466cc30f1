import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { MemoryStore } from '../../src/index.js';
import type { AnyResource } from '../../src/fhir/resource.js';
import type { Criteria, SortKey } from '../../src/search/criteria/criteria.js';
import type { SearchQuery } from '../../src/store/search-query.js';
import type { Sql } from '../../src/stores/sql/sql.js';
import { TUNING } from '../../src/stores/sqlite/pages/tuning.js';
import { Statements } from '../../src/stores/sqlite/statements.js';
import { SqliteStore } from '../../src/stores/sqlite/store.js';
import { BLOCK } from '../../src/stores/sqlite/zones.js';
import { keyOf, PROJECT, put } from '../../src/testing/conformance-case.js';
import { createRandom, oneOf } from '../../src/testing/random.js';
import { ReferenceSearch } from '../../src/testing/reference-search.js';
import { assertSearches } from '../../src/testing/suites/random-searches.js';
import { skewedResources } from '../../src/testing/skewed-resources.js';
import { cases, SEED } from '../support/chance.js';

const [DEFAULTS, BLOCK_SIZE] = [{ ...TUNING }, BLOCK.size];
// Few resources are several blocks.
beforeAll(() => void (BLOCK.size = 16));
afterAll(() => void (BLOCK.size = BLOCK_SIZE));
afterEach(() => {
  Object.assign(TUNING, DEFAULTS);
  vi.restoreAllMocks();
});

/** All searches that can look at blocks do. */
const BY_BLOCKS = {
  looks: [1, Infinity],
  firstChunk: 1,
  maxChunk: 64,
  walkedPerScanned: 1e-9,
  blocksFrom: 0,
  blocksPerScanned: 1e9,
};

/** The values of the current resources by parameter and block: what zones must hold at least. */
const valuesOf = (
  size: number,
): string => `SELECT parameter, resource / ${size} AS block, min(low) AS low, max(low) AS last, max(high) AS high FROM (
    SELECT parameter, resource, low, high FROM date WHERE grp = 0
    UNION ALL SELECT parameter, resource, low, high FROM quantity WHERE grp = 0
    UNION ALL SELECT -2 * collection, key, id, id FROM resource WHERE content IS NOT NULL
    UNION ALL SELECT -2 * collection - 1, key, updated, updated FROM resource WHERE content IS NOT NULL)
  GROUP BY 1, 2`;

function values(database: Database.Database): unknown[] {
  return database.prepare(`${valuesOf(BLOCK.size)} ORDER BY 1, 2`).all();
}

function zones(database: Database.Database): unknown[] {
  return database.prepare('SELECT parameter, block, low, last, high FROM zone ORDER BY 1, 2').all();
}

/** Values that lie in no zone. */
function outside(database: Database.Database): unknown[] {
  return database
    .prepare(
      `SELECT v.* FROM (${valuesOf(BLOCK.size)}) v LEFT JOIN zone z USING (parameter, block)
        WHERE z.block IS NULL OR z.low > v.low OR z.last < v.last OR z.high < v.high`,
    )
    .all();
}

async function write(store: SqliteStore, resources: readonly AnyResource[]): Promise<readonly AnyResource[]> {
  const results = await store.commit(resources.map((resource) => put(resource)));
  return results.map((result) => (result as unknown as { readonly resource: AnyResource }).resource);
}

describe('zones', () => {
  test('of new resources are those of their values', async () => {
    const database = new Database(':memory:');
    await write(new SqliteStore(database), skewedResources(100, createRandom(SEED)));
    expect(zones(database)).toEqual(values(database));
    expect(zones(database).length).toBeGreaterThan(20);
  });

  test('hold every value after updates and deletions, and exactly the values after reindex()', async () => {
    const random = createRandom(SEED);
    const database = new Database(':memory:');
    const store = new SqliteStore(database);
    for (let round = 0; round < 5; round++) {
      await write(store, skewedResources(40, random));
      const ids = database.prepare('SELECT id FROM resource WHERE content IS NOT NULL').pluck().all() as string[];
      await store.commit([{ kind: 'delete', key: keyOf('Observation', oneOf(ids, random)) }]);
      expect(outside(database), `seed ${SEED}, round ${round}`).toEqual([]);
    }
    expect(zones(database)).not.toEqual(values(database));
    await store.reindex();
    expect(zones(database)).toEqual(values(database));
  });

  test('hold nothing of an erased resource', async () => {
    const database = new Database(':memory:');
    const store = new SqliteStore(database);
    const dated = (id: string, effectiveDateTime: string): AnyResource =>
      ({ resourceType: 'Observation', id, status: 'final', effectiveDateTime }) as AnyResource;
    await write(store, [dated('a', '1901-02-03'), dated('b', '2020-01-01'), dated('c', '2021-01-01')]);
    await store.commit([{ kind: 'erase', key: keyOf('Observation', 'a'), reason: 'test' }]);
    expect(zones(database)).toEqual(values(database));
    const first = database.prepare('SELECT min(low) FROM zone WHERE parameter > 0').pluck().get();
    expect(first).toBe(Date.UTC(2020, 0, 1));
  });

  test('of a rolled-back commit do not stay', async () => {
    const database = new Database(':memory:');
    const store = new SqliteStore(database);
    const [first] = skewedResources(1, createRandom(SEED));
    await write(store, [first!]);
    const before = zones(database);
    const writes = [
      ...skewedResources(20, createRandom(2)).map((one) => put(one)),
      put(first!, { expect: { version: '9' } }),
    ];
    await expect(store.commit(writes)).rejects.toMatchObject({ code: 'precondition-failed' });
    expect(zones(database)).toEqual(before);
    await write(store, skewedResources(20, createRandom(3)));
    expect(outside(database)).toEqual([]);
  });

  test('go with their project', async () => {
    const database = new Database(':memory:');
    const store = new SqliteStore(database);
    await write(store, skewedResources(40, createRandom(SEED)));
    await store.commit([put(skewedResources(1, createRandom(1))[0]!, {}, 'other')]);
    const all = zones(database).length;
    while (!(await store.removal.removeProject(PROJECT)).done);
    expect(zones(database).length).toBeGreaterThan(0);
    expect(zones(database).length).toBeLessThan(all);
    expect(zones(database)).toEqual(values(database));
  });

  test('that do not hold a value are found by verify()', async () => {
    const database = new Database(':memory:');
    const store = new SqliteStore(database);
    await write(store, skewedResources(40, createRandom(SEED)));
    expect((await store.verify()).problems).toEqual([]);
    database.exec('UPDATE zone SET low = low + 1 WHERE block = 1 AND parameter = (SELECT min(parameter) FROM date)');
    expect((await store.verify()).problems).toEqual([expect.stringMatching(/^zone: values outside of every zone: /)]);
    database.exec('DELETE FROM zone WHERE parameter < 0');
    expect((await store.verify()).problems).toContainEqual(
      expect.stringMatching(/^zone: resources outside of every zone: /),
    );
  });
});

describe('searches by blocks', () => {
  test('answer as the meaning of criteria demands, also after changes and deletions', async () => {
    const random = createRandom(SEED);
    const database = new Database(':memory:');
    const store = new SqliteStore(database);
    const current = new Map<string, AnyResource>();
    Object.assign(TUNING, BY_BLOCKS);
    const all = vi.spyOn(Statements.prototype, 'all');
    for (let round = 0; round < 3; round++) {
      for (const one of await write(store, skewedResources(45, random))) current.set(one.id!, one);
      for (let n = 0; n < 5; n++) {
        const id = oneOf([...current.keys()], random);
        await store.commit([{ kind: 'delete', key: keyOf('Observation', id) }]);
        current.delete(id);
      }
      await assertSearches(store, PROJECT, [...current.values()], random, cases(100, 30));
    }
    const searched = all.mock.calls.filter(([{ text }]) => text.includes('FROM zone z\n'));
    expect(searched.length, `seed ${SEED}`).toBeGreaterThan(20);
  });

  const by = (parameter: string, descending = false): SortKey => ({ parameter, descending });
  const status = (code: string): Criteria => ({ kind: 'match', parameter: 'status', test: { kind: 'token', code } });
  const dates = (prefix: 'ge' | 'lt', at: number): Criteria => ({
    kind: 'match',
    parameter: 'date',
    test: { kind: 'date', prefix, low: at, high: at + 86_400_000 },
  });

  /** Observations of whom each tenth has another status, in the order of their dates and ids. */
  const COUNT = 800;
  const resources = Array.from(
    { length: COUNT },
    (_, index) =>
      ({
        resourceType: 'Observation',
        id: `o${String(index).padStart(4, '0')}`,
        status: index >= 80 && index < 160 ? 'registered' : 'final',
        effectiveDateTime: new Date(Date.UTC(2000, 0, 1 + index)).toISOString(),
      }) as AnyResource,
  );
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  let stored: readonly AnyResource[];
  beforeAll(async () => void (stored = await write(store, resources)));

  test.each<[string, Criteria, readonly SortKey[]]>([
    ['a status far from the latest', status('registered'), [by('date', true)]],
    ['a status far from the last id', status('registered'), [by('_id', true)]],
    ['late dates by id', dates('ge', Date.UTC(2001, 6, 1)), [by('_id')]],
    ['late dates by the instant of change', dates('ge', Date.UTC(2001, 6, 1)), [by('_lastUpdated')]],
    ['early dates, last ids first', dates('lt', Date.UTC(2000, 2, 1)), [by('_id', true)]],
  ])('read the blocks of the page alone: %s', async (_, criteria, sort) => {
    Object.assign(TUNING, {
      looks: [2, 4, Infinity],
      firstChunk: 1,
      maxChunk: 4,
      blocksFrom: 2,
      blocksPerScanned: 1e6,
    });
    const query: SearchQuery = { project: PROJECT, type: 'Observation', criteria, sort, limit: 5, total: true };
    const all = vi.spyOn(Statements.prototype, 'all');
    const { matches } = await store.search(query);
    const statements = all.mock.calls.map(([one]) => one);
    all.mockRestore();
    const expected = new ReferenceSearch(store.model, stored).search(query).ids;
    expect(matches.map(({ resource }) => resource.id)).toEqual(expected);
    // Instants of one commit are equal, so every block that has matches may be of the page.
    const blocks = statements.filter(({ text }) => /BETWEEN \? AND \?/.test(text)).length;
    expect(blocks).toBeGreaterThan(0);
    if (sort[0]!.parameter !== '_lastUpdated') expect(blocks).toBeLessThan(4);
  });

  test('are left to the other ways where blocks do not differ', async () => {
    const shuffled = new SqliteStore(':memory:');
    // 263 and the number of resources have no common factor.
    const order = Array.from({ length: COUNT }, (_, index) => resources[(index * 263) % COUNT]!);
    const all = await write(
      shuffled,
      order.map((one) => (one.id! >= 'o0500' ? Object.assign({}, one, { status: 'preliminary' }) : one)),
    );
    Object.assign(TUNING, {
      looks: [2, 40, 100, Infinity],
      firstChunk: 1,
      maxChunk: 8,
      blocksFrom: 40,
      blocksPerScanned: 6,
    });
    const query: SearchQuery = {
      project: PROJECT,
      type: 'Observation',
      criteria: status('final'),
      sort: [by('date', true)],
      limit: 5,
    };
    const statements = vi.spyOn(Statements.prototype, 'all');
    const { matches } = await shuffled.search(query);
    const blocks = statements.mock.calls.filter(([{ text }]) => /BETWEEN \? AND \?/.test(text)).length;
    statements.mockRestore();
    const expected = new ReferenceSearch(store.model, all).search({ ...query, total: true }).ids;
    expect(matches.map(({ resource }) => resource.id)).toEqual(expected);
    expect(blocks).toBe(4);
  });

  test('look up conditions and the resources of a block by ranges of indexes', async () => {
    Object.assign(TUNING, {
      looks: [2, 4, Infinity],
      firstChunk: 1,
      maxChunk: 4,
      blocksFrom: 2,
      blocksPerScanned: 1e6,
    });
    const all = vi.spyOn(Statements.prototype, 'all');
    const search = { project: PROJECT, type: 'Observation', limit: 5 };
    await store.search({ ...search, criteria: status('registered'), sort: [by('date', true)] });
    await store.search({ ...search, criteria: dates('ge', Date.UTC(2001, 6, 1)), sort: [by('_id')] });
    const statements = all.mock.calls.map(([one]) => one);
    const planOf = ({ text, values }: Sql): string =>
      (database.prepare(`EXPLAIN QUERY PLAN ${text.replaceAll('?', '+?')}`).all(...values) as { detail: string }[])
        .map(({ detail }) => detail)
        .join('\n');
    const plans = statements.filter(({ text }) => text.includes('BETWEEN') || text.includes('zone z')).map(planOf);
    expect(plans.length).toBeGreaterThanOrEqual(5);
    expect(plans.filter((plan) => /SCAN (?!j |json_each|r0|s$|\()/.test(plan))).toEqual([]);
    const ofIndex = plans.filter((plan) =>
      plan.includes('token_by_value (parameter=? AND code=? AND resource>? AND resource<?)'),
    );
    expect(ofIndex.length).toBeGreaterThanOrEqual(2);
    const ofKeys = plans.filter((plan) => plan.includes('SEARCH y USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)'));
    expect(ofKeys.length).toBeGreaterThanOrEqual(1);
  });
});

describe('scans of several conditions', () => {
  const has = (parameter: string, code: string): Criteria => ({
    kind: 'match',
    parameter,
    test: { kind: 'token', code },
  });
  const both = (...of: Criteria[]): Criteria => ({ kind: 'and', of });
  const resources = Array.from(
    { length: 300 },
    (_, index) =>
      ({
        resourceType: 'Observation',
        id: `o${index}`,
        status: index % 3 === 0 ? 'final' : 'amended',
        category: [{ coding: [{ code: index % 3 === 0 ? 'exam' : 'laboratory' }] }],
        [index % 2 === 0 ? 'method' : 'bodySite']: { coding: [{ code: 'x' }] },
        ...(index % 2 === 0 ? {} : { valueCodeableConcept: { coding: [{ code: 'v' }] } }),
      }) as AnyResource,
  );
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  const memory = new MemoryStore();
  beforeAll(async () => {
    await write(store, resources);
    await memory.commit(resources.map((one) => put(one)));
  });

  async function looked(criteria: Criteria): Promise<readonly string[]> {
    Object.assign(TUNING, {
      looks: [2, 100, 1e4, Infinity],
      presenceFrom: 10,
      indirectFrom: 1e4,
      firstChunk: 1,
      maxChunk: 8,
    });
    const query: SearchQuery = {
      project: PROJECT,
      type: 'Observation',
      criteria,
      limit: 5,
      sort: [{ parameter: '_id', descending: false }],
    };
    const get = vi.spyOn(Statements.prototype, 'get');
    const { matches } = await store.search(query);
    const texts = get.mock.calls.map(([{ text }]) => text);
    get.mockRestore();
    expect(matches.map(({ resource }) => resource.id)).toEqual(
      (await memory.search(query)).matches.map(({ resource }) => resource.id),
    );
    return texts;
  }

  test('conditions whose parameters no resource has together end by the number of shapes', async () => {
    const texts = await looked(both(has('method', 'x'), has('value-concept', 'v')));
    expect(texts.at(-1)).toContain('INDEXED BY resource_by_shape');
  });

  test('their numbers are those of the reference', async () => {
    for (const criteria of [
      both(has('method', 'x'), has('value-concept', 'v')),
      both(has('status', 'final'), has('category', 'exam')),
      both(has('method', 'x'), { kind: 'missing', parameter: 'value-concept', missing: true }, has('status', 'final')),
      both(has('method', 'x'), { kind: 'not', of: { kind: 'missing', parameter: 'value-concept', missing: true } }),
    ]) {
      const query: SearchQuery = { project: PROJECT, type: 'Observation', criteria, limit: 0, total: true };
      expect((await store.search(query)).total).toBe((await memory.search(query)).total);
    }
  });
});
