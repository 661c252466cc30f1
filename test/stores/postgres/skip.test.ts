import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { R4 } from '../../../src/fhir/r4.js';
import type { AnyResource } from '../../../src/fhir/resource.js';
import type { Criteria, SortKey } from '../../../src/search/criteria/criteria.js';
import type { Connections } from '../../../src/stores/postgres/database/connections.js';
import type { PostgresPool } from '../../../src/stores/postgres/database/driver.js';
import { projectKey } from '../../../src/stores/postgres/rows/keys.js';
import { TUNING } from '../../../src/stores/postgres/scans/tuning.js';
import type { Row } from '../../../src/stores/postgres/database/lent-connection.js';
import { createSkipCache } from '../../../src/stores/postgres/skip/read/skip-cache.js';
import { SkipIndex } from '../../../src/stores/postgres/skip/read/skip-index.js';
import type { StaleType } from '../../../src/stores/postgres/skip/read/skip-state.js';
import { pauseAfter, SkipIndexes } from '../../../src/stores/postgres/skip/skip-indexes.js';
import type { RowScope } from '../../../src/stores/sql/rows.js';
import { FORMAT, SKIP_TUNING } from '../../../src/stores/postgres/rows/skip-row.js';
import { COPY } from '../../../src/stores/postgres/database/copy-text.js';
import { PostgresStore } from '../../../src/stores/postgres/store.js';
import { keyOf, PROJECT, queryOf } from '../../../src/testing/conformance-case.js';
import { createRandom, oneOf } from '../../../src/testing/random.js';
import { randomResources } from '../../../src/testing/random-resources.js';
import { skewedResources } from '../../../src/testing/skewed-resources.js';
import { assertSearches } from '../../../src/testing/suites/random-searches.js';
import { cases, SEED, someOf } from '../../support/chance.js';
import { until } from '../../support/until.js';
import { correlatedObservations } from '../correlated-observations.js';
import { noting, postgresPool, through } from './pool.js';
import { buildSkips, rowsOf } from './skip-build.js';
import { above, assertTextsAfterCodes, by, match, write } from '../skip-cases.js';

const DEFAULTS = { ...TUNING };
const SKIPS = { ...SKIP_TUNING };
// Few resources are many parts.
beforeAll(() => void Object.assign(SKIP_TUNING, { granule: 8, minGranules: 4, minHolders: 2 }));
afterEach(() => void Object.assign(TUNING, DEFAULTS));

async function countRows(pool: PostgresPool, table = 'fhirgraph_skip'): Promise<number> {
  return Number((await rowsOf(pool, `SELECT count(*) FROM ${table}`))[0]![0]);
}

const WAYS = {
  'part by part, a match at a time': {
    walkedFirst: 0,
    mostShare: 2,
    looks: [Infinity],
    fewTogether: -1,
    firstBatch: 0,
    maxBatch: 1,
  },
  'part by part, some matches at a time': {
    walkedFirst: 0,
    mostShare: 2,
    looks: [Infinity],
    fewTogether: 4,
    firstBatch: 4,
  },
  'sorted at once': { walkedFirst: 0, mostShare: 2, looks: [Infinity], fewTogether: Infinity },
  'in turn with longer and longer looks': {
    walkedFirst: 3,
    stretch: 3,
    looks: [2, 8, 32, Infinity],
    fewTogether: 2,
    firstBatch: 1,
    maxBatch: 4,
    maxTested: 4,
  },
};

describe('with skip indexes every way to a page gives the same page', () => {
  let pool: PostgresPool;
  let current: readonly AnyResource[];
  const random = createRandom(SEED);

  beforeAll(async () => {
    pool = await postgresPool();
    const store = new PostgresStore(pool);
    const stored = await write(store, [...skewedResources(120, random), ...randomResources(random)]);
    await buildSkips(pool, new Set(stored.map(({ resourceType }) => resourceType)));
    expect(await countRows(pool)).toBeGreaterThan(50);
    current = [...new Map(stored.map((one) => [`${one.resourceType}/${one.id}`, one])).values()];
    await store.close();
  });

  test.each(Object.entries(WAYS))('%s', async (_, tuning) => {
    Object.assign(TUNING, tuning);
    Object.assign(SKIP_TUNING, { maxNumbered: tuning === WAYS['sorted at once'] ? SKIPS.maxNumbered : 2 });
    const store = new PostgresStore(pool);
    await assertSearches(store, PROJECT, current, random, cases(150, 8));
    await store.close();
  });
});

