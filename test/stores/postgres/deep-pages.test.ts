import { afterEach, beforeAll, expect, test } from 'vitest';
import type { AnyResource } from '../../../src/fhir/resource.js';
import type { Criteria } from '../../../src/search/criteria/criteria.js';
import type { PostgresPool } from '../../../src/stores/postgres/database/driver.js';
import { TUNING } from '../../../src/stores/postgres/scans/tuning.js';
import { SKIP_TUNING } from '../../../src/stores/postgres/rows/skip-row.js';
import { PostgresStore } from '../../../src/stores/postgres/store.js';
import { keyOf, queryOf } from '../../../src/testing/conformance-case.js';
import { below, createRandom, oneOf } from '../../../src/testing/random.js';
import { ReferenceSearch } from '../../../src/testing/reference-search.js';
import { cases, SEED, someOf } from '../../support/chance.js';
import { correlatedObservations } from '../correlated-observations.js';
import { postgresPool, through } from './pool.js';
import { buildSkips } from './skip-build.js';
import { above, by, match, write } from '../skip-cases.js';

const DEFAULTS = { ...TUNING };
beforeAll(() => void Object.assign(SKIP_TUNING, { granule: 8, minGranules: 4, minHolders: 2 }));
afterEach(() => void Object.assign(TUNING, DEFAULTS));

const CRITERIA: readonly Criteria[] = [
  { kind: 'all' },
  { kind: 'not', of: match('status', 'corrected') },
  { kind: 'missing', parameter: 'date', missing: false },
  above(20),
  { kind: 'or', of: [match('status', 'final'), above(90)] },
];
const SORTS = [
  [],
  [by('date')],
  [by('date', true)],
  [by('status'), by('date', true)],
  [by('code'), by('_lastUpdated')],
  [by('value-quantity', true)],
  [by('_id', true)],
];

/** A pool that adds up the characters of the rows that it returns. */
function weighing(pool: PostgresPool, read: { characters: number }): PostgresPool {
  return through(pool, async (statement, client) => {
    const result = await client.query(statement);
    for (const row of result.rows) for (const one of row) read.characters += String(one ?? '').length;
    return result;
  });
}

const WAYS = [
  ['in granules that are counted, some tested before', { deep: 3, walkedFirst: 0, mostShare: 2, fewTogether: -1 }],
  ['in granules that are counted', { deep: 0 }],
  ['that are found like those on it', { deep: Infinity }],
] as const;

test.each(someOf(WAYS, 1))(
  'a page has the same matches if those before it are %s, also after writes',
  async (_, tuning) => {
    const random = createRandom(SEED);
    const pool = await postgresPool();
    const store = new PostgresStore(pool);
    const current = new Map<string, AnyResource>();
    const add = async (some: readonly AnyResource[]): Promise<void> => {
      for (const one of await write(store, some)) current.set(one.id!, one);
    };
    await add(correlatedObservations(160));
    await buildSkips(pool, ['Observation']);
    for (let round = 0; round < 3; round++) {
      const reference = new ReferenceSearch(store.model, [...current.values()]);
      for (let trial = 0; trial < cases(25, 8); trial++) {
        const criteria = oneOf(CRITERIA, random);
        const [offset, limit] = [below(170, random), oneOf([1, 5, 40], random)];
        const query = queryOf('Observation', criteria, { sort: oneOf(SORTS, random), offset, limit });
        Object.assign(TUNING, tuning);
        const found = await store.search(query);
        Object.assign(TUNING, DEFAULTS);
        expect(
          found.matches.map(({ resource }) => resource.id),
          JSON.stringify(query),
        ).toEqual(reference.search(query).ids);
      }
      const gone = oneOf([...current.keys()], random);
      await store.commit([{ kind: 'delete', key: keyOf('Observation', gone) }]);
      current.delete(gone);
      const changed = correlatedObservations(160).filter(() => below(9, random) === 0);
      await add(
        changed.map((one, number) => ({ ...one, id: current.size % 2 === 0 ? one.id! : `new${round}-${number}` })),
      );
      if (round === 1) await buildSkips(pool, ['Observation']);
    }
    await store.close();
  },
);

test('resources before a page are not read', async () => {
  const read = { characters: 0 };
  const pool = await postgresPool();
  const store = new PostgresStore(weighing(pool, read));
  const all = await write(store, correlatedObservations(200));
  const reference = new ReferenceSearch(store.model, all);
  const pages = async (offset: number): Promise<number> => {
    read.characters = 0;
    for (const criteria of [{ kind: 'all' }, { kind: 'not', of: match('status', 'corrected') }] as const) {
      for (const sort of SORTS) {
        const query = queryOf('Observation', criteria, { sort, offset, limit: 2 });
        const { matches } = await store.search(query);
        expect(matches.map(({ resource }) => resource.id)).toEqual(reference.search(query).ids);
      }
    }
    return read.characters;
  };
  Object.assign(TUNING, { deep: 10 });
  // Their texts alone would be forty times as much.
  expect(await pages(150)).toBeLessThan(4 * (await pages(0)));
  await buildSkips(pool, ['Observation']);
  await pages(150);
  // The parts of the skip index that a process caches are read once.
  expect(await pages(150)).toBeLessThan(4 * (await pages(0)));
  await store.close();
});
