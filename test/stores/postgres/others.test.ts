import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Criteria } from '../../../src/search/criteria/criteria.js';
import type { ValueTest } from '../../../src/search/criteria/value-test.js';
import type { ResourceStore } from '../../../src/store/store.js';
import { MemoryStore } from '../../../src/stores/memory/store.js';
import { TUNING } from '../../../src/stores/postgres/scans/tuning.js';
import { SKIP_TUNING } from '../../../src/stores/postgres/rows/skip-row.js';
import { PostgresStore } from '../../../src/stores/postgres/store.js';
import { keyOf, PROJECT, queryOf } from '../../../src/testing/conformance-case.js';
import { createRandom, oneOf } from '../../../src/testing/random.js';
import { cases, SEED } from '../../support/chance.js';
import { randomOther, serviceRequests } from '../other-values.js';
import { noting, postgresPool } from './pool.js';
import { buildSkips } from './skip-build.js';
import { by, match, write } from '../skip-cases.js';

const [DEFAULTS, SKIPS] = [{ ...TUNING }, { ...SKIP_TUNING }];
// Few resources are many parts. Some codes have a set, and others are looked up.
beforeAll(() => void Object.assign(SKIP_TUNING, { granule: 8, minGranules: 4, minHolders: 100, maxNumbered: 4 }));
afterEach(() => {
  Object.assign(TUNING, DEFAULTS);
  Object.assign(SKIP_TUNING, { maxScanned: SKIPS.maxScanned });
});

const performedBy = (id: string): object => ({ reference: `Practitioner/${id}` });
/** Many have the code x, and few have y. */
const CATEGORIES = [
  ...['x', 'x', 'x', 'y'].map((code) => [{ code, system: 'urn:1' }]),
  ['urn:1', 'urn:2'].map((system) => ({ code: 'x', system })),
  ['x', 'y'].map((code) => ({ code, system: 'urn:1' })),
  ['urn:1', 'urn:2'].map((system) => ({ code: 'y', system })),
];

/** Criteria for the value that the test excludes. */
function equalTo(criteria: Criteria): Criteria {
  if (criteria.kind !== 'match' || !('negated' in criteria.test)) return criteria;
  const { negated: _, ...test } = criteria.test;
  return { ...criteria, test };
}

describe('the negation of a value', () => {
  test(`is found and counted like in memory, also after writes, seed ${SEED}`, async () => {
    const random = createRandom(SEED);
    const pool = await postgresPool();
    const [store, memory] = [new PostgresStore(pool), new MemoryStore()];
    for (const one of [store, memory]) await write(one, serviceRequests(250, createRandom(SEED)));
    await buildSkips(pool, ['Observation', 'ServiceRequest']);
    for (let trial = 0; trial < cases(300, 30); trial++) {
      if (trial % 50 === 25) {
        const later = serviceRequests(10, random);
        for (const one of [store, memory]) {
          await write(one, later);
          await one.commit([{ kind: 'delete', key: keyOf('ServiceRequest', later[0]!.id!) }]);
        }
      }
      Object.assign(SKIP_TUNING, { maxScanned: oneOf([3, 1_000], random) });
      const looks = oneOf([[Infinity], DEFAULTS.looks], random);
      Object.assign(TUNING, {
        looks,
        walkedFirst: 0,
        mostShare: 2,
        fewTogether: 4,
        maxTested: oneOf([20, 1_000], random),
      });
      const [one, other] = [randomOther(random), randomOther(random)];
      const of: readonly Criteria[] = [one, random() < 0.5 ? other : match('status', 'active')];
      const inSystem: Criteria = { kind: 'match', parameter: 'code', test: { kind: 'token', system: 'urn:1' } };
      const criteria = oneOf<Criteria>(
        [
          one,
          equalTo(one),
          { kind: 'not', of: equalTo(one) },
          { kind: 'and', of: [equalTo(one), other] },
          { kind: 'and', of: [inSystem, other] },
          { kind: 'not', of: one },
          { kind: 'and', of },
          { kind: 'or', of },
          { kind: 'not', of: { kind: 'or', of } },
        ],
        random,
      );
      const limit = oneOf([0, 10], random);
      const sort = random() < 0.5 ? undefined : [by('code', random() < 0.5)];
      const found = async (from: ResourceStore): Promise<unknown> => {
        const query = { project: PROJECT, type: 'ServiceRequest', criteria, sort, limit, total: true };
        const { matches, total } = await from.search(query);
        return [total, matches.map(({ resource }) => resource.id)];
      };
      expect([criteria, await found(store)]).toEqual([criteria, await found(memory)]);
    }
    await store.close();
  });

  test('is counted by sets, even if resources have several codes or references', async () => {
    const pool = await postgresPool();
    const statements: string[] = [];
    const [store, memory] = [new PostgresStore(noting(pool, statements)), new MemoryStore()];
    const resources = Array.from({ length: 300 }, (_, index) => ({
      resourceType: 'Observation',
      id: `o${index}`,
      status: index % 9 === 0 ? 'amended' : 'final',
      code: { coding: [{ code: 'c' }] },
      ...(index % 5 === 0 ? {} : { subject: { reference: `Patient/p${index % 4}` } }),
      valueQuantity: { value: index % 30 },
      performer: index % 3 === 0 ? ['a', 'b'].map(performedBy) : [performedBy('a')],
      category: [{ coding: CATEGORIES[index % CATEGORIES.length] }],
    }));
    for (const one of [store, memory]) await write(one, resources);
    await buildSkips(pool, ['Observation', 'ServiceRequest']);
    Object.assign(TUNING, { looks: [Infinity] });
    const asked: readonly (readonly [string, ValueTest])[] = [
      ['status', { kind: 'token', code: 'final', negated: true }],
      ['subject', { kind: 'reference', types: ['Patient'], id: 'p1', negated: true }],
      ['subject', { kind: 'reference', types: ['Patient'], id: 'none', negated: true }],
      ['value-quantity', { kind: 'quantity', prefix: 'ne', low: 6.5, high: 7.5 }],
      ['performer', { kind: 'reference', types: ['Practitioner'], id: 'a', negated: true }],
      ['performer', { kind: 'reference', types: ['Practitioner'], id: 'b', negated: true }],
      ['category', { kind: 'token', code: 'x', system: 'urn:1', negated: true }],
      ['category', { kind: 'token', code: 'y', system: 'urn:1', negated: true }],
      ['category', { kind: 'token', code: 'y', negated: true }],
    ];
    for (const [parameter, ne] of asked) {
      const one: Criteria = { kind: 'match', parameter, test: ne };
      const criteria: Criteria = { kind: 'and', of: [one, { kind: 'missing', parameter: 'subject', missing: false }] };
      statements.length = 0;
      const query = queryOf('Observation', criteria, { limit: 0, total: true });
      const { total } = await store.search(query);
      expect([ne, total]).toEqual([ne, (await memory.search(query)).total]);
      expect(statements.filter((text) => text.includes('EXISTS'))).toEqual([]);
    }
    await store.close();
  });
});
