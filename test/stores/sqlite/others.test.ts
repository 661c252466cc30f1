import Database from 'better-sqlite3';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { R4 } from '../../../src/fhir/r4.js';
import type { AnyResource } from '../../../src/fhir/resource.js';
import type { Criteria } from '../../../src/search/criteria/criteria.js';
import type { SearchQuery } from '../../../src/store/search-query.js';
import type { ResourceStore } from '../../../src/store/store.js';
import { MemoryStore } from '../../../src/stores/memory/store.js';
import { Connection } from '../../../src/stores/sqlite/connection.js';
import { COUNTING_SETS } from '../../../src/stores/sqlite/search/count-sets.js';
import { TUNING } from '../../../src/stores/sqlite/scans/tuning.js';
import { SKIP_TUNING } from '../../../src/stores/sqlite/rows/skip-row.js';
import { Statements } from '../../../src/stores/sqlite/database/statements.js';
import { SqliteStore } from '../../../src/stores/sqlite/store.js';
import { keyOf, PROJECT } from '../../../src/testing/conformance-case.js';
import { createRandom, oneOf } from '../../../src/testing/random.js';
import { cases, SEED } from '../../support/chance.js';
import { randomOther, serviceRequests, to } from '../other-values.js';
import { by, match, write } from '../skip-cases.js';

const [DEFAULTS, COUNTS] = [{ ...TUNING }, { ...COUNTING_SETS }];
// Few resources are many granules. Some codes have a set, and others are looked up.
beforeAll(() => void Object.assign(SKIP_TUNING, { granule: 8, minGranules: 4, minHolders: 100 }));
afterEach(() => {
  Object.assign(TUNING, DEFAULTS);
  Object.assign(COUNTING_SETS, COUNTS);
  vi.restoreAllMocks();
});

function buildAll(database: Database.Database): void {
  const { skipIndexes } = new Connection(R4, database, { cacheBytes: 0, clock: () => new Date(), ownsFile: false });
  for (const collection of skipIndexes.listStale()) skipIndexes.write(skipIndexes.build(collection));
}

describe('the negation of a value', () => {
  test(`is found and counted like in memory, also after writes, seed ${SEED}`, async () => {
    const random = createRandom(SEED);
    const [database, memory] = [new Database(':memory:'), new MemoryStore()];
    const store = new SqliteStore(database);
    for (const one of [store, memory]) await write(one, serviceRequests(250, createRandom(SEED)));
    buildAll(database);
    Object.assign(COUNTING_SETS, { minRows: 0 });
    for (let trial = 0; trial < cases(500, 50); trial++) {
      if (trial % 100 === 50) {
        const later = serviceRequests(10, random);
        for (const one of [store, memory]) {
          await write(one, later);
          await one.commit([{ kind: 'delete', key: keyOf('ServiceRequest', later[0]!.id!) }]);
        }
      }
      Object.assign(SKIP_TUNING, { maxLookedUp: oneOf([0, 40, 4_096], random) });
      Object.assign(COUNTING_SETS, {
        maxTested: oneOf([0, 20, 1_000], random),
        maxRead: oneOf([0, 40, 4_096], random),
        readPerTest: oneOf([0, 1, 8], random),
      });
      Object.assign(TUNING, { looks: oneOf([[Infinity], DEFAULTS.looks], random), skipFrom: 0 });
      const [one, other] = [randomOther(random), randomOther(random)];
      const of: readonly Criteria[] = [one, random() < 0.5 ? other : match('status', 'active')];
      const criteria = oneOf<Criteria>(
        [
          one,
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
  });

  test('is counted by sets, and no resource is tested', async () => {
    const database = new Database(':memory:');
    const [store, memory] = [new SqliteStore(database), new MemoryStore()];
    const resources = Array.from({ length: 200 }, (_, index) => ({
      resourceType: 'ServiceRequest',
      id: `s${index}`,
      status: index % 2 === 0 ? 'active' : 'draft',
      subject: { reference: `Patient/p${index % 3}` },
      code: { coding: [{ code: index % 3 === 0 ? 'a' : 'b' }] },
      category: ['a', 'b']
        .slice(index % 4 === 0 ? 0 : 1)
        .map((code) => ({ coding: [{ code, system: `urn:${1 + (index % 2)}` }] })),
      performer: [0, 1].slice(index % 20 === 0 ? 0 : 1).map((one) => ({ reference: `Practitioner/${one}` })),
    })) as unknown as AnyResource[];
    for (const one of [store, memory]) await write(one, resources);
    buildAll(database);
    Object.assign(COUNTING_SETS, { minRows: 0 });
    const conditions = (parameter: string, type: string, id: string): Criteria => ({
      kind: 'and',
      of: [match('status', 'active'), { kind: 'match', parameter, test: to(type, id) }],
    });
    const codes = (parameter: string, test: object): Criteria => ({
      kind: 'and',
      of: [match('status', 'active'), { kind: 'match', parameter, test: { kind: 'token', negated: true, ...test } }],
    });
    const get = vi.spyOn(Statements.prototype, 'get');
    const tested = async (criteria: Criteria): Promise<number> => {
      const query = { project: PROJECT, type: 'ServiceRequest', criteria, limit: 0, total: true } as const;
      get.mockClear();
      expect((await store.search(query)).total).toBe((await memory.search(query)).total);
      const tests = get.mock.calls.filter(([{ text }]) => text.includes('r0.') && !text.includes('LIMIT'));
      const lists = tests.flatMap(([{ values }]) => values).filter((one) => String(one).startsWith('['));
      expect(lists).toHaveLength(tests.length);
      return lists.flatMap((one) => JSON.parse(String(one)) as unknown[]).length;
    };
    expect(await tested(conditions('subject', 'Patient', 'p1'))).toBe(0);
    expect(await tested(conditions('performer', 'Practitioner', '1'))).toBe(0);
    expect(await tested(codes('code', { code: 'a' }))).toBe(0);
    expect(await tested(codes('category', { code: 'a' }))).toBe(0);
    expect(await tested(codes('category', { code: 'a', system: 'urn:1' }))).toBe(0);
  });

  test('can have a code that equals an internal number of the index', async () => {
    const database = new Database(':memory:');
    const store = new SqliteStore(database);
    const requests = Array.from({ length: 400 }, (_, index) => ({
      resourceType: 'ServiceRequest',
      id: `s${index}`,
      category: [{ coding: [{ code: index % 4 === 0 ? '0' : '-1' }] }],
    })) as unknown as AnyResource[];
    await write(store, requests);
    buildAll(database);
    Object.assign(COUNTING_SETS, { minRows: 0 });
    Object.assign(TUNING, { looks: [Infinity], skipFrom: 0 });
    const present: Criteria = { kind: 'missing', parameter: 'category', missing: false };
    const count = async (...of: readonly Criteria[]): Promise<number | undefined> => {
      const query = { project: PROJECT, type: 'ServiceRequest', criteria: { kind: 'and', of }, limit: 0, total: true };
      return (await store.search(query as SearchQuery)).total;
    };
    expect(await count(present, { kind: 'not', of: match('category', '-1') })).toBe(100);
    expect(await count(present, match('category', '0'))).toBe(100);
    expect(await count(present, match('category', '-1'))).toBe(300);
  });
});
