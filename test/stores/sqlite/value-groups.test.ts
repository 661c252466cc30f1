import Database from 'better-sqlite3';
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { R4 } from '../../../src/fhir/r4.js';
import type { AnyResource } from '../../../src/fhir/resource.js';
import type { Criteria } from '../../../src/search/criteria/criteria.js';
import { MemoryStore } from '../../../src/stores/memory/store.js';
import { groupedComposites } from '../../../src/stores/sql/skip/value-groups.js';
import { OrderUpdate } from '../../../src/stores/sqlite/skip/build/skip-order-update.js';
import { COUNTING_SETS } from '../../../src/stores/sqlite/search/count-sets.js';
import { TUNING } from '../../../src/stores/sqlite/scans/tuning.js';
import { GROUPS, SKIP_TUNING } from '../../../src/stores/sqlite/rows/skip-row.js';
import { Statements } from '../../../src/stores/sqlite/database/statements.js';
import { SqliteStore } from '../../../src/stores/sqlite/store.js';
import { PROJECT, queryOf } from '../../../src/testing/conformance-case.js';
import { createRandom } from '../../../src/testing/random.js';
import { cases, SEED } from '../../support/chance.js';
import {
  answer,
  component,
  KINDS,
  LOINC,
  PRESSURE,
  panel,
  panels,
  randomGroupCriteria,
  randomPanels,
  systolic,
  UCUM,
} from '../group-cases.js';
import { answerOf, by, write } from '../skip-cases.js';
import { buildSkips } from './skip-build.js';

// Few resources are many granules.
beforeAll(() => {
  Object.assign(SKIP_TUNING, { granule: 8, minGranules: 4, minHolders: 12, maxLookedUp: 4 });
  Object.assign(TUNING, { looks: [Infinity], skipFrom: 0, fewTogether: -1, firstChunk: 0, maxChunk: 8 });
  Object.assign(COUNTING_SETS, { minRows: 0 });
});

async function countOf(store: SqliteStore, criteria: Criteria): Promise<number | undefined> {
  const { total } = await store.search({ project: PROJECT, type: 'Observation', criteria, limit: 0, total: true });
  return total;
}

test('the composites with groups are those of components with a code and a quantity or a concept', () => {
  expect(groupedComposites(R4, 'Observation').map(({ value, table }) => [value, table])).toEqual([
    ['combo-code-value-concept$1', 'token'],
    ['combo-code-value-quantity$1', 'quantity'],
    ['component-code-value-concept$1', 'token'],
    ['component-code-value-quantity$1', 'quantity'],
  ]);
  expect(groupedComposites(R4, 'Patient')).toEqual([]);
});

test.each(KINDS)(`groups %s answer as memory does, also after writes, seed ${SEED}`, async (_, make) => {
  const random = createRandom(SEED);
  const [database, memory] = [new Database(':memory:'), new MemoryStore()];
  const store = new SqliteStore(database);
  const both = async (resources: readonly AnyResource[]): Promise<void> => {
    for (const one of [store, memory]) await write(one, resources);
  };
  await both(randomPanels(make, random, 0, 200));
  buildSkips(database);
  for (let round = 0; round < 4; round++) {
    for (let trial = 0; trial < cases(60, 20); trial++) {
      const sort = [by('_id', random() < 0.5)];
      const query = queryOf('Observation', randomGroupCriteria(random), { limit: 10, total: true, sort });
      expect(await answerOf(store, query)).toEqual(await answerOf(memory, query));
    }
    // A granule grows beyond its limit, and some resources lose all groups.
    await both(randomPanels(make, random, 150 + 40 * round, 40));
    await both(Array.from({ length: 5 }, (__, index) => panel(`o${index + round}`, [])));
    if (round % 2 === 1) {
      buildSkips(database);
      expect(await store.verify()).toMatchObject({ problems: [] });
    }
  }
});

