import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { AnyResource } from '../../src/fhir/resource.js';
import { SqliteStore } from '../../src/stores/sqlite/store.js';
import { createRandom } from '../../src/testing/random.js';
import { SEED } from '../support/chance.js';
import { write } from './skip-cases.js';
import { assertAnswersOfMemory, useSmallGranules } from './sqlite-compared.js';
import { buildSkips } from './sqlite-skip-build.js';
import { observations, randomUnitQuery, UCUM } from './unit-cases.js';

useSmallGranules();

test(`values in a unit are what a memory store finds, also after writes, seed ${SEED}`, async () => {
  await assertAnswersOfMemory(observations, randomUnitQuery, createRandom(SEED));
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
