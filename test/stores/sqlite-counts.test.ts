import Database from 'better-sqlite3';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { MemoryStore } from '../../src/index.js';
import type { AnyResource } from '../../src/fhir/resource.js';
import type { Criteria } from '../../src/search/criteria/criteria.js';
import type { SearchQuery } from '../../src/store/search-query.js';
import { COUNTING } from '../../src/stores/sqlite/count-conjunction.js';
import { Statements } from '../../src/stores/sqlite/statements.js';
import { SqliteStore } from '../../src/stores/sqlite/store.js';
import { PROJECT, put } from '../../src/testing/conformance-case.js';
import { below, createRandom, oneOf } from '../../src/testing/random.js';
import { skewedResources } from '../../src/testing/skewed-resources.js';
import { SEED } from '../support/chance.js';

const DEFAULTS = { ...COUNTING };
afterEach(() => {
  Object.assign(COUNTING, DEFAULTS);
  vi.restoreAllMocks();
});

function counted(criteria: Criteria): SearchQuery {
  return { project: PROJECT, type: 'Observation', criteria, limit: 0, total: true };
}

describe('numbers of repeated codes', () => {
  test('are those of the reference, for one code, several, and others than one', async () => {
    const random = createRandom(SEED);
    const [store, memory] = [new SqliteStore(':memory:'), new MemoryStore()];
    const concept = (): object => ({
      coding: Array.from({ length: 1 + below(3, random) }, () => ({
        ...(random() < 0.8 ? { code: oneOf(['a', 'b', 'c', 'd'], random) } : { display: 'x' }),
        ...(random() < 0.5 ? { system: oneOf(['urn:1', 'urn:2'], random) } : {}),
      })),
    });
    const resources = Array.from({ length: 200 }, (_, index) => ({
      resourceType: 'Observation',
      id: `o${index}`,
      ...(random() < 0.9 ? { category: Array.from({ length: 1 + below(3, random) }, concept) } : {}),
    })) as AnyResource[];
    for (const one of [store, memory]) await one.commit(resources.map((resource) => put(resource)));
    const match = (code: string, more: object = {}): Criteria => ({
      kind: 'match',
      parameter: 'category',
      test: { kind: 'token', code, ...more },
    });
    const codes = ['a', 'b', 'c', 'd', 'none'];
    const asked: Criteria[] = codes.flatMap((code) => [
      match(code),
      match(code, { negated: true }),
      match(code, { system: 'urn:1' }),
      match(code, { negated: true, system: 'urn:1' }),
      { kind: 'not', of: match(code) },
      { kind: 'or', of: [match(code), match('b')] },
      { kind: 'or', of: codes.slice(0, 3).map((one) => match(one)) },
      { kind: 'not', of: { kind: 'or', of: [match(code), match('c')] } },
      match(code, { folded: 'd' }),
      match(code, { folded: 'd', negated: true }),
    ]);
    for (const criteria of asked) {
      const query = counted(criteria);
      const [ours, right] = await Promise.all([store, memory].map(async (one) => (await one.search(query)).total));
      expect(ours, `seed ${SEED}: ${JSON.stringify(criteria)}`).toBe(right);
    }
  });

  test('of several codes are counted by a merge, without a list of all', async () => {
    const database = new Database(':memory:');
    const store = new SqliteStore(database);
    await store.commit(skewedResources(60, createRandom(1)).map((one) => put(one)));
    const get = vi.spyOn(Statements.prototype, 'get');
    const match = (code: string): Criteria => ({ kind: 'match', parameter: 'category', test: { kind: 'token', code } });
    const criteria: Criteria = { kind: 'or', of: [match('exam'), match('laboratory')] };
    await store.search(counted(criteria));
    const [{ text, values }] = get.mock.lastCall!;
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${text.replaceAll('?', '+?')}`).all(...values) as {
      detail: string;
    }[];
    const details = plan.map(({ detail }) => detail);
    expect(details).toContain('MERGE (UNION)');
    expect(details.filter((detail) => detail.includes('TEMP B-TREE'))).toEqual([]);
    expect(details.filter((detail) => detail.includes('token_by_value (parameter=? AND code=?)')).length).toBe(2);
  });
});

describe('the number of what nearly all are', () => {
  const status = (code: string): Criteria => ({ kind: 'match', parameter: 'status', test: { kind: 'token', code } });
  const not = (of: Criteria): Criteria => ({ kind: 'not', of });
  // Some have no status, one that is no code of any system, or none of a code.
  const resources = skewedResources(300, createRandom(SEED)).map((one, index) =>
    index % 50 === 0 ? ({ ...one, status: undefined } as unknown as AnyResource) : one,
  );

  test.each([
    ['a code', status('final'), true],
    ['all others', not(status('final')), true],
    ['a rare code', status('amended'), false],
    ['all but a rare code', not(status('amended')), false],
  ])('is counted by other codes where they are few: %s', async (_, criteria, isByOthers) => {
    Object.assign(COUNTING, { minShared: 40, maxOthers: 120 });
    const [store, memory] = [new SqliteStore(':memory:'), new MemoryStore()];
    for (const one of [store, memory]) await one.commit(resources.map((resource) => put(resource)));
    const get = vi.spyOn(Statements.prototype, 'get');
    const { total } = await store.search(counted(criteria));
    const { text } = get.mock.lastCall![0];
    expect(total).toBe((await memory.search(counted(criteria))).total);
    expect(/x\.code < \?.* x\.code > \?/s.test(text)).toBe(isByOthers);
  });

  test('is counted by its own rows where resources have several codes', async () => {
    Object.assign(COUNTING, { minShared: 1, maxOthers: 1e6 });
    const [store, memory] = [new SqliteStore(':memory:'), new MemoryStore()];
    for (const one of [store, memory]) await one.commit(resources.map((resource) => put(resource)));
    const criteria: Criteria = { kind: 'match', parameter: 'category', test: { kind: 'token', code: 'laboratory' } };
    expect((await store.search(counted(criteria))).total).toBe((await memory.search(counted(criteria))).total);
  });
});

describe('a number under several conditions', () => {
  const match = (parameter: string, code: string): Criteria => ({
    kind: 'match',
    parameter,
    test: { kind: 'token', code },
  });
  const high: Criteria = {
    kind: 'match',
    parameter: 'value-quantity',
    test: { kind: 'quantity', prefix: 'gt', low: 5, high: 5 },
  };

  test('merges the rows of long scans in the order of the keys, and is right', async () => {
    const random = createRandom(SEED);
    const database = new Database(':memory:');
    const [store, memory] = [new SqliteStore(database), new MemoryStore()];
    const resources = skewedResources(120, random);
    for (const one of [store, memory]) await one.commit(resources.map((resource) => put(resource)));
    Object.assign(COUNTING, { minMerged: 0 });
    const get = vi.spyOn(Statements.prototype, 'get');
    const conditions = [match('status', 'final'), match('category', 'exam'), match('code', 'c1'), high];
    const merged: string[] = [];
    for (let bits = 1; bits < 16; bits++) {
      const of = conditions.filter((_, index) => (bits & (1 << index)) !== 0);
      const query = counted({ kind: 'and', of });
      const { total } = await store.search(query);
      const [{ text, values }] = get.mock.lastCall!;
      expect(total, `seed ${SEED}: ${bits}`).toBe((await memory.search(query)).total);
      // Others are counted as a difference, of which a merge is a part.
      if (!/^(?:WITH|SELECT count).*INTERSECT/s.test(text)) continue;
      const plan = database.prepare(`EXPLAIN QUERY PLAN ${text.replaceAll('?', '+?')}`).all(...values);
      merged.push(plan.map((row) => (row as { readonly detail: string }).detail).join('; '));
    }
    expect(merged.length).toBeGreaterThan(0);
    for (const plan of merged) {
      expect(plan).toContain('MERGE (INTERSECT)');
      expect(plan).not.toContain('TEMP B-TREE');
    }
  });
});

test('a count finds nothing where one condition lists shapes and another finds nothing', async () => {
  const store = new SqliteStore(':memory:');
  await store.commit(skewedResources(20, createRandom(SEED)).map((one) => put(one)));
  const listed: Criteria = {
    kind: 'or',
    of: [{ kind: 'id', ids: [] }, { kind: 'missing', parameter: 'date', missing: true }, { kind: 'none' }],
  };
  const otherUnit: Criteria = {
    kind: 'match',
    parameter: 'value-quantity',
    test: { kind: 'quantity', prefix: 'ne', low: 0, high: 1, system: 'urn:u', code: 'mg' },
  };
  const of: readonly Criteria[] = [listed, { kind: 'or', of: [] }, otherUnit];
  expect((await store.search(counted({ kind: 'and', of }))).total).toBe(0);
  await store.close();
});
