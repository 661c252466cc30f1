import { describe, expect, test } from 'vitest';
import { type AnyResource, MemoryStore } from '../../../src/index.js';
import { SqliteStore } from '../../../src/sqlite.js';
import type { Criteria, SearchQuery } from '../../../src/store.js';
import { below, createRandom, oneOf, PROJECT, put } from '../../support/kit.js';
import { skewedResources } from '../../../src/testing/suites/random-searches.js';
import { SEED } from '../../support/chance.js';

function counted(criteria: Criteria): SearchQuery {
  return { project: PROJECT, type: 'Observation', criteria, limit: 0, total: true };
}

describe('counts of repeated codes', () => {
  test('equal the reference, for one code, several, and their negation', async () => {
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
});

describe('the count of a condition that nearly all resources meet', () => {
  const status = (code: string): Criteria => ({ kind: 'match', parameter: 'status', test: { kind: 'token', code } });
  const not = (of: Criteria): Criteria => ({ kind: 'not', of });
  // Some have no status, a status that is not a code of any system, or one without a code.
  const resources = skewedResources(300, createRandom(SEED)).map((one, index) =>
    index % 50 === 0 ? ({ ...one, status: undefined } as unknown as AnyResource) : one,
  );

  test.each([
    ['a code', status('final')],
    ['all others', not(status('final'))],
    ['a rare code', status('amended')],
    ['all but a rare code', not(status('amended'))],
    [
      'a code where resources have several',
      { kind: 'match', parameter: 'category', test: { kind: 'token', code: 'laboratory' } },
    ],
  ] as const)('equals the reference: %s', async (_, criteria) => {
    const [store, memory] = [new SqliteStore(':memory:'), new MemoryStore()];
    for (const one of [store, memory]) await one.commit(resources.map((resource) => put(resource)));
    expect((await store.search(counted(criteria))).total).toBe((await memory.search(counted(criteria))).total);
  });
});

describe('a count under several conditions', () => {
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

  test('equals the reference', async () => {
    const [store, memory] = [new SqliteStore(':memory:'), new MemoryStore()];
    const resources = skewedResources(120, createRandom(SEED));
    for (const one of [store, memory]) await one.commit(resources.map((resource) => put(resource)));
    const conditions = [match('status', 'final'), match('category', 'exam'), match('code', 'c1'), high];
    for (let bits = 1; bits < 16; bits++) {
      const query = counted({ kind: 'and', of: conditions.filter((_, index) => (bits & (1 << index)) !== 0) });
      const [ours, right] = await Promise.all([store, memory].map(async (one) => (await one.search(query)).total));
      expect(ours, `seed ${SEED}: ${bits}`).toBe(right);
    }
  });
});

test('finds nothing if one condition lists shapes and another finds nothing', async () => {
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

test('equals the reference if the conditions exclude each other, or nearly do', async () => {
  const has = (parameter: string, code: string): Criteria => ({
    kind: 'match',
    parameter,
    test: { kind: 'token', code },
  });
  const missing: Criteria = { kind: 'missing', parameter: 'value-concept', missing: true };
  const resources = Array.from({ length: 300 }, (_, index) => ({
    resourceType: 'Observation',
    id: `o${index}`,
    status: index % 3 === 0 ? 'final' : 'amended',
    category: [{ coding: [{ code: index % 3 === 0 ? 'exam' : 'laboratory' }] }],
    [index % 2 === 0 ? 'method' : 'bodySite']: { coding: [{ code: 'x' }] },
    ...(index % 2 === 0 ? {} : { valueCodeableConcept: { coding: [{ code: 'v' }] } }),
  })) as AnyResource[];
  const [store, memory] = [new SqliteStore(':memory:'), new MemoryStore()];
  for (const one of [store, memory]) await one.commit(resources.map((resource) => put(resource)));
  for (const of of [
    [has('method', 'x'), has('value-concept', 'v')],
    [has('status', 'final'), has('category', 'exam')],
    [has('method', 'x'), missing, has('status', 'final')],
    [has('method', 'x'), { kind: 'not', of: missing } as const],
  ]) {
    const query = counted({ kind: 'and', of });
    expect((await store.search(query)).total).toBe((await memory.search(query)).total);
  }
});
