import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { AnyResource } from '../../src/fhir/resource.js';
import type { Criteria } from '../../src/search/criteria/criteria.js';
import type { Prefix } from '../../src/search/criteria/value-test.js';
import type { ResourceStore } from '../../src/store/store.js';
import { MemoryStore } from '../../src/stores/memory/store.js';
import { COUNTING_SETS } from '../../src/stores/sqlite/count-sets.js';
import { TUNING } from '../../src/stores/sqlite/pages/tuning.js';
import { SKIP_TUNING } from '../../src/stores/sqlite/skip/skip-row.js';
import { SqliteStore } from '../../src/stores/sqlite/store.js';
import { keyOf, PROJECT } from '../../src/testing/conformance-case.js';
import { below, createRandom, oneOf } from '../../src/testing/random.js';
import { cases, SEED } from '../support/chance.js';
import { by, match, write } from './skip-cases.js';
import { buildSkips } from './sqlite-skip-build.js';

const [TUNED, COUNTS, SKIPS] = [{ ...TUNING }, { ...COUNTING_SETS }, { ...SKIP_TUNING }];
// Few resources are many granules.
beforeAll(() => void Object.assign(SKIP_TUNING, { granule: 8, minGranules: 3, minHolders: 2 }));
afterAll(() => void Object.assign(SKIP_TUNING, SKIPS));
afterEach(() => {
  Object.assign(TUNING, TUNED);
  Object.assign(COUNTING_SETS, COUNTS);
  Object.assign(SKIP_TUNING, { maxLookedUp: SKIPS.maxLookedUp, maxTested: SKIPS.maxTested, maxTied: SKIPS.maxTied });
});

const UCUM = 'http://unitsofmeasure.org';

/** The same code in two systems, a code that is the human unit of another, values without a code, without a unit. */
const UNITS: readonly object[] = [
  ...Array.from({ length: 8 }, () => ({ system: UCUM, code: 'mg' })),
  { system: UCUM, code: 'g' },
  { system: 'urn:other', code: 'mg' },
  { system: UCUM, code: 'ug', unit: 'mg' },
  { unit: 'drops' },
  {},
];

function observations(count: number, random: () => number, prefix = ''): AnyResource[] {
  const quantity = (): object => ({ value: below(40, random), ...oneOf(UNITS, random) });
  return Array.from({ length: count }, (_, index) => ({
    resourceType: 'Observation',
    id: `${prefix}${(index * 7919) % 1_003}`,
    status: oneOf(['final', 'final', 'preliminary'], random),
    ...(random() < 0.9 && { valueQuantity: quantity() }),
    component: Array.from({ length: below(4, random) }, () => ({ valueQuantity: quantity() })),
  }));
}

function inUnit(random: () => number): Criteria {
  const prefix = oneOf<Prefix>(['eq', 'ne', 'gt', 'lt', 'ge', 'le', 'sa', 'eb', 'ap'], random);
  const low = below(40, random);
  const high = ['eq', 'ne', 'ap'].includes(prefix) ? low + oneOf([0, 5], random) : low;
  const parameter = oneOf(['value-quantity', 'component-value-quantity', 'combo-value-quantity'], random);
  const unit = oneOf(
    [
      { code: 'mg' },
      { code: 'g' },
      { code: 'ug' },
      { code: 'drops' },
      { code: 'unknown' },
      { system: UCUM, code: 'mg' },
      { system: UCUM, code: 'g' },
      { system: 'urn:other', code: 'mg' },
      { system: 'urn:unknown', code: 'mg' },
      { system: UCUM },
    ],
    random,
  );
  return { kind: 'match', parameter, test: { kind: 'quantity', prefix, low, high, ...unit } };
}

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
      const criteria = oneOf<Criteria>(
        [
          inUnit(random),
          { kind: 'not', of: inUnit(random) },
          { kind: 'and', of: [inUnit(random), match('status', 'final')] },
          { kind: 'and', of: [inUnit(random), { kind: 'not', of: inUnit(random) }] },
          { kind: 'or', of: [inUnit(random), inUnit(random)] },
        ],
        random,
      );
      const sort = oneOf([undefined, [by('_id', random() < 0.5)], [by('value-quantity', random() < 0.5)]], random);
      const query = {
        project: PROJECT,
        type: 'Observation',
        criteria,
        sort,
        limit: oneOf([0, 10], random),
        total: true,
      };
      const idsOf = async (from: ResourceStore): Promise<unknown> => {
        const { matches, total } = await from.search(query);
        return [total, matches.map(({ resource }) => resource.id)];
      };
      expect([criteria, await idsOf(store)]).toEqual([criteria, await idsOf(memory)]);
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