describe('with skip indexes and further writes every way to a page gives the same page', () => {
  let pool: PostgresPool;
  let current: readonly AnyResource[];
  const random = createRandom(SEED);

  beforeAll(async () => {
    pool = await postgresPool();
    const store = new PostgresStore(pool);
    const first = await write(store, skewedResources(120, random));
    await buildSkips(pool, ['Observation']);
    const deleted = new Set<string>();
    for (let round = 0; round < 8; round++) deleted.add(oneOf(first, random).id!);
    await store.commit([...deleted].map((id) => ({ kind: 'delete', key: keyOf('Observation', id) })));
    const changed = first.slice(0, 30).map((one, index) => ({ ...first[index + 40]!, id: one.id }));
    const later = [...changed.filter(({ id }) => !deleted.has(id!)), ...randomResources(random)];
    const second = await write(store, later);
    expect(await countRows(pool, 'fhirgraph_skip_written')).toBeGreaterThan(20);
    const all = [...first.filter(({ id }) => !deleted.has(id!)), ...second];
    current = [...new Map(all.map((one) => [`${one.resourceType}/${one.id}`, one])).values()];
    await store.close();
  });

  test.each(someOf(Object.entries(WAYS), 2))('%s', async (_, tuning) => {
    Object.assign(TUNING, tuning);
    Object.assign(SKIP_TUNING, { maxNumbered: tuning === WAYS['sorted at once'] ? SKIPS.maxNumbered : 2 });
    expect(await countRows(pool, 'fhirgraph_skip_written')).toBeGreaterThan(20);
    const store = new PostgresStore(pool);
    await assertSearches(store, PROJECT, current, random, cases(150, 8));
    await store.close();
  });
});

test.each([true, false])('a value below those of all granules has its position, descending: %s', async (descending) => {
  const pool = await postgresPool();
  const store = new PostgresStore(pool);
  const subject = { reference: 'Patient/p' };
  const coded = (id: string, code: string): AnyResource => ({
    ...{ resourceType: 'Observation', id, status: 'final', code: { coding: [{ code }] }, subject },
  });
  await write(store, [
    ...Array.from({ length: 24 }, (_, n) => coded(`m${String(n).padStart(2, '0')}`, 'm')),
    ...Array.from({ length: 24 }, (_, n) => coded(`p${String(n).padStart(2, '0')}`, `p${n + 10}`)),
  ]);
  await buildSkips(pool, ['Observation']);
  await write(store, [coded('low', 'a'), coded('between', 'n')]);
  Object.assign(TUNING, { looks: [Infinity], fewTogether: 4, firstBatch: 4 });
  Object.assign(SKIP_TUNING, { maxNumbered: 2 });
  const place = { id: 'm20', values: ['m'] };
  const sort = [by('code', descending)];
  const criteria: Criteria = { kind: 'missing', parameter: 'subject', missing: false };
  const { matches } = await store.search(queryOf('Observation', criteria, { sort, limit: 5, after: place }));
  const rest = ['m21', 'm22', 'm23'];
  expect(matches.map(({ resource }) => resource.id)).toEqual(
    descending ? [...rest, 'low'] : [...rest, 'between', 'p00'],
  );
  await store.close();
});

