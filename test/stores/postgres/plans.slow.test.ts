import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { pglitePool, type PostgresPool, PostgresStore } from '../../../src/postgres.js';
import type { Criteria, SearchPosition, SortKey } from '../../../src/store.js';
import { below, createRandom, put, queryOf, resourceOf } from '../../support/kit.js';
import { TUNING } from '../../../src/stores/postgres/scans/tuning.js';
import { skewedResources } from '../../../src/testing/suites/random-searches.js';
import { bareDatabase, noting } from './pool.js';
import { explaining, nodesOf } from './explaining.js';
import type { PlanNode } from '../plan-node.js';
import { SEED, someOf } from '../../support/chance.js';

/** Rows of tables and indexes that were read. */
function examined(plans: readonly PlanNode[]): number {
  const read = plans.flatMap(nodesOf).filter((node) => 'Relation Name' in node || 'Index Name' in node);
  return read.reduce((sum, node) => {
    const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
    return sum + (node['Actual Rows'] + removed) * node['Actual Loops'];
  }, 0);
}

const ALL: Criteria = { kind: 'all' };
const status = (code: string): Criteria => ({ kind: 'match', parameter: 'status', test: { kind: 'token', code } });
const SINCE: Criteria = {
  kind: 'match',
  parameter: 'date',
  test: { kind: 'date', prefix: 'ge', low: Date.UTC(2020, 9, 1), high: Date.UTC(2020, 9, 2) },
};
const CATEGORY: Criteria = { kind: 'match', parameter: 'category', test: { kind: 'token', code: 'laboratory' } };
const and = (...of: readonly Criteria[]): Criteria => ({ kind: 'and', of });
const or = (...of: readonly Criteria[]): Criteria => ({ kind: 'or', of });
const by = (parameter: string, descending = false): SortKey => ({ parameter, descending });

const DEFAULTS = { ...TUNING };
afterEach(() => void Object.assign(TUNING, DEFAULTS));

describe('a page of few matches costs only these', () => {
  const COUNT = 3_000;
  const BATCH = 300;
  const plans: PlanNode[] = [];
  let pool: PostgresPool;
  let store: PostgresStore;

  beforeAll(async () => {
    // Rows that other tests left would count as pages.
    pool = pglitePool(await bareDatabase());
    let now = Date.UTC(2026, 0, 1);
    store = new PostgresStore(explaining(pool, plans), { clock: () => new Date(now++) });
    const writes = skewedResources(COUNT, createRandom(1)).map((one) => put(one));
    for (let start = 0; start < COUNT; start += BATCH) await store.commit(writes.slice(start, start + BATCH));
  });

  async function ask(criteria: Criteria, sort: readonly SortKey[], after?: SearchPosition): Promise<void> {
    plans.length = 0;
    const { matches } = await store.search(
      queryOf('Observation', criteria, { sort, limit: 10, ...(after && { after }) }),
    );
    expect(matches.length).toBe(10);
  }

  const TIMES = someOf(['without statistics', 'with statistics'], 1);

  describe.each(TIMES)('%s', (when) => {
    beforeAll(async () => {
      if (when === 'without statistics') return;
      const client = await pool.connect();
      await client.query({ text: 'VACUUM (ANALYZE)', values: [], rowMode: 'array' });
      client.release();
    });

    test('a page of few matches, by id, reads their resources once and the texts of the page', async () => {
      const few = status('amended');
      const { total = 0 } = await store.search(queryOf('Observation', few, { limit: 0, total: true }));
      expect(total).toBeGreaterThan(10);
      await ask(few, []);
      const ofResources = plans.flatMap(nodesOf).filter((node) => node['Relation Name'] === 'resource');
      expect(ofResources.reduce((sum, node) => sum + node['Actual Rows'] * node['Actual Loops'], 0)).toBe(total + 10);
    });

    test.each([
      ['by a hash table of few matches', DEFAULTS.maxHashed],
      ['each by its values', 0],
    ])('the resources that refer to targets are tested before their rows are read, %s', async (_, maxHashed) => {
      Object.assign(TUNING, { maxHashed });
      const targets = Array.from({ length: 9 }, (_, index) => ({ type: 'Patient', id: `p${index}` }));
      const query = queryOf('Observation', status('amended'), { limit: 10 });
      plans.length = 0;
      const pages = await store.searchByReference(query, 'subject', targets);
      const found = pages.reduce((sum, { matches }) => sum + matches.length, 0);
      expect(found).toBeGreaterThan(2);
      const nodes = plans.flatMap(nodesOf);
      const sum = (some: readonly PlanNode[], of: (node: PlanNode) => number): number =>
        some.reduce((total, node) => total + of(node), 0);
      const ofResources = nodes.filter((node) => node['Relation Name'] === 'resource');
      expect(examined(ofResources.map((node) => ({ ...node, Plans: [] })))).toBe(found);
      const tests = nodes.filter((node) => node['Index Name'] === 'token_by_resource');
      expect(sum(tests, (node) => node['Actual Loops']) > 0).toBe(maxHashed === 0);
    });

    test('of several conditions, the one with few matches is tested first', async () => {
      const targets = Array.from({ length: 9 }, (_, index) => ({ type: 'Patient', id: `p${index}` }));
      const query = queryOf('Observation', and(SINCE, CATEGORY, status('amended')), { limit: 10 });
      Object.assign(TUNING, { maxHashed: 1_200 });
      plans.length = 0;
      await store.searchByReference(query, 'subject', targets);
      const nodes = plans.flatMap(nodesOf);
      const lookups = nodes.filter((node) => /^(?:token|date)_by_resource$/.test(node['Index Name'] ?? ''));
      const looked = lookups.reduce((sum, node) => sum + node['Actual Loops'], 0);
      // At most two for each of the amended ones that refer to the targets.
      expect(looked).toBeGreaterThan(0);
      expect(looked).toBeLessThan(50);
    });

    test.each([
      ['one condition', status('amended'), false, false],
      ['one condition and a total', status('amended'), true, true],
      ['two conditions', and(SINCE, CATEGORY), false, true],
    ] as const)(
      'the server compiles no statement with tests of each resource: %s',
      async (_, criteria, total, expected) => {
        const statements: string[] = [];
        const noted = new PostgresStore(noting(pool, statements));
        await noted.searchByReference(queryOf('Observation', criteria, { limit: 2, total }), 'subject', [
          { type: 'Patient', id: 'p1' },
        ]);
        expect(statements.some((text) => text.includes('jit = off'))).toBe(expected);
        await noted.close();
      },
    );

    test('a resource is read under a rule without the matches of the rule', async () => {
      const ids = ['most', ...Array.from({ length: 9 }, (_, index) => `p${index}`)];
      await store.commit(ids.map((id) => put(resourceOf('Patient', id))));
      const isNameless: Criteria = { kind: 'missing', parameter: 'name', missing: true };
      const rule = or({ kind: 'chain', parameter: 'subject', type: 'Patient', of: isNameless }, status('amended'));
      const one = queryOf('Observation', ALL, { limit: 1 });
      const id = (await store.search(one)).matches[0]!.resource.id!;
      plans.length = 0;
      const { matches } = await store.search(queryOf('Observation', and({ kind: 'id', ids: [id] }, rule), {}));
      expect(matches.map(({ resource }) => resource.id)).toEqual([id]);
      const ofReferences = plans.flatMap(nodesOf).filter((node) => node['Relation Name'] === 'reference');
      expect(ofReferences.length).toBeGreaterThan(0);
      expect(examined(ofReferences.map((node) => ({ ...node, Plans: [] })))).toBe(1);
    });
  });
});