test('a count of blood pressures tests no resource', async () => {
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  await write(store, panels());
  buildSkips(database);
  const spy = vi.spyOn(Statements.prototype, 'get');
  onTestFinished(() => spy.mockRestore());
  expect(await countOf(store, systolic(140))).toBe(72);
  expect(await countOf(store, systolic(140, { system: LOINC, unit: { system: UCUM, code: 'mm[Hg]' } }))).toBe(72);
  expect(await countOf(store, systolic(100, { prefix: 'le', unit: { code: 'mmHg' } }))).toBe(8);
  expect(spy.mock.calls.filter(([{ text }]) => /FROM (?:token|quantity|s\b)/.test(text))).toEqual([]);
});

test('a count of answers tests no resource', async () => {
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  const answers = Array.from({ length: 400 }, (_, index) =>
    panel(`o${index}`, [
      answer('first', [[LOINC, index % 4 === 0 ? 'yes' : 'no']]),
      answer('second', [[LOINC, index % 4 === 1 ? 'yes' : 'no']]),
    ]),
  );
  await write(store, answers);
  buildSkips(database);
  const spy = vi.spyOn(Statements.prototype, 'get');
  onTestFinished(() => spy.mockRestore());
  for (const [code, expected] of [
    ['yes', 100],
    ['no', 300],
    ['never', 0],
  ] as const) {
    const tests = [
      { kind: 'token', code: 'first' },
      { kind: 'token', code, system: LOINC },
    ] as const;
    expect(await countOf(store, { kind: 'composite', parameter: 'component-code-value-concept', tests })).toBe(
      expected,
    );
  }
  expect(spy.mock.calls.filter(([{ text }]) => /FROM (?:token|quantity|s\b)/.test(text))).toEqual([]);
});

test('an update keeps the groups, and forgets the unit that a new value does not have', async () => {
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  const resources = Array.from({ length: 100 }, (_, index) => panel(`o${index}`, [component('sys', index)]));
  await write(store, resources);
  buildSkips(database);
  const facts = (): unknown =>
    (
      database.prepare('SELECT data FROM skip WHERE data LIKE \'%"groups"%\' ORDER BY sort').pluck().all() as string[]
    ).map((data) => (JSON.parse(data) as { groups: unknown }).groups);
  const of = (uri: string): unknown => database.prepare('SELECT key FROM system WHERE uri = ?').pluck().get(uri);
  const units = [`${of(UCUM)}|mm[Hg]`, '|mm[Hg]'];
  const before = { code: 'sys', system: of(LOINC), units: [...units, '|mmHg'] };
  expect(facts()).toEqual([before, before]);
  const updates = vi.spyOn(OrderUpdate.prototype, 'rows');
  onTestFinished(() => updates.mockRestore());
  await write(store, [panel('o100', [component('sys', 200, { ...PRESSURE, unit: 'mm Hg' }, 'urn:own')])]);
  buildSkips(database);
  expect(updates.mock.results.map(({ value }) => value as unknown)).not.toContain(undefined);
  expect(facts()).toEqual([
    { code: 'sys', units },
    { code: 'sys', units },
  ]);
  expect(await countOf(store, systolic(98))).toBe(2);
  expect(await countOf(store, systolic(98, { system: LOINC }))).toBe(1);
  expect(await countOf(store, systolic(98, { unit: { code: 'mm Hg' } }))).toBe(1);
});

test('an interval among the values leaves the groups out', async () => {
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  const resources = Array.from({ length: 100 }, (_, index) => panel(`o${index}`, [component('sys', index)]));
  await write(store, resources);
  buildSkips(database);
  const kept = (): unknown =>
    database.prepare('SELECT count(*) FROM skip WHERE sort > 0 AND subject = ?').pluck().get(GROUPS);
  expect(kept()).toBe(2);
  await write(store, [panel('o100', [component('sys', 50, { ...PRESSURE, comparator: '>' })])]);
  buildSkips(database);
  expect(kept()).toBe(0);
  expect(await countOf(store, systolic(98))).toBe(2);
});
