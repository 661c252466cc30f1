import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { R4 } from '../../../src/fhir/r4.js';
import type { Criteria } from '../../../src/search/criteria/criteria.js';
import { MemoryStore } from '../../../src/stores/memory/store.js';
import type { PostgresPool } from '../../../src/stores/postgres/database/driver.js';
import { postgresDialect } from '../../../src/stores/postgres/rows/dialect.js';
import { TUNING } from '../../../src/stores/postgres/scans/tuning.js';
import { LikelyShares } from '../../../src/stores/postgres/skip/sets/likely-shares.js';
import { createSkipCache } from '../../../src/stores/postgres/skip/read/skip-cache.js';
import { openConditionSets } from '../../../src/stores/postgres/skip/sets/open-condition-sets.js';
import { SKIP_TUNING } from '../../../src/stores/postgres/rows/skip-row.js';
import { Connections } from '../../../src/stores/postgres/database/connections.js';
import { PostgresStore } from '../../../src/stores/postgres/store.js';
import { conditionsOf } from '../../../src/stores/sql/pages/condition.js';
import { rowScope } from '../../../src/stores/sql/rows.js';
import { PROJECT, queryOf } from '../../../src/testing/conformance-case.js';
import { correlatedObservations } from '../correlated-observations.js';
import { noting, postgresPool } from './pool.js';
import { buildSkips, rowsOf } from './skip-build.js';
import { above, by, match, write } from '../skip-cases.js';

const DEFAULTS = { ...TUNING };
const GRANULE = 8;
const COUNT = 400;
// Few resources are many granules.
beforeAll(() => void Object.assign(SKIP_TUNING, { granule: GRANULE, minGranules: 4, minHolders: 2 }));
afterEach(() => void Object.assign(TUNING, DEFAULTS));

const not = (of: Criteria): Criteria => ({ kind: 'not', of });
const or = (...of: readonly Criteria[]): Criteria => ({ kind: 'or', of });
const hasSubject = (missing: boolean): Criteria => ({ kind: 'missing', parameter: 'subject', missing });

const inUnknownUnit: Criteria = {
  kind: 'match',
  parameter: 'value-quantity',
  test: { kind: 'quantity', prefix: 'gt', low: 0, high: 0, code: 'unknown' },
};

describe('after a search', () => {
  let pool: PostgresPool;
  const memory = new MemoryStore();

  beforeAll(async () => {
    pool = await postgresPool();
    const store = new PostgresStore(pool);
    for (const one of [store, memory]) await write(one, correlatedObservations(COUNT));
    await buildSkips(pool, ['Observation']);
    await store.close();
  });

  test.each<[name: string, criteria: Criteria, most?: number]>([
    ['a code', match('status', 'final')],
    ['another code than one', not(match('status', 'final'))],
    ['one of two codes', or(match('code', 'c1'), match('code', 'c2'))],
    ['a code that no resource has', match('status', 'unknown'), 2],
    ['a value', hasSubject(false)],
    ['no value', hasSubject(true)],
    ['a range', above(120), 2 * GRANULE],
    ['a range without matches', above(10_000), 2 * GRANULE],
    ['no range', not(above(120)), 2 * GRANULE],
    ['a range in a unit that no resource has', inUnknownUnit, 2],
  ])('the share of the resources with %s is known', async (_, criteria, most = 0) => {
    const [[epoch]] = (await rowsOf(pool, "SELECT value FROM fhirgraph_meta WHERE name = 'index_epoch'")) as [[string]];
    const scope = rowScope({ project: PROJECT, dialect: postgresDialect(R4) }, 'Observation');
    const source = { epoch, cache: createSkipCache() };
    expect(LikelyShares.of(scope, source)).toBeUndefined();
    const connections = new Connections(pool, { connectionWait: 5_000, cancelWait: 2_000 });
    await connections.snapshot(async (run) => {
      const sets = await openConditionSets(scope, source, run);
      expect(LikelyShares.of(scope, source)!.of(match('method', 'm'))).toBeUndefined();
      await sets!.prepare(conditionsOf(criteria, scope));
    });
    const shares = LikelyShares.of(scope, source)!;
    expect(shares.size).toBe(COUNT);
    const { total } = await memory.search(queryOf('Observation', criteria, { limit: 0, total: true }));
    expect(Math.abs(shares.of(criteria)! * COUNT - total!)).toBeLessThanOrEqual(most + 1e-6);
    expect(LikelyShares.of(scope, { ...source, epoch: 'another' })).toBeUndefined();
    connections.close();
  });
});

describe('once a search has read the skip index', () => {
  let texts: string[];
  let store: PostgresStore;
  const ids = async (criteria: Criteria, limit = 5): Promise<readonly string[]> => {
    texts.length = 0;
    const { matches } = await store.search(queryOf('Observation', criteria, { sort: [by('date', true)], limit }));
    return matches.map(({ resource }) => resource.id!);
  };
  const looks = (): number => texts.filter((text) => /LIMIT 5\)/.test(text)).length;
  const walks = (): number => texts.filter((text) => text.startsWith('WITH t0')).length;

  beforeEach(async () => {
    const pool = await postgresPool();
    texts = [];
    store = new PostgresStore(noting(pool, texts));
    await write(store, correlatedObservations(COUNT));
    await buildSkips(pool, ['Observation']);
    Object.assign(TUNING, { looks: [4, Infinity], stretch: 160 });
    return () => store.close();
  });

  test('conditions that many resources meet cost no count', async () => {
    const first = await ids(match('status', 'corrected'));
    expect(looks()).toBe(1);
    expect(await ids(match('status', 'corrected'))).toEqual(first);
    expect(looks()).toBe(0);
    // Few can have a code that has no set.
    await ids(match('status', 'unknown'));
    await ids(match('status', 'unknown'));
    expect(looks()).toBe(1);
    expect(await ids({ kind: 'all' })).toHaveLength(5);
    expect(looks()).toBe(0);
  });

  test('no walk begins that would hardly fill the page', async () => {
    const first = await ids(not(above(100)), 10);
    expect(walks()).toBeGreaterThan(0);
    expect(await ids(not(above(100)), 10)).toEqual(first);
    expect(walks()).toBe(0);
    // The granules of an order show the share of all ranges in it.
    await ids(above(280));
    expect(walks()).toBe(0);
    await ids(above(20));
    expect(walks()).toBe(1);
  });

  test('a walk in vain is not repeated by searches that differ only in values, except from time to time', async () => {
    TUNING.walkedAgain = 6;
    // The latest ones are high.
    const first = await ids(not(above(50)), 2);
    expect(walks()).toBe(1);
    expect(await ids(not(above(50)), 2)).toEqual(first);
    expect(walks()).toBe(0);
    await ids(not(above(40)), 2);
    expect(walks()).toBe(0);
    await ids(above(20));
    expect(walks()).toBe(1);
    for (const most of [0, 1, 0]) {
      await ids(not(above(50)), 2);
      expect(walks()).toBe(most);
    }
  });
});
