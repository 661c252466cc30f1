import Database from 'better-sqlite3';
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { R4 } from '../../../src/fhir/r4.js';
import type { AnyResource } from '../../../src/fhir/resource.js';
import type { CompositeCriteria, Criteria } from '../../../src/search/criteria/criteria.js';
import type { ResourceStore } from '../../../src/store/store.js';
import { MemoryStore } from '../../../src/stores/memory/store.js';
import { Connection } from '../../../src/stores/sqlite/connection.js';
import { COUNTING_SETS } from '../../../src/stores/sqlite/search/count-sets.js';
import { TUNING } from '../../../src/stores/sqlite/scans/tuning.js';
import { SKIP_TUNING } from '../../../src/stores/sqlite/rows/skip-row.js';
import { Statements } from '../../../src/stores/sqlite/database/statements.js';
import { SqliteStore } from '../../../src/stores/sqlite/store.js';
import { PROJECT } from '../../../src/testing/conformance-case.js';
import { below, createRandom, oneOf } from '../../../src/testing/random.js';
import { cases, SEED } from '../../support/chance.js';
import { by, match, write } from '../skip-cases.js';

// Few resources are many granules.
beforeAll(() => {
  Object.assign(SKIP_TUNING, { granule: 8, minGranules: 4, minHolders: 2, maxLookedUp: 0 });
  Object.assign(TUNING, { looks: [Infinity], skipFrom: 0, fewTogether: -1, firstChunk: 0, maxChunk: 8 });
  Object.assign(COUNTING_SETS, { minRows: 0 });
});

function buildAll(database: Database.Database): void {
  const { skipIndexes } = new Connection(R4, database, { cacheBytes: 0, clock: () => new Date(), ownsFile: false });
  for (const collection of skipIndexes.listStale()) skipIndexes.write(skipIndexes.build(collection));
}

function combined(code: string, value: number, parameter = 'combo-code-value-quantity'): CompositeCriteria {
  return {
    kind: 'composite',
    parameter,
    tests: [
      { kind: 'token', code },
      { kind: 'quantity', prefix: 'gt', low: value, high: value },
    ],
  };
}

function both(first: string, second: string, parameter: string): CompositeCriteria {
  const tests = [first, second].map((code) => ({ kind: 'token', code }) as const);
  return { kind: 'composite', parameter, tests };
}

const value = (code: string, number: number): { readonly code: object; readonly valueQuantity: object } => ({
  code: { coding: [{ code }] },
  valueQuantity: { value: number, unit: 'mg' },
});

test(`pages under composites equal those of a memory store, seed ${SEED}`, async () => {
  const random = createRandom(SEED);
  const [database, memory] = [new Database(':memory:'), new MemoryStore()];
  const store = new SqliteStore(database);
  const any = (): object => {
    const { code, valueQuantity } = value(oneOf(['a', 'a', 'b', 'c'], random), below(20, random));
    const kind = random();
    if (kind < 0.2) return { code };
    if (kind < 0.4) return { code, valueCodeableConcept: { coding: codings() } };
    return kind < 0.5 ? { code, valueSampledData: { origin: valueQuantity } } : { code, valueQuantity };
  };
  const codings = (): object[] =>
    Array.from({ length: 1 + below(2, random) }, () => ({ code: oneOf(['p', 'q'], random) }));
  const resources = Array.from({ length: 200 }, (_, index) => ({
    resourceType: 'Observation',
    id: `o${index}`,
    status: 'final',
    ...any(),
    component: Array.from({ length: below(3, random) }, any),
  })) as unknown as AnyResource[];
  for (const one of [store, memory]) await write(one, resources);
  buildAll(database);
  for (let trial = 0; trial < cases(200, 60); trial++) {
    const parameter = oneOf(['combo-code-value', 'component-code-value', 'code-value'], random);
    const code = oneOf(['a', 'b', 'x'], random);
    const one =
      random() < 0.7
        ? combined(code, below(20, random), `${parameter}-quantity`)
        : both(code, oneOf(['p', 'q', 'x'], random), `${parameter}-concept`);
    const not: Criteria = { kind: 'not', of: one };
    const criteria = oneOf<Criteria>([one, one, not, { kind: 'or', of: [match('code', 'b'), not] }], random);
    const sort = random() < 0.5 ? undefined : [by('value-quantity', random() < 0.5)];
    const found = async (from: ResourceStore): Promise<unknown> => {
      const { matches, total } = await from.search({
        ...{ project: PROJECT, type: 'Observation', criteria, sort, limit: 10, total: true },
      });
      return [total, matches.map(({ resource }) => resource.id)];
    };
    expect([criteria, await found(store)]).toEqual([criteria, await found(memory)]);
  }
});