test('later writes are tested if nearly all other resources meet a condition', async () => {
  const pool = await postgresPool();
  const store = new PostgresStore(pool);
  const coded = (id: string, code: string, about?: object): AnyResource => ({
    ...{ resourceType: 'Observation', id, status: 'final', code: { coding: [{ code }] }, ...about },
  });
  const subject = { reference: 'Patient/p' };
  const ids = Array.from({ length: 48 }, (_, n) => `m${String(n).padStart(2, '0')}`);
  await write(
    store,
    ids.map((id, n) => coded(id, `m${n + 10}`, { subject })),
  );
  await buildSkips(pool, ['Observation']);
  await write(store, [
    coded('none', 'a'),
    coded('one', 'b', { subject }),
    coded('m01', 'm10'),
    coded('m03', 'm12', { subject }),
  ]);
  Object.assign(TUNING, { looks: [Infinity], fewTogether: 2, firstBatch: 1, maxBatch: 4 });
  const criteria: Criteria = { kind: 'missing', parameter: 'subject', missing: false };
  const { matches } = await store.search(queryOf('Observation', criteria, { sort: [by('code')], limit: 5 }));
  expect(matches.map(({ resource }) => resource.id)).toEqual(['one', 'm00', 'm02', 'm03', 'm04']);
  await store.close();
});

test.each(Object.entries(WAYS))(
  'a page in the order of codes has resources with only a text: %s',
  async (_, tuning) => {
    const store = new PostgresStore(await postgresPool());
    Object.assign(TUNING, tuning);
    await assertTextsAfterCodes(store);
    await store.close();
  },
);

const before = (day: string): Criteria => {
  const low = Date.parse(day);
  return { kind: 'match', parameter: 'date', test: { kind: 'date', prefix: 'lt', low, high: low + 86_400_000 } };
};
const since = (year: number): Criteria => ({
  kind: 'match',
  parameter: 'date',
  test: { kind: 'date', prefix: 'ge', low: Date.UTC(year, 0), high: Date.UTC(year + 1, 0) },
});
const not = (of: Criteria): Criteria => ({ kind: 'not', of });
const and = (...of: readonly Criteria[]): Criteria => ({ kind: 'and', of });
const missing = (parameter: string): Criteria => ({ kind: 'missing', parameter, missing: true });

