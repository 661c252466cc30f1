import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { AnyResource } from '../../src/fhir/resource.js';
import { MemoryStore } from '../../src/stores/memory/store.js';
import { COUNTING_SETS } from '../../src/stores/sqlite/count-sets.js';
import { TUNING } from '../../src/stores/sqlite/pages/tuning.js';
import { SKIP_TUNING } from '../../src/stores/sqlite/skip/skip-row.js';
import { SqliteStore } from '../../src/stores/sqlite/store.js';
import { keyOf } from '../../src/testing/conformance-case.js';
import { createRandom, oneOf } from '../../src/testing/random.js';
import { cases, SEED } from '../support/chance.js';
import { answerOf, write } from './skip-cases.js';
import { buildSkips } from './sqlite-skip-build.js';
import { observations, randomUnitQuery, UCUM } from './unit-cases.js';

const [TUNED, COUNTS, SKIPS] = [{ ...TUNING }, { ...COUNTING_SETS }, { ...SKIP_TUNING }];
// Few resources are many granules.
beforeAll(() => void Object.assign(SKIP_TUNING, { granule: 8, minGranules: 3, minHolders: 2 }));
afterAll(() => void Object.assign(SKIP_TUNING, SKIPS));
afterEach(() => {
  Object.assign(TUNING, TUNED);
  Object.assign(COUNTING_SETS, COUNTS);
  Object.assign(SKIP_TUNING, { maxLookedUp: SKIPS.maxLookedUp, maxTested: SKIPS.maxTested, maxTied: SKIPS.maxTied });
});

test(`values in a unit are what a memory store finds, also after writes, seed ${SEED}`, async () => {
  const random = createRandom(SEED);
  const [database, memory] = [new Database(':memory:'), new MemoryStore()];
  const store = new SqliteStore(database);
  const first = observations(400, random);
  for (const one of [store, memory]) await write(one, first);
  buildSkips(database);
  for (let step = 0; step < 4; step++) {
    Object.assign(COUNTING_SETS, { minRows: 0 });
    for (let trial = 0; trial < cases(150, 20); trial++) {
      Object.assign(SKIP_TUNING, {
        maxLookedUp: oneOf([0, 20], random),
        maxTested: oneOf([1, 64], random),
        maxTied: oneOf([0, 20, 8_192], random),
      });
      Object.assign(TUNING, { looks: oneOf([[Infinity], TUNED.looks], random), skipFrom: 0 });
      const query = randomUnitQuery(random);
      expect(await answerOf(store, query)).toEqual(await answerOf(memory, query));
    }
    const later = [...observations(20, random), ...observations(9, random, `n${step}-`)];
    const gone = oneOf(first.slice(20), random).id!;
    for (const one of [store, memory]) {
      await write(one, later);
      await one.commit([{ kind: 'delete', key: keyOf('Observation', gone) }]);
    }
    // Every second time the index says nothing of the writes.
    if (step % 2 === 0) buildSkips(database);
    expect((await store.verify()).problems).toEqual([]);
  }
});

test('a skip index keeps the resources of each unit, with and without its system, and those with several', async () => {
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  const quantity = (code: string): object => ({ valueQuantity: { value: 1, system: UCUM, code, unit: `one ${code}` } });
  await write(
    store,
    Array.from({ length: 60 }, (_, index) => {
      const component = index === 7 ? [quantity('mg'), quantity('g')] : [quantity('mg')];
      return { resourceType: 'Observation', id: `o${index}`, component } as unknown as AnyResource;
    }),
  );
  buildSkips(database);
  const values = database
    .prepare(
      `SELECT s.value FROM skip s JOIN parameter p ON p.key = s.subject
       WHERE s.sort = 0 AND p.code = 'component-value-quantity' AND typeof(s.value) = 'text' ORDER BY s.value`,
    )
    .pluck()
    .all();
  const system = database.prepare('SELECT key FROM system WHERE uri = ?').pluck().get(UCUM) as number;
  expect(values).toEqual(['', `${system}|g`, `${system}|mg`, '|g', '|mg', '|one g', '|one mg'].toSorted());
});
