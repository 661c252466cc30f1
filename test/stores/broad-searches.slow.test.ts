import Database from 'better-sqlite3';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  type AnyResource,
  executeFhirGraphql,
  MemoryStore,
  type ResourceStore,
  systemCaller,
} from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import {
  type CallOptions,
  type Criteria,
  R4,
  type SearchQuery,
  type SortKey,
  type StatementPlan,
} from '../../src/store.js';
import { createRandom, PROJECT, put } from '../support/kit.js';
import { rowScope } from '../../src/stores/sql/rows.js';
import type { Sql } from '../../src/stores/sql/sql.js';
import { sqliteDialect } from '../../src/stores/sqlite/rows/dialect.js';
import { createDictionaries } from '../../src/stores/sqlite/rows/dictionary.js';
import { orderIndexOf } from '../../src/stores/sqlite/scans/order-index.js';
import { conditionsOf } from '../../src/stores/sql/pages/condition.js';
import { inStretch, stretchFrom } from '../../src/stores/sqlite/pages/stretch.js';
import { TUNING } from '../../src/stores/sqlite/scans/tuning.js';
import { Statements } from '../../src/stores/sqlite/database/statements.js';
import { skewedResources } from '../../src/testing/suites/random-searches.js';

const DEFAULTS = { ...TUNING };
afterEach(() => void Object.assign(TUNING, DEFAULTS));

async function storeOf(resources: readonly AnyResource[], database = new Database(':memory:')): Promise<AnyResource[]> {
  const store = new SqliteStore(database);
  const results = await store.commit(resources.map((resource) => put(resource)));
  return results.map((result) => (result as unknown as { readonly resource: AnyResource }).resource);
}

