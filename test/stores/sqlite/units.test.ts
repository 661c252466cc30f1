import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { AnyResource } from '../../../src/fhir/resource.js';
import type { SearchQuery } from '../../../src/store/search-query.js';
import { keptUnits, OTHER_UNITS, SEVERAL_UNITS, type StoredUnit } from '../../../src/stores/sql/skip/unit-sets.js';
import { sql } from '../../../src/stores/sql/sql.js';
import { Statements } from '../../../src/stores/sqlite/database/statements.js';
import { TUNING } from '../../../src/stores/sqlite/scans/tuning.js';
import { COUNTING_SETS } from '../../../src/stores/sqlite/search/count-sets.js';
import { resourcesByUnit } from '../../../src/stores/sqlite/skip/build/unit-sets.js';
import { SqliteStore } from '../../../src/stores/sqlite/store.js';
import { PROJECT, resourceOf } from '../../../src/testing/conformance-case.js';
import { createRandom } from '../../../src/testing/random.js';
import { SEED } from '../../support/chance.js';
import { answerOf, write } from '../skip-cases.js';
import { assertAnswersOfMemory, useSmallGranules } from './compared.js';
import { buildSkips } from './skip-build.js';
import { observations, randomUnitQuery, UCUM } from '../unit-cases.js';

useSmallGranules();

test(`values in a unit find the same as a memory store, also after writes, seed ${SEED}`, async () => {
  await assertAnswersOfMemory(observations, randomUnitQuery, createRandom(SEED));
});

test('a skip index has the resources of each unit, with and without its system, and those with several', async () => {
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
  expect(values).toEqual(['', '|', `${system}|g`, `${system}|mg`, '|g', '|mg', '|one g', '|one mg'].toSorted());
});

test('only resources with values in different units count as having several, with any number of values', () => {
  const rows: readonly (readonly [resource: number, unit: StoredUnit])[] = [
    [1, [7, 'mg', 'mg']],
    [2, [7, 'mg', 'mg']],
    [1, [7, 'mg', 'mg']],
    [3, [7, 'g', 'gram']],
    [2, [7, 'g', 'gram']],
    [4, [null, null, null]],
  ];
  const byUnit = (some: typeof rows, keep = keptUnits): unknown => {
    const columns = [some.map(([resource]) => resource), some.map(([, unit]) => JSON.stringify(unit))];
    return resourcesByUnit(sql``, () => columns.shift()!, keep);
  };
  expect(byUnit(rows)).toEqual(
    new Map([
      ['7|mg', [1, 2, 1]],
      ['|mg', [1, 2, 1]],
      ['7|g', [3, 2]],
      ['|g', [3, 2]],
      ['|gram', [3, 2]],
      [SEVERAL_UNITS, [2]],
      [OTHER_UNITS, []],
    ]),
  );
  expect(byUnit(rows, () => ['|mg', '|gram'])).toEqual(
    new Map([
      ['|mg', [1, 2, 1]],
      ['|gram', [3, 2]],
      [SEVERAL_UNITS, [2]],
      [OTHER_UNITS, [1, 2, 1, 3, 2, 3, 2]],
    ]),
  );
  expect(byUnit(rows.slice(-1))).toEqual(new Map());
});

describe('values in a unit that no resource has', () => {
  const query: SearchQuery = {
    project: PROJECT,
    type: 'Observation',
    criteria: {
      kind: 'match',
      parameter: 'value-quantity',
      test: { kind: 'quantity', prefix: 'gt', low: 5, high: 5, code: 'mmol' },
    },
    limit: 10,
    total: true,
  };
  const value = (unit: string, number = 7) => ({ valueQuantity: { value: number, system: UCUM, code: unit } });

  test('are not searched among those in other units', async () => {
    const database = new Database(':memory:');
    const store = new SqliteStore(database);
    await write(
      store,
      Array.from({ length: 60 }, (_, index) => resourceOf('Observation', `o${index}`, value('mmol/L'))),
    );
    Object.assign(COUNTING_SETS, { minRows: 0 });
    Object.assign(TUNING, { skipFrom: 0 });
    buildSkips(database);
    const read = vi.spyOn(Statements.prototype, 'read');
    onTestFinished(() => read.mockRestore());
    expect(await answerOf(store, { ...query, limit: 0 })).toEqual([query.criteria, 0, []]);
    expect(read.mock.calls.filter(([text]) => /\bquantity x\b/.test(text))).toEqual([]);
  });

  test('are found when the index includes resources with new units', async () => {
    const database = new Database(':memory:');
    const store = new SqliteStore(database);
    await write(
      store,
      Array.from({ length: 60 }, (_, index) => resourceOf('Observation', `o${index}`, value('mmol/L', index))),
    );
    buildSkips(database);
    await write(store, [
      resourceOf('Observation', 'new', value('mmol')),
      resourceOf('Observation', 'other', value('mol')),
    ]);
    buildSkips(database);
    expect(database.prepare("SELECT count(*) FROM skip WHERE value = '|mmol'").pluck().get()).toBe(0);
    Object.assign(COUNTING_SETS, { minRows: 0 });
    Object.assign(TUNING, { skipFrom: 0 });
    expect(await answerOf(store, query)).toEqual([query.criteria, 1, ['new']]);
    expect((await store.verify()).problems).toEqual([]);
  });
});
