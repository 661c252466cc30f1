import { afterEach, beforeAll, expect, test } from 'vitest';
import { MemoryStore } from '../../../src/stores/memory/store.js';
import { parameterKey, textKey } from '../../../src/stores/postgres/rows/keys.js';
import { TUNING } from '../../../src/stores/postgres/scans/tuning.js';
import { SKIP_TUNING } from '../../../src/stores/postgres/rows/skip-row.js';
import { PostgresStore } from '../../../src/stores/postgres/store.js';
import { keyOf, queryOf } from '../../../src/testing/conformance-case.js';
import { createRandom, oneOf } from '../../../src/testing/random.js';
import { cases, SEED } from '../../support/chance.js';
import { noting, postgresPool } from './pool.js';
import { buildSkips, rowsOf } from './skip-build.js';
import { answerOf, write } from '../skip-cases.js';
import { observations, randomUnitQuery, UCUM } from '../unit-cases.js';

const [TUNED, SKIPS] = [{ ...TUNING }, { ...SKIP_TUNING }];
// Few resources are many granules, and few writes a layer.
beforeAll(() => void Object.assign(SKIP_TUNING, { granule: 8, minGranules: 3, minHolders: 2, maxFresh: 10 }));
afterEach(() => {
  Object.assign(TUNING, TUNED);
  Object.assign(SKIP_TUNING, { maxTested: SKIPS.maxTested, maxScanned: SKIPS.maxScanned });
});

test(`values in a unit find the same as a memory store, also in layers and after writes, seed ${SEED}`, async () => {
  const random = createRandom(SEED);
  const [pool, memory] = [await postgresPool(), new MemoryStore()];
  const store = new PostgresStore(pool);
  const first = observations(300, random);
  for (const one of [store, memory]) await write(one, first);
  for (let step = 0; step < 4; step++) {
    // Every second time the index says nothing of the writes.
    if (step !== 2) await buildSkips(pool, ['Observation']);
    expect((await store.verify()).problems).toEqual([]);
    for (let trial = 0; trial < cases(80, 12); trial++) {
      Object.assign(SKIP_TUNING, { maxTested: oneOf([0, 64], random), maxScanned: oneOf([3, 1_000], random) });
      Object.assign(TUNING, { looks: oneOf([[Infinity], TUNED.looks], random), walkedFirst: 0, mostShare: 2 });
      const query = randomUnitQuery(random);
      expect(await answerOf(store, query)).toEqual(await answerOf(memory, query));
    }
    const later = [...observations(20, random), ...observations(9, random, `n${step}-`)];
    const gone = oneOf(first.slice(20), random).id!;
    for (const one of [store, memory]) {
      await write(one, later);
      await one.commit([{ kind: 'delete', key: keyOf('Observation', gone) }]);
    }
  }
  await store.close();
});

test('values in a rare unit are counted by the set of the unit, without a test of a resource', async () => {
  const statements: string[] = [];
  const pool = await postgresPool();
  const store = new PostgresStore(noting(pool, statements));
  const valueQuantity = (index: number): object => {
    const code = index % 20 === 0 ? 'g' : 'mg';
    return { value: index, system: UCUM, code, unit: code === 'g' ? 'gram' : code };
  };
  const resources = Array.from({ length: 200 }, (_, index) => ({
    resourceType: 'Observation',
    id: `o${index}`,
    valueQuantity: valueQuantity(index),
  }));
  await write(store, resources);
  await buildSkips(pool, ['Observation']);
  const parameter = parameterKey('Observation', 'value-quantity');
  const rows = await rowsOf(pool, `SELECT value FROM fhirgraph_skip WHERE sort = 0 AND subject = ${parameter}`);
  const [ucum, mg, g, gram] = [UCUM, 'mg', 'g', 'gram'].map(textKey);
  const names = ['', '|', `|${mg}`, `|${g}`, `|${gram}`, `${ucum}|${mg}`, `${ucum}|${g}`].map((name) => `v${name}`);
  expect(rows.flat().toSorted()).toEqual([...names, 'p', 's'].toSorted());
  for (const [unit, count] of [
    [{ code: 'gram' }, 5],
    [{ system: UCUM, code: 'g' }, 5],
    [{ code: 'unknown' }, 0],
  ] as const) {
    for (const looks of [[Infinity], TUNED.looks]) {
      Object.assign(TUNING, { looks });
      statements.length = 0;
      const test = { kind: 'quantity', prefix: 'ge', low: 96, high: 96, ...unit } as const;
      const criteria = { kind: 'match', parameter: 'value-quantity', test } as const;
      const { total } = await store.search(queryOf('Observation', criteria, { limit: 0, total: true }));
      expect(total).toBe(count);
      expect(statements.filter((text) => text.includes('EXISTS'))).toEqual([]);
    }
  }
  await store.close();
});

test('other values in a unit are derived from the excluded values', async () => {
  const statements: string[] = [];
  const pool = await postgresPool();
  const store = new PostgresStore(noting(pool, statements));
  const resources = Array.from({ length: 200 }, (_, index) => ({
    resourceType: 'Observation',
    id: `o${index}`,
    valueQuantity: { value: index % 100, system: UCUM, code: index % 20 === 0 ? 'g' : 'mg' },
  }));
  await write(store, resources);
  await buildSkips(pool, ['Observation']);
  Object.assign(TUNING, { looks: [Infinity] });
  for (const [code, total] of [
    ['mg', 188],
    ['g', 10],
  ] as const) {
    statements.length = 0;
    const test = { kind: 'quantity', prefix: 'ne', low: 51, high: 51, system: UCUM, code } as const;
    const criteria = { kind: 'match', parameter: 'value-quantity', test } as const;
    const found = await store.search(queryOf('Observation', criteria, { limit: 0, total: true }));
    expect(found.total).toBe(total);
    // The values of one granule are read, and those of no other.
    expect(statements.filter((text) => /\bquantity\b/.test(text) && !text.includes('string_agg(CASE'))).toEqual([]);
  }
  await store.close();
});