describe('a page costs only its rows', () => {
  const COUNT = 3_000;
  const database = new Database(':memory:');
  const statements = new Statements(database);

  beforeAll(async () => {
    await storeOf(skewedResources(COUNT, createRandom(1)), database);
  });

  const ALL: Criteria = { kind: 'all' };
  const status = (code: string): Criteria => ({ kind: 'match', parameter: 'status', test: { kind: 'token', code } });
  const FINAL = status('final');
  const NOT_RARE: Criteria = { kind: 'not', of: status('amended') };
  const by = (parameter: string, descending = false): SortKey => ({ parameter, descending });
  const SINCE: Criteria = {
    kind: 'match',
    parameter: 'date',
    test: { kind: 'date', prefix: 'ge', low: Date.UTC(2020, 9, 1), high: Date.UTC(2020, 9, 2) },
  };
  const AFTER = { after: { values: [Date.UTC(2020, 6, 1)], id: 'o' } };

  test.each<[string, StatementPlan['way'], Criteria, readonly SortKey[], Partial<SearchQuery>?]>([
    ['the first ids', 'collect', ALL, []],
    ['the latest', 'walk', ALL, [by('date', true)]],
    ['the latest after a position', 'walk', ALL, [by('date')], AFTER],
    ['the latest updated', 'segments', ALL, [by('_lastUpdated', true)]],
    ['the first of a frequent status', 'walk', FINAL, [by('date')]],
    ['the latest of a status that was frequent long ago', 'segments', FINAL, [by('date', true)]],
    ['of a frequent status, after a position', 'walk', FINAL, [by('date')], AFTER],
    ['of a rare status, by date', 'collect', status('amended'), [by('date')]],
    ['a negated rare status', 'walk', NOT_RARE, [by('date', true)]],
    ['of a frequent status, by a value of few', 'walk', FINAL, [by('value-string')]],
    ['by a value that nearly all share, then by date', 'segments', ALL, [by('status', true), by('date', true)]],
    ['since a date, the first after it', 'walk', SINCE, [by('date')]],
    ['a thousandth page', 'segments', ALL, [by('date')], { offset: 2_000 }],
  ])('%s: %s', async (_, way, criteria, sort, more = {}) => {
    Object.assign(TUNING, { narrow: 200, maxChunk: 1_000 });
    const query: SearchQuery = { project: PROJECT, type: 'Observation', criteria, sort, limit: 10, ...more };
    const store = new SqliteStore(database);
    await store.reindex({ pendingOnly: true });
    const [page] = await store.explain({ kind: 'search', query });
    expect(page!.way).toBe(way);
    Object.assign(TUNING, { narrow: 0, walked: 0, maxChunk: 64 });
    const idsOf = async (): Promise<unknown> => (await store.search(query)).matches.map(({ resource }) => resource.id);
    const bySegments = await idsOf();
    Object.assign(TUNING, { maxWritten: -1 });
    expect(await idsOf()).toEqual(bySegments);
    await store.close();
  });

  test.each([false, true])('a stretch among equal strings is a range of their rows (descending: %s)', (descending) => {
    const dialect = sqliteDialect(R4, createDictionaries(database, statements));
    const scope = rowScope({ project: PROJECT, dialect }, 'Observation');
    const key = by('value-string', descending);
    const order = { scope, keys: [key, by('_id')], backwards: false };
    const index = orderIndexOf(key, scope)!;
    const stretch = stretchFrom(order, index, undefined);
    const { text, values } = inStretch(order, index, stretch, [], ['smith', 7]);
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values) as readonly {
      readonly detail: string;
    }[];
    const rows = plan.map(({ detail }) => detail).filter((detail) => detail.includes('SEARCH w'));
    const range = descending ? '>' : '<';
    expect(rows).toEqual([
      expect.stringContaining(`(parameter=? AND <expr>${range}?)`),
      expect.stringContaining(`(parameter=? AND <expr>=? AND resource${range}?)`),
    ]);
  });

  test('a resource is looked up after the tests that need only its key', () => {
    const dialect = sqliteDialect(R4, createDictionaries(database, statements));
    const scope = rowScope({ project: PROJECT, dialect }, 'Observation');
    const key = by('date');
    const order = { scope, keys: [key, by('_id')], backwards: false };
    const index = orderIndexOf(key, scope)!;
    const stretch = stretchFrom(order, index, undefined);
    const conditions = conditionsOf(FINAL, scope);
    const { text, values } = inStretch(order, index, stretch, conditions, undefined);
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${text.replaceAll('?', '+?')}`).all(...values) as readonly {
      readonly detail: string;
    }[];
    const searches = plan.map(({ detail }) => /^SEARCH (\w)/.exec(detail)?.[1]).filter(Boolean);
    expect(searches).toEqual(['w', 'x', 'm']);
  });
});

describe('the work of a search', () => {
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  const status: Criteria = { kind: 'match', parameter: 'status', test: { kind: 'token', code: 'final' } };

  beforeAll(async () => {
    await storeOf(skewedResources(1_500, createRandom(3)), database);
  });

  /** The statements of a search that select from resources, without those that load them. */
  async function statementsOf(query: Partial<SearchQuery>): Promise<readonly Sql[]> {
    const all = vi.spyOn(Statements.prototype, 'all');
    const { matches } = await store.search({
      project: PROJECT,
      type: 'Observation',
      criteria: status,
      limit: 10,
      ...query,
    });
    expect(matches.length).toBe(10);
    const statements = all.mock.calls.map(([statement]) => statement);
    all.mockRestore();
    return statements.filter(({ text }) => !text.includes('FROM version'));
  }

  test('codes are found by one row per resource', async () => {
    Object.assign(TUNING, { narrow: 100, walked: 0 });
    const [scan] = await statementsOf({ sort: [{ parameter: 'date', descending: true }] });
    expect(scan!.text).toContain('x.extreme & 5 <> 0');
    const rows = database.prepare('SELECT count(*), count(DISTINCT resource) FROM token WHERE code = ?').raw();
    const [indexed, resources] = rows.get('final') as [number, number];
    expect(indexed).toBe(2 * resources);
  });

  test.each(['date', 'subject'])(
    'all matches by %s are not sorted by the database, which ignores the deadline',
    async (key) => {
      const all = vi.spyOn(Statements.prototype, 'all');
      const sort = [{ parameter: key, descending: false }];
      const { matches } = await store.search({ project: PROJECT, type: 'Observation', criteria: status, sort });
      const statements = all.mock.calls.map(([{ text }]) => text);
      all.mockRestore();
      expect(matches.length).toBeGreaterThan(1_000);
      expect(statements.filter((text) => text.includes('ORDER BY'))).toEqual([]);
    },
  );

  test('a scan without a row gives the answer', async () => {
    Object.assign(TUNING, { narrow: 1, walked: 0 });
    const text = { kind: 'string', comparator: 'starts-with', text: 'zzz' } as const;
    const criteria: Criteria = { kind: 'match', parameter: 'value-string', test: text };
    const all = vi.spyOn(Statements.prototype, 'all');
    const sort = [{ parameter: 'subject', descending: false }];
    const { matches } = await store.search({ project: PROJECT, type: 'Observation', criteria, sort, limit: 10 });
    const texts = all.mock.calls.map(([statement]) => statement.text);
    all.mockRestore();
    expect(matches).toEqual([]);
    expect(texts.filter((one) => !one.includes('FROM version'))).toEqual([]);
  });

  test('a position with a value that no resource has comes after the resources that equal its other values', async () => {
    const memory = new MemoryStore();
    const { matches } = await store.search({ project: PROJECT, type: 'Observation', criteria: { kind: 'all' } });
    await memory.commit(matches.map(({ resource }) => put(resource)));
    const by = (parameter: string): SortKey => ({ parameter, descending: false });
    const after = { values: ['final', 'x'], id: 'zzz' };
    const query = {
      project: PROJECT,
      type: 'Observation',
      criteria: { kind: 'not', of: status } as const,
      sort: [by('status'), by('value-concept')],
      limit: 3,
    };
    for (const edge of [{ after }, { before: after }]) {
      const ids = async (one: ResourceStore): Promise<readonly (string | undefined)[]> =>
        (await one.search({ ...query, ...edge })).matches.map(({ resource }) => resource.id);
      expect(await ids(store)).toEqual(await ids(memory));
    }
  });
});

describe('a statement ends at the deadline of its call', () => {
  const database = new Database(':memory:');
  const store = new SqliteStore(database);

  beforeAll(async () => {
    await storeOf(skewedResources(1_500, createRandom(2)), database);
  });

  /** From now on a millisecond passes whenever somebody looks at the clock. */
  function slowClock(): () => number {
    let now = performance.now();
    let looks = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => (looks++, ++now));
    return () => looks;
  }

  afterEach(() => void vi.restoreAllMocks());

  const BY_SUBJECT: readonly SortKey[] = [{ parameter: 'subject', descending: false }];
  const OR_ABOVE: Criteria = {
    kind: 'match',
    parameter: 'date',
    test: { kind: 'date', prefix: 'ne', low: 0, high: 1 },
  };
  const CALLS: readonly (readonly [string, Partial<SearchQuery>])[] = [
    ['a sort that no index has', { sort: BY_SUBJECT, limit: 5 }],
    [
      'a count that tests each resource',
      {
        criteria: { kind: 'and', of: [OR_ABOVE, { kind: 'missing', parameter: 'date', missing: false }] },
        limit: 0,
        total: true,
      },
    ],
    ['a list without end', {}],
  ];

  test.each(CALLS)('%s', async (_, query) => {
    const ask = (options: CallOptions): Promise<unknown> =>
      store.search({ project: PROJECT, type: 'Observation', criteria: { kind: 'all' }, ...query }, options);
    await ask({});
    const looks = slowClock();
    const failure = expect.objectContaining({ code: 'aborted', details: { deadline: true } });
    await expect(ask({ deadline: performance.now() + 3 })).rejects.toEqual(failure);
    expect(looks()).toBeLessThan(12);
  });

  test('with the deadline of the request, in GraphQL, and the error of its limit', async () => {
    slowClock();
    const context = { store, caller: systemCaller(PROJECT), limits: { timeout: 6 } };
    const { errors } = await executeFhirGraphql('{ ObservationList(_sort: "subject", _count: 5) { id } }', context);
    expect(errors![0]!.extensions).toMatchObject({ code: 'too-costly', details: { limit: 'timeout', max: 6 } });
    expect(errors![0]!.message).toBe(
      'The query ran longer than 6 ms: narrow its searches (by patient, code or date) and page with _count',
    );
  });

  test('and the next call has its own time', async () => {
    const query = { project: PROJECT, type: 'Observation', criteria: { kind: 'all' }, limit: 1 } as const;
    await expect(store.search(query, { deadline: 0 })).rejects.toMatchObject({ code: 'aborted' });
    expect((await store.search(query)).matches.length).toBe(1);
  });
});