describe('a page costs only its rows if conditions and order depend on each other', () => {
  let pool: PostgresPool;
  const rows: number[] = [];
  let store: PostgresStore;

  beforeAll(async () => {
    pool = await postgresPool();
    store = new PostgresStore(counting(pool, rows));
    const resources = correlatedObservations(1_500);
    for (let start = 0; start < resources.length; start += 500) await write(store, resources.slice(start, start + 500));
    Object.assign(SKIP_TUNING, { granule: 32 });
    await buildSkips(pool, ['Observation']);
    Object.assign(SKIP_TUNING, { granule: 8 });
  });

  /** Rows of tables and indexes that were read, and the page. */
  async function ask(criteria: Criteria, sort: readonly SortKey[]): Promise<readonly [read: number, page: string]> {
    rows.length = 0;
    const { matches } = await store.search(queryOf('Observation', criteria, { sort, limit: 10 }));
    expect(matches.length).toBe(10);
    return [sum(rows), matches.map((one) => JSON.stringify(one)).join()];
  }

  test.each<[string, Criteria, readonly SortKey[]]>([
    ['a code of old resources, latest first', match('status', 'corrected'), [by('date', true)]],
    ['a code of new resources, oldest first', match('status', 'final'), [by('date')]],
    ['not the code of new resources, latest first', not(match('status', 'final')), [by('date', true)]],
    ['a range of another parameter, oldest first', above(250), [by('date')]],
    ['a range of the date, highest first', before('2011-01-01'), [by('value-quantity', true)]],
    ['without a reference that new resources have, latest first', missing('subject'), [by('date', true)]],
    [
      'a code of old resources in the group of a code',
      match('status', 'corrected'),
      [by('status', true), by('date', true)],
    ],
    ['two codes, latest first', and(match('status', 'corrected'), match('code', 'c1')), [by('date', true)]],
    ['by a reference', { kind: 'all' }, [by('subject')]],
    ['a code, by a reference, then by date', match('status', 'corrected'), [by('subject', true), by('date')]],
  ])('%s', async (_, criteria, sort) => {
    Object.assign(TUNING, { looks: [Infinity], stretch: 40, growth: 2, fewTogether: 8, firstBatch: 2 });
    const [with_, page] = await ask(criteria, sort);
    Object.assign(SKIP_TUNING, { maxPending: -1 });
    const [without, expected] = await ask(criteria, sort);
    Object.assign(SKIP_TUNING, { maxPending: SKIPS.maxPending });
    expect(page).toBe(expected);
    expect(with_).toBeLessThan(without / 2);
  });

  test('the first rows of a walk fill the page before a set is built', async () => {
    const sets: string[] = [];
    const noted = new PostgresStore(noting(pool, sets));
    const read = async (criteria: Criteria): Promise<number> => {
      sets.length = 0;
      const page = queryOf('Observation', criteria, { sort: [by('date', true)], limit: 10 });
      expect((await noted.search(page)).matches.length).toBe(10);
      return sets.filter((text) => text.includes('fhirgraph_skip')).length;
    };
    Object.assign(TUNING, { looks: [Infinity], stretch: 160 });
    expect(await read(above(20))).toBe(0);
    expect(await read(not(above(100)))).toBeGreaterThan(0);
    // Of a set that has most resources, a granule has more than a page.
    expect(await read(match('status', 'final'))).toBeGreaterThan(0);
    expect(sets.filter((text) => text.includes('fhirgraph_skip_key'))).toEqual([]);
    await noted.close();
  });

  test.each<[string, Criteria]>([
    ['all', { kind: 'all' }],
    ['a code', match('status', 'corrected')],
    ['not a code', not(match('status', 'corrected'))],
    ['two codes', and(match('status', 'final'), match('code', 'c1'))],
    ['a code but not another', and(match('status', 'final'), not(match('code', 'c1')))],
    ['a code above a value', and(match('status', 'final'), above(130))],
    ['a code since a year', and(match('code', 'c1'), since(2012))],
    [
      'one of two codes before a day',
      and({ kind: 'or', of: [match('status', 'final'), match('code', 'c1')] }, before('2013-01-01')),
    ],
  ])('%s is counted by sets, and rows at the ends of ranges', async (_, criteria) => {
    Object.assign(TUNING, { looks: [Infinity] });
    const count = async (): Promise<readonly [read: number, total: number]> => {
      rows.length = 0;
      const { total } = await store.search(queryOf('Observation', criteria, { limit: 0, total: true }));
      return [sum(rows), total!];
    };
    const [read, total] = await count();
    Object.assign(SKIP_TUNING, { maxPending: -1 });
    const [without, expected] = await count();
    Object.assign(SKIP_TUNING, { maxPending: SKIPS.maxPending });
    expect(total).toBe(expected);
    expect(total).toBeGreaterThan(20);
    expect(read).toBeLessThan(without / 3);
  });

  test('conditions that exclude each other find nothing without reading a row', async () => {
    const page = queryOf('Observation', and(match('status', 'corrected'), above(200)), { limit: 10 });
    const count = async (): Promise<number> => {
      rows.length = 0;
      expect((await store.search(page)).matches).toEqual([]);
      return sum(rows);
    };
    Object.assign(TUNING, { looks: [100, 1_000, Infinity], stretch: 40, growth: 2 });
    const read = await count();
    Object.assign(SKIP_TUNING, { maxPending: -1 });
    const without = await count();
    Object.assign(SKIP_TUNING, { maxPending: SKIPS.maxPending });
    // The first statement and the first stretches remain.
    expect(read).toBeLessThan(without / 2);
  });

  test('an intersection with a code that nearly all resources have is not collected from that code', async () => {
    rows.length = 0;
    Object.assign(TUNING, { looks: [10, 100, Infinity], stretch: 40 });
    const criteria = and(match('status', 'final'), match('code', 'c1'));
    const page = queryOf('Observation', criteria, { sort: [by('value-quantity', true)], limit: 10 });
    expect((await store.search(page)).matches.length).toBe(10);
    expect(sum(rows)).toBeLessThan(2_000);
  });
});