test('a resource with the code in one place and the value in another is not tested', async () => {
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  const resources = Array.from({ length: 400 }, (_, index) => ({
    resourceType: 'Observation',
    id: `o${String(index).padStart(3, '0')}`,
    status: 'final',
    ...value('a', index < 390 ? 1 : 9),
    component: [value('b', 9)],
  })) as unknown as AnyResource[];
  await write(store, resources);
  buildAll(database);
  const spy = vi.spyOn(Statements.prototype, 'all');
  const query = { project: PROJECT, type: 'Observation', criteria: combined('a', 5), limit: 5 } as const;
  const { matches } = await store.search(query);
  expect(matches.map(({ resource }) => resource.id)).toEqual(['o390', 'o391', 'o392', 'o393', 'o394']);
  const lists = spy.mock.calls.flatMap(([{ values }]) => values).filter((one) => String(one).startsWith('['));
  expect(lists.flatMap((one) => JSON.parse(String(one)) as unknown[]).length).toBeLessThan(20);
});

test('a count of a combination with the negation of a composite tests the possible matches of the composite', async () => {
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  const resources = Array.from({ length: 400 }, (_, index) => ({
    resourceType: 'Observation',
    id: `o${index}`,
    status: 'final',
    code: value(index % 2 === 0 ? 'a' : 'b', 0).code,
    // Without points alone, the skip index does not keep the groups.
    component: [
      index === 0
        ? { ...value('a', 0), valueQuantity: { value: 1, comparator: '<' } }
        : value(index % 2 === 0 ? 'a' : 'b', index < 390 ? 1 : 9),
    ],
  })) as unknown as AnyResource[];
  await write(store, resources);
  buildAll(database);
  const spy = vi.spyOn(Statements.prototype, 'get');
  onTestFinished(() => spy.mockRestore());
  const composite = combined('a', 5, 'component-code-value-quantity');
  const criteria: Criteria = { kind: 'or', of: [match('code', 'b'), { kind: 'not', of: composite }] };
  const { total } = await store.search({ project: PROJECT, type: 'Observation', criteria, limit: 0, total: true });
  expect(total).toBe(395);
  const lists = spy.mock.calls.flatMap(([{ values }]) => values).filter((one) => String(one).startsWith('['));
  expect(lists.map((one) => (JSON.parse(String(one)) as unknown[]).length)).toEqual([5]);
});

test.each([
  ['concepts', both('a', 'p', 'code-value-concept'), 40],
  // One of them has its value as SampledData.
  ['quantities', combined('a', 3, 'code-value-quantity'), 39],
  ['quantities, also in components', combined('a', 3), 39],
])('a count of a composite of the resource itself tests no resource: %s', async (_, criteria, expected) => {
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  const resources = Array.from({ length: 400 }, (_, index) => ({
    resourceType: 'Observation',
    id: `o${index}`,
    status: 'final',
    code: { coding: [{ code: index % 2 === 0 ? 'a' : 'b' }] },
    ...(criteria.parameter === 'code-value-concept'
      ? { valueCodeableConcept: { coding: [{ code: index % 5 === 0 ? 'p' : 'q' }] } }
      : index === 14
        ? { valueSampledData: { origin: { value: 4 } } }
        : { valueQuantity: { value: index % 5 } }),
  })) as unknown as AnyResource[];
  await write(store, resources);
  buildAll(database);
  const spy = vi.spyOn(Statements.prototype, 'get');
  onTestFinished(() => spy.mockRestore());
  const { total } = await store.search({ project: PROJECT, type: 'Observation', criteria, limit: 0, total: true });
  expect(total).toBe(expected);
  expect(spy.mock.calls.filter(([{ text }]) => /FROM (?:token|quantity)/.test(text))).toEqual([]);
});
