import { afterEach, expect, test, vi } from 'vitest';
import { PACE } from '../../../src/platform/pace.js';
import { MemoryStore } from '../../../src/index.js';
import type { Criteria, SearchQuery, Write } from '../../../src/store.js';
import { ALL, refersTo } from '../../../src/search/criteria/criteria.js';
import { TextIndex } from '../../../src/stores/memory/value-indexes.js';
import { countTurns } from '../../support/count-turns.js';

const { turnMs } = PACE;
afterEach(() => void (PACE.turnMs = turnMs));

const COUNT = 5_000;
const STEPS = COUNT / 256;
const search = { project: 'p', type: 'Patient', criteria: ALL } satisfies SearchQuery;

/** Patients whose ids and births are not in the order of writing. */
async function patients(): Promise<MemoryStore> {
  const store = new MemoryStore();
  const writes = Array.from({ length: COUNT }, (_, index): Write => {
    const id = `p${(index * 7_919) % COUNT}`;
    const resource = {
      resourceType: 'Patient',
      id,
      gender: index % 2 === 0 ? 'female' : 'male',
      birthDate: `${1900 + (index % 100)}`,
      name: [{ family: `Family${index}` }],
      generalPractitioner: [{ reference: 'Practitioner/1' }],
    };
    return { kind: 'put', key: { project: 'p', type: 'Patient', id }, resource };
  });
  await store.commit(writes);
  return store;
}

async function idsOf(store: MemoryStore, query: SearchQuery): Promise<readonly string[]> {
  return (await store.search(query)).matches.map(({ resource }) => resource.id!);
}

const code: Criteria = { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'other' } };
function familyOf(text: string): Criteria {
  return { kind: 'match', parameter: 'family', test: { kind: 'string', comparator: 'equals', text } };
}
const sort = [
  { parameter: 'gender', descending: true },
  { parameter: 'birthdate', descending: false },
];

test.each<
  readonly [string, Omit<SearchQuery, 'project' | 'type' | 'criteria'> & { readonly criteria?: Criteria }, number]
>([
  // Of the runs, and of the merges of each of five levels.
  ['orders by two keys', { sort }, 5 * STEPS],
  ['orders by id for the first time', { limit: 1 }, 5 * STEPS],
  ['indexes codes for the first time', { criteria: code }, STEPS - 1],
  ['indexes texts for the first time', { criteria: familyOf('nobody') }, 5 * STEPS],
])('other work has its turn while a search %s', async (_, changes, least) => {
  const store = await patients();
  PACE.turnMs = 0;
  const { turns } = await countTurns(() => store.search({ ...search, ...changes }));
  expect(turns).toBeGreaterThan(least);
});

test('concurrent searches make an index together', async () => {
  const store = await patients();
  PACE.turnMs = 0;
  const add = vi.spyOn(TextIndex.prototype, 'add');
  const found = await Promise.all(
    Array.from({ length: 20 }, (_, index) => idsOf(store, { ...search, criteria: familyOf(`family${index}`) })),
  );
  expect(found).toEqual(Array.from({ length: 20 }, (_, index) => [`p${(index * 7_919) % COUNT}`]));
  expect(add).toHaveBeenCalledTimes(COUNT);
  add.mockRestore();
});

test.each<readonly [string, Partial<SearchQuery>]>([
  ['an index', { criteria: familyOf('later') }],
  ['the order of ids', { limit: 1 }],
])('%s that an aborted search left unfinished has the writes that followed', async (_, changes) => {
  const store = await patients();
  PACE.turnMs = 0;
  const controller = new AbortController();
  const aborted = expect(store.search({ ...search, ...changes }, { signal: controller.signal })).rejects.toMatchObject({
    code: 'aborted',
  });
  await new Promise((resolve) => setImmediate(resolve));
  controller.abort();
  await aborted;
  const resource = { resourceType: 'Patient', id: '0', name: [{ family: 'Later' }] };
  await store.commit([{ kind: 'put', key: { project: 'p', type: 'Patient', id: '0' }, resource }]);
  expect(await idsOf(store, { ...search, ...changes })).toEqual(['0']);
});

test('the first page of a sort has what all pages together have first', async () => {
  const store = await patients();
  const all = await idsOf(store, { ...search, sort });
  // Males are those of odd numbers, and come first.
  const places = Array.from({ length: COUNT }, (_, index) => {
    const year = String(1900 + (index % 100));
    const id = `p${(index * 7_919) % COUNT}`;
    return { id, key: `${index % 2 === 0 ? 'b' : 'a'} ${year} ${id}` };
  });
  expect(all).toEqual(places.toSorted((a, b) => (a.key < b.key ? -1 : 1)).map(({ id }) => id));
  for (const [offset, limit] of [
    [0, 1],
    [0, 300],
    [700, 20],
    [4_990, 20],
    [6_000, 1],
  ] as const) {
    expect(await idsOf(store, { ...search, sort, offset, limit })).toEqual(all.slice(offset, offset + limit));
  }
});

test('a page in the order of ids ends when it is full, and begins after the last one', async () => {
  const store = await patients();
  const all = Array.from({ length: COUNT }, (_, index) => `p${index}`).toSorted();
  let looks = 0;
  const criteria = new Proxy<Criteria>(
    { kind: 'not', of: { kind: 'none' } },
    {
      get: (target, name) => {
        if (name === 'of') looks += 1;
        return Reflect.get(target, name) as unknown;
      },
    },
  );
  const page = { ...search, criteria, limit: 20, offset: 5, after: { values: [], id: all[2_999]! } };
  expect(await idsOf(store, page)).toEqual(all.slice(3_005, 3_025));
  expect(looks).toBeLessThan(40);
});

test('a commit that finds one of many matches names the first, and other work has its turn', async () => {
  const store = await patients();
  PACE.turnMs = 0;
  const criteria = refersTo('general-practitioner', { type: 'Practitioner', id: '1' });
  const { turns } = await countTurns(async () => {
    const commit = store.commit([{ kind: 'assert-no-match', query: { ...search, criteria } }]);
    await expect(commit).rejects.toMatchObject({ code: 'conflict', details: { index: 0, holder: 'Patient/p0' } });
  });
  expect(turns).toBeGreaterThan(COUNT / 32);
});
