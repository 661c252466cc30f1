import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { AnyResource } from '../../../src/fhir/resource.js';
import { SEVERAL_UNITS, type StoredUnit } from '../../../src/stores/sql/skip/unit-sets.js';
import { sql } from '../../../src/stores/sql/sql.js';
import { resourcesByUnit } from '../../../src/stores/sqlite/skip/build/unit-sets.js';
import { SqliteStore } from '../../../src/stores/sqlite/store.js';
import { createRandom } from '../../../src/testing/random.js';
import { SEED } from '../../support/chance.js';
import { write } from '../skip-cases.js';
import { assertAnswersOfMemory, useSmallGranules } from './compared.js';
import { buildSkips } from './skip-build.js';
import { observations, randomUnitQuery, UCUM } from '../unit-cases.js';

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

test('only resources with values in different units have several, however many values they have', () => {
  const rows: readonly (readonly [resource: number, unit: StoredUnit])[] = [
    [1, [7, 'mg', 'mg']],
    [2, [7, 'mg', 'mg']],
    [1, [7, 'mg', 'mg']],
    [3, [7, 'g', 'gram']],
    [2, [7, 'g', 'gram']],
    [4, [null, null, null]],
  ];
  const byUnit = (some: typeof rows): unknown => {
    const columns = [some.map(([resource]) => resource), some.map(([, unit]) => JSON.stringify(unit))];
    return resourcesByUnit(sql``, () => columns.shift()!);
  };
  expect(byUnit(rows)).toEqual(
    new Map([
      ['7|mg', [1, 2, 1]],
      ['|mg', [1, 2, 1]],
      ['7|g', [3, 2]],
      ['|g', [3, 2]],
      ['|gram', [3, 2]],
      [SEVERAL_UNITS, [2]],
    ]),
  );
  expect(byUnit(rows.slice(-1))).toEqual(new Map());
});