test('resources with another code are counted without comparing resources', async () => {
  const pool = await postgresPool();
  const statements: string[] = [];
  const store = new PostgresStore(noting(pool, statements));
  const coded = Array.from({ length: 90 }, (_, index) => ({
    resourceType: 'Observation',
    id: `o${index}`,
    status: 'final',
    code: { text: 'x' },
    category: [['exam'], ['exam', 'laboratory'], ['laboratory'], []][index % 4]!.map((code) => ({
      coding: [{ code }],
    })),
  }));
  await write(store, coded);
  await buildSkips(pool, ['Observation']);
  await write(store, coded.slice(0, 9));
  const other: Criteria = {
    kind: 'match',
    parameter: 'category',
    test: { kind: 'token', code: 'exam', negated: true },
  };
  statements.length = 0;
  const { total } = await store.search(queryOf('Observation', other, { limit: 0, total: true }));
  expect(total).toBe(coded.filter(({ category }) => category.some(({ coding }) => coding[0]!.code !== 'exam')).length);
  expect(statements.filter((text) => /DISTINCT d\.resource/.test(text))).toEqual([]);
  await store.close();
});

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

/** A pool that counts the rows that each search reads. */
function counting(pool: PostgresPool, rows: number[]): PostgresPool {
  return through(pool, async (statement, client) => {
    if (/^\s*(?:WITH [lstk]0|SELECT \()/.test(statement.text)) {
      const text = `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${statement.text}`;
      const [[answer]] = (await client.query({ ...statement, text })).rows as [[unknown]];
      const [{ Plan }] = (typeof answer === 'string' ? JSON.parse(answer) : answer) as [{ readonly Plan: PlanNode }];
      rows.push(examined(Plan));
    }
    return client.query(statement);
  });
}

interface PlanNode {
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

function examined(node: PlanNode): number {
  const own = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
  const below = (node.Plans ?? []).reduce((sum, one) => sum + examined(one), 0);
  // Of numbers a database this small reads all keys each time.
  return below + ('Relation Name' in node && node['Relation Name'] !== 'fhirgraph_skip_key' ? own : 0);
}

describe('skip indexes', () => {
  async function filled(): Promise<{ readonly pool: PostgresPool; readonly store: PostgresStore }> {
    const pool = await postgresPool();
    const store = new PostgresStore(pool);
    await write(store, correlatedObservations(100));
    await buildSkips(pool, ['Observation']);
    expect(await countRows(pool)).toBeGreaterThan(20);
    return { pool, store };
  }

  test('are deleted when a resource of the type is erased, and when the project is removed', async () => {
    const { pool, store } = await filled();
    await store.commit([{ kind: 'erase', key: keyOf('Observation', 'o000000'), reason: 'test' }]);
    expect(await countRows(pool)).toBe(0);
    await buildSkips(pool, ['Observation']);
    expect(await countRows(pool)).toBeGreaterThan(20);
    await store.removal.removeProject(PROJECT);
    expect(await countRows(pool)).toBe(0);
    expect(await countRows(pool, 'fhirgraph_skip_type')).toBe(0);
  });

  test('are deleted when a version is purged that they can contain', async () => {
    const { pool, store } = await filled();
    const replacedBefore = new Date(Date.now() + 60_000).toISOString();
    await store.removal.purgeHistory({ project: PROJECT, keep: 1, replacedBefore });
    expect(await countRows(pool)).toBeGreaterThan(20);
    await write(store, correlatedObservations(1));
    await store.removal.purgeHistory({ project: PROJECT, keep: 1, replacedBefore });
    expect(await countRows(pool)).toBe(0);
  });

  test('with wrong rows are reported by verify, and rebuilt after reindex()', async () => {
    const { pool, store } = await filled();
    const ask = async (): Promise<readonly string[]> => (await store.verify()).problems;
    const wrong = (rows: number): string[] => [
      `The skip index of Observation in ${PROJECT}: rows that are wrong: ${rows}`,
    ];
    expect(await ask()).toEqual([]);
    const damages = [
      "UPDATE fhirgraph_skip SET data = 'AQAA' WHERE value = 'vfinal'",
      "DELETE FROM fhirgraph_skip WHERE value = 'vc1'",
      "INSERT INTO fhirgraph_skip SELECT project, type, sort, subject, 'vc9', data FROM fhirgraph_skip WHERE value = 'vc2'",
      'UPDATE fhirgraph_skip_key SET keys = (SELECT array_agg(k ORDER BY k DESC) FROM unnest(keys) k)',
    ];
    let rows = 0;
    for (const damage of damages) {
      const damaged = (await rowsOf(pool, `${damage} RETURNING 1`)).length;
      expect(damaged).toBeGreaterThan(0);
      expect(await ask()).toEqual(wrong((rows += damaged)));
    }
    // The index does not include later writes.
    await write(store, correlatedObservations(1));
    expect(await ask()).toEqual([]);
    await rowsOf(pool, 'DELETE FROM fhirgraph_skip_written');
    await rowsOf(pool, `UPDATE fhirgraph_skip SET data = '{' WHERE value = '' AND sort = 0`);
    expect(await ask()).toEqual(['The skip index of Observation cannot be read']);
    await store.reindex();
    expect(await ask()).toEqual([]);
    await buildSkips(pool, ['Observation']);
    expect([await ask(), (await countRows(pool)) > 20]).toEqual([[], true]);
    await store.close();
  });

  test('contain no resource that was deleted since', async () => {
    const { store } = await filled();
    Object.assign(TUNING, { looks: [Infinity] });
    const numberOf = async (criteria: Criteria): Promise<number> =>
      (await store.search(queryOf('Observation', criteria, { limit: 0, total: true }))).total!;
    const both = and(match('status', 'final'), since(2010));
    const before = [await numberOf(match('status', 'final')), await numberOf(both)];
    const { matches } = await store.search(queryOf('Observation', match('status', 'final'), { limit: 5 }));
    const keys = matches.map((one) => keyOf('Observation', (one as unknown as { resource: AnyResource }).resource.id!));
    await store.commit(keys.map((key) => ({ kind: 'delete', key })));
    const after = [await numberOf(match('status', 'final')), await numberOf(both)];
    expect(after).toEqual(before.map((count) => count - 5));
    expect(before[0]).toBeGreaterThan(50);
    await store.close();
  });

  test('are deleted by reindex()', async () => {
    const { pool, store } = await filled();
    await store.reindex();
    expect(await countRows(pool)).toBe(0);
  });

  test.each([1, Infinity])('include later writes, until they are rebuilt (COPY from %i rows)', async (fromRows) => {
    const { pool, store } = await filled();
    const before = COPY.fromRows;
    COPY.fromRows = fromRows;
    expect(await countRows(pool, 'fhirgraph_skip_written')).toBe(0);
    Object.assign(SKIP_TUNING, { maxFresh: 2 });
    await write(store, correlatedObservations(3));
    expect(await countRows(pool, 'fhirgraph_skip_written')).toBe(3);
    COPY.fromRows = before;
    await buildSkips(pool, ['Observation']);
    Object.assign(SKIP_TUNING, { maxFresh: SKIPS.maxFresh });
    expect(await countRows(pool, 'fhirgraph_skip_written')).toBe(0);
  });

  test('give full pages after deletions', async () => {
    const { store } = await filled();
    const page = queryOf('Observation', match('status', 'corrected'), { limit: 10 });
    Object.assign(TUNING, { looks: [Infinity], fewTogether: 0, firstBatch: 20 });
    const idsOf = async (): Promise<readonly unknown[]> =>
      (await store.search(page)).matches.map((one) => one.resource.id);
    const before = await idsOf();
    await store.commit(before.slice(0, 4).map((id) => ({ kind: 'delete', key: keyOf('Observation', id as string) })));
    const after = await idsOf();
    expect(after.length).toBe(10);
    expect(after.slice(0, 6)).toEqual(before.slice(4));
  });

  test('are built after a load, when the store closes', async () => {
    const pool = await postgresPool();
    const store = new PostgresStore(pool);
    Object.assign(SKIP_TUNING, { minLoad: 100 });
    await write(store, correlatedObservations(100));
    await store.close();
    Object.assign(SKIP_TUNING, { minLoad: SKIPS.minLoad });
    expect(await countRows(pool)).toBeGreaterThan(20);
  });

  test('are built after a search without them, if the pool has another connection', async () => {
    const pool = await postgresPool();
    const store = new PostgresStore({ ...pool, options: {} });
    await write(store, correlatedObservations(100));
    Object.assign(TUNING, { looks: [Infinity], stretch: 5 });
    await store.search(queryOf('Observation', match('status', 'corrected'), { sort: [by('date', true)], limit: 10 }));
    await until(async () => (await countRows(pool)) > 20);
    await store.close();
  });

  test('are built before a store closes if its search started the build', async () => {
    const pool = await postgresPool();
    await write(new PostgresStore(pool), correlatedObservations(100));
    const store = new PostgresStore({ ...pool, options: {} });
    Object.assign(TUNING, { looks: [Infinity], stretch: 5 });
    Object.assign(SKIP_TUNING, { lastWait: 600_000 });
    await store.search(queryOf('Observation', match('status', 'corrected'), { sort: [by('date', true)], limit: 10 }));
    await store.close();
    expect(await countRows(pool)).toBeGreaterThan(20);
  });

  test('that searches cannot use, or soon cannot, are rebuilt sooner than others', async () => {
    const scope = { project: PROJECT, type: 'Observation' } as RowScope;
    const notes = async (written: number, header?: object): Promise<readonly StaleType[]> => {
      const noted: StaleType[] = [];
      const run = async (): Promise<readonly Row[]> => [
        [header === undefined ? null : JSON.stringify(header), written],
      ];
      const noteStale = (one: StaleType): unknown => noted.push(one);
      await SkipIndex.open(scope, { epoch: '1', cache: createSkipCache(), noteStale }, run);
      return noted;
    };
    const header = { format: FORMAT, epoch: '1', id: 'x', size: 1, project: PROJECT, layers: [] };
    const type = { project: PROJECT, type: 'Observation' };
    expect(await notes(SKIPS.maxFresh, header)).toEqual([]);
    expect(await notes(SKIPS.maxFresh + 1, header)).toEqual([{ ...type, isUnused: false }]);
    expect(await notes(SKIPS.urgent, header)).toEqual([{ ...type, isUnused: false }]);
    expect(await notes(SKIPS.urgent + 1, header)).toEqual([{ ...type, isUnused: true }]);
    expect(await notes(SKIPS.maxPending + 1, header)).toEqual([{ ...type, isUnused: true }]);
    expect(await notes(0)).toEqual([{ ...type, isUnused: true }]);
    expect([pauseAfter(40_000, false), pauseAfter(40_000, true), pauseAfter(1, true)]).toEqual([
      160_000, 40_000, 1_000,
    ]);
  });

  test('of types that had them before are updated beside long work, over a pool of four or more', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    for (const [size, isOne, isBeside] of [
      [1, 0, 0],
      [3, 1, 0],
      [4, 1, 1],
    ] as const) {
      const working: (() => void)[] = [];
      const use = (): Promise<boolean> => new Promise((resolve) => working.push(() => resolve(false)));
      const skips = new SkipIndexes({ size, use } as unknown as Connections, R4);
      const begin = async (...types: readonly string[]): Promise<number> => {
        const before = working.length;
        for (const type of types) skips.noteStale({ project: PROJECT, type, isUnused: false });
        skips.begin();
        await turn();
        return working.length - before;
      };
      for (const type of ['B', 'C']) {
        expect(await begin(type)).toBe(isOne);
        working.at(-1)?.();
        await turn();
      }
      vi.advanceTimersByTime(60_000);
      expect(await begin('A')).toBe(isOne);
      expect(await begin('D')).toBe(0);
      expect(await begin('B')).toBe(isBeside);
      expect(await begin('C')).toBe(0);
      for (const end of working) end();
      await skips.finish();
    }
  });

  test('of other definitions are not used, and of few resources not built', async () => {
    const { pool, store } = await filled();
    await rowsOf(pool, 'UPDATE fhirgraph_skip SET data = replace(data, \'"epoch":"\', \'"epoch":"0\')');
    // Were they used, all would be without a match.
    await rowsOf(pool, "UPDATE fhirgraph_skip SET data = 'AA==' WHERE sort = 0 AND value <> ''");
    Object.assign(TUNING, { looks: [Infinity], stretch: 5 });
    const page = queryOf('Observation', match('status', 'corrected'), { sort: [by('date', true)], limit: 10 });
    expect((await store.search(page)).matches.length).toBe(10);
    await store.removal.removeProject(PROJECT);
    await write(store, correlatedObservations(31));
    await buildSkips(pool, ['Observation']);
    expect(await countRows(pool)).toBe(0);
  });

  test('of a newer version are left to that version, while it keeps them current', async () => {
    const { pool, store } = await filled();
    await rowsOf(
      pool,
      `UPDATE fhirgraph_skip SET data = replace(data, '"format":${FORMAT}', '"format":${FORMAT + 1}')`,
    );
    const stored = 'SELECT * FROM fhirgraph_skip ORDER BY sort, subject, value';
    const before = await rowsOf(pool, stored);
    Object.assign(SKIP_TUNING, { maxFresh: 0, abandoned: 6 });
    const page = queryOf('Observation', match('status', 'corrected'), { sort: [by('date', true)], limit: 10 });
    for (const written of [0, 6]) {
      await write(store, correlatedObservations(written));
      await buildSkips(pool, ['Observation']);
      expect([await rowsOf(pool, stored), await countRows(pool, 'fhirgraph_skip_written')]).toEqual([before, written]);
      expect((await store.search(page)).matches.length).toBe(10);
    }
    await write(store, correlatedObservations(1));
    await buildSkips(pool, ['Observation']);
    Object.assign(SKIP_TUNING, { maxFresh: SKIPS.maxFresh, abandoned: SKIPS.abandoned });
    expect(await countRows(pool, 'fhirgraph_skip_written')).toBe(0);
    expect((await store.verify()).problems).toEqual([]);
    await store.close();
  });

  test('have their tables in databases that were created before them', async () => {
    const { pool, store } = await filled();
    await store.close();
    for (const name of ['', '_type', '_written', '_key']) await rowsOf(pool, `DROP TABLE fhirgraph_skip${name}`);
    await rowsOf(pool, "UPDATE fhirgraph_meta SET value = '6' WHERE name = 'schema_version'");
    const later = new PostgresStore(pool, { takeOver: true });
    await write(later, correlatedObservations(1));
    await buildSkips(pool, ['Observation']);
    expect(await countRows(pool)).toBeGreaterThan(20);
    await later.close();
  });

  test('whose build overlaps an erasure are discarded', async () => {
    const { pool, store } = await filled();
    const [[project]] = (await rowsOf(pool, 'SELECT DISTINCT project FROM fhirgraph_skip_type')) as [[string]];
    expect(project.replaceAll('-', '')).toBe(projectKey(PROJECT));
    let erased = false;
    const interrupted = through(pool, async (statement, client) => {
      // As if another process had erased it meanwhile: its mark is gone.
      if (!erased && /UPDATE fhirgraph_skip_type/.test(statement.text)) {
        erased = true;
        await client.query({ text: 'DELETE FROM fhirgraph_skip_type', values: [], rowMode: 'array' });
      }
      return client.query(statement);
    });
    await rowsOf(pool, 'DELETE FROM fhirgraph_skip');
    await buildSkips(interrupted, ['Observation']);
    expect(erased).toBe(true);
    expect(await countRows(pool)).toBe(0);
    await store.close();
  });
});