describe('a page under a chain costs the resources at its ends', () => {
  const plans: PlanNode[] = [];
  let pool: PostgresPool;
  let store: PostgresStore;

  beforeAll(async () => {
    pool = pglitePool(await bareDatabase());
    store = new PostgresStore(explaining(pool, plans));
    const random = createRandom(SEED);
    const coding = (code: string): object => ({ coding: [{ code }] });
    const patients = Array.from({ length: 200 }, (_, index) =>
      resourceOf('Patient', `p${index}`, {
        gender: index % 2 === 0 ? 'female' : 'male',
        generalPractitioner: [{ reference: `Practitioner/d${index % 40}` }],
      }),
    );
    const results = Array.from({ length: 2_000 }, (_, index) =>
      resourceOf('Observation', `o${index}`, {
        status: 'final',
        category: [coding('laboratory')],
        code: coding(index % 100 === 0 ? 'rare' : below(10, random) === 0 ? 'weight' : 'other'),
        subject: { reference: `Patient/p${below(200, random)}` },
        effectiveDateTime: new Date(Date.UTC(2026, 0, 1) + below(1e6, random) * 1_000).toISOString(),
      }),
    );
    const writes = [...patients, ...results].map((one) => put(one));
    for (let start = 0; start < writes.length; start += 200) await store.commit(writes.slice(start, start + 200));
    return () => store.close();
  });

  const ofDoctor: Criteria = {
    kind: 'chain',
    parameter: 'patient',
    type: 'Patient',
    of: {
      kind: 'match',
      parameter: 'general-practitioner',
      test: { kind: 'reference', types: ['Practitioner'], id: 'd7' },
    },
  };
  const ofWomen: Criteria = {
    kind: 'chain',
    parameter: 'patient',
    type: 'Patient',
    of: { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'female' } },
  };
  const code = (text: string): Criteria => ({ kind: 'match', parameter: 'code', test: { kind: 'token', code: text } });

  describe.each(['without statistics', 'with statistics'])('%s', (when) => {
    beforeAll(async () => {
      const client = await pool.connect();
      const text = when === 'with statistics' ? 'VACUUM (ANALYZE)' : 'DELETE FROM pg_statistic';
      await client.query({ text, values: [], rowMode: 'array' });
      client.release();
    });

    test.each<[string, Criteria, number]>([
      ['results of one doctor', ofDoctor, 700],
      ['results of one doctor with a frequent code', and(code('other'), ofDoctor), 1_000],
      ['results of one doctor or of one status', or(ofDoctor, status('amended')), 1_000],
      ['weights of women', and(code('weight'), ofWomen), 1_800],
    ])('%s, latest', async (_, criteria, rows) => {
      Object.assign(TUNING, { look: 10 });
      plans.length = 0;
      const { matches } = await store.search(queryOf('Observation', criteria, { sort: [by('date', true)], limit: 5 }));
      expect(matches).toHaveLength(5);
      expect(examined(plans)).toBeLessThan(rows);
    });

    test('and patients with a rare result are found by it, and counted', async () => {
      const criteria: Criteria = { kind: 'has', type: 'Observation', parameter: 'subject', of: code('rare') };
      plans.length = 0;
      const { matches, total } = await store.search(queryOf('Patient', criteria, { limit: 2, total: true }));
      expect(matches).toHaveLength(2);
      expect(total).toBeGreaterThan(10);
      expect(examined(plans)).toBeLessThan(600);
    });
  });
});
