import { afterEach, beforeAll, expect, test } from 'vitest';
import { createSubject } from '../../../src/search/evaluate/search-subject.js';
import { positionOf } from '../../../src/search/evaluate/sort.js';
import type { Criteria, SortKey } from '../../../src/search/criteria/criteria.js';
import type { ResourceStore } from '../../../src/store/store.js';
import { MemoryStore } from '../../../src/stores/memory/store.js';
import { TUNING } from '../../../src/stores/postgres/scans/tuning.js';
import { SKIP_TUNING } from '../../../src/stores/postgres/rows/skip-row.js';
import { PostgresStore } from '../../../src/stores/postgres/store.js';
import { keyOf, queryOf } from '../../../src/testing/conformance-case.js';
import { createRandom, oneOf } from '../../../src/testing/random.js';
import { cases, IS_WHOLE, SEED, someOf } from '../../support/chance.js';
import { correlatedObservations } from '../correlated-observations.js';
import { noting, postgresPool } from './pool.js';
import { buildSkips } from './skip-build.js';
import { above, by, match, write } from '../skip-cases.js';

const DEFAULTS = { ...TUNING };
// Few resources are many parts.
beforeAll(() => void Object.assign(SKIP_TUNING, { granule: 16, minGranules: 4, minHolders: 2 }));
afterEach(() => void Object.assign(TUNING, DEFAULTS));

const not = (of: Criteria): Criteria => ({ kind: 'not', of });
const CONDITIONS: readonly Criteria[] = [
  match('status', 'final'),
  match('status', 'corrected'),
  not(match('code', 'c1')),
  not(above(120)),
  { kind: 'missing', parameter: 'subject', missing: false },
  { kind: 'and', of: [match('status', 'final'), not(match('code', 'c2'))] },
  { kind: 'or', of: [match('code', 'c0'), match('code', 'c3')] },
];
const METHOD = { method: { coding: [{ code: 'm' }] } };
const SORTS = [
  [],
  [by('date')],
  [by('date', true)],
  [by('value-quantity', true)],
  [by('value-quantity'), by('date')],
  [by('status'), by('code', true)],
  [by('code', true)],
  [by('_lastUpdated', true), by('date')],
  // Only some of the later ones have a method.
  [by('method')],
  [by('method', true), by('date')],
];

test.each(someOf([30, 0], 1))(
  `pages of granules that are read whole equal those of a memory store, ${SEED}, after %i writes`,
  async (writes) => {
    const random = createRandom(SEED);
    const pool = await postgresPool();
    const texts: string[] = [];
    const [store, memory] = [new PostgresStore(noting(pool, texts)), new MemoryStore()];
    const resources = correlatedObservations(IS_WHOLE ? 400 : 200);
    const written = resources
      .slice(0, writes)
      .map((one, index) => ({ ...resources[index + 100]!, id: one.id, ...(index % 3 === 0 ? METHOD : {}) }));
    const stored = new Map<ResourceStore, Map<string, string>>();
    for (const one of [store, memory]) {
      await write(one, resources);
      if (one === store) await buildSkips(pool, ['Observation']);
      if (writes > 0) await write(one, written);
      const gone = resources.slice(100, 100 + writes / 5).map(({ id }) => keyOf('Observation', id!));
      await one.commit(gone.map((key) => ({ kind: 'delete', key })));
      const { matches } = await one.search(queryOf('Observation', { kind: 'all' }));
      stored.set(one, new Map(matches.map(({ resource, lastUpdated }) => [resource.id!, lastUpdated])));
    }
    const current = (await memory.search(queryOf('Observation', { kind: 'all' }))).matches.map(
      ({ resource }) => resource,
    );
    Object.assign(TUNING, { looks: [Infinity], walkedFirst: 0, mostShare: 2, fewTogether: 0, firstBatch: 0 });
    Object.assign(TUNING, { readPerMember: 100, writtenBeside: Infinity });
    for (let trial = 0; trial < cases(200, 40); trial++) {
      const [criteria, sort] = [oneOf(CONDITIONS, random), oneOf(SORTS, random)];
      const limit = oneOf([1, 5, 20], random);
      Object.assign(TUNING, { denseGranule: oneOf([1, 4], random) });
      const near = oneOf(current, random);
      const side = oneOf(['after', 'before', undefined], random);
      const pageOf = async (one: ResourceStore): Promise<readonly string[]> => {
        const subject = createSubject(one.model, near, stored.get(one)!.get(near.id!)!);
        const from = side && { [side]: positionOf(subject, sort) };
        const { matches } = await one.search(queryOf('Observation', criteria, { sort, limit, ...from }));
        return matches.map(({ resource }) => resource.id!);
      };
      expect(await pageOf(store), JSON.stringify({ criteria, sort, limit, side, near: near.id })).toEqual(
        await pageOf(memory),
      );
    }
    expect(texts.filter((text) => text.includes('get_bit')).length).toBeGreaterThan(30);
    await store.close();
  },
);

test('many resources of a granule are read in their order, and no others are looked up', async () => {
  const pool = await postgresPool();
  const texts: string[] = [];
  const store = new PostgresStore(noting(pool, texts));
  await write(store, correlatedObservations(400));
  await buildSkips(pool, ['Observation']);
  const page = queryOf('Observation', not(match('status', 'final')), { sort: [by('date')], limit: 10 });
  const read = async (denseGranule: number): Promise<readonly [ids: string, lookedUp: number]> => {
    Object.assign(TUNING, { looks: [Infinity], fewTogether: 0, firstBatch: 0, mostShare: 2, denseGranule });
    texts.length = 0;
    const { matches } = await store.search(page);
    return [
      matches.map(({ resource }) => resource.id).join(),
      texts.filter((text) => text.includes('fhirgraph_skip_key')).length,
    ];
  };
  const [ids, lookedUp] = await read(Infinity);
  expect(lookedUp).toBeGreaterThan(0);
  expect(await read(4)).toEqual([ids, 0]);
  await store.close();
});

test.each(someOf([false, true], 1))(
  'a parameter without values is a valid order, descending: %s',
  async (descending) => {
    const pool = await postgresPool();
    const texts: string[] = [];
    const store = new PostgresStore(noting(pool, texts));
    await write(store, correlatedObservations(400));
    await buildSkips(pool, ['Observation']);
    Object.assign(TUNING, { looks: [Infinity], fewTogether: 0, mostShare: 2, denseGranule: 4 });
    const idsBy = async (...sort: readonly SortKey[]): Promise<readonly string[]> => {
      texts.length = 0;
      const page = queryOf('Observation', match('status', 'corrected'), { sort, limit: 10 });
      return (await store.search(page)).matches.map(({ resource }) => resource.id!);
    };
    const expected = await idsBy(by('date', true));
    expect(await idsBy(by('method', descending), by('date', true))).toEqual(expected);
    expect(texts.filter((text) => text.includes('WITH t0'))).toEqual([]);
    await store.close();
  },
);
