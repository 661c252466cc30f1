import assert from 'node:assert/strict';
import type { AnyResource } from '../../fhir/resource.js';
import type { SearchPage, SearchQuery } from '../../store/search-query.js';
import type { ResourceStore } from '../../store/store.js';
import { type ConformanceSuite, keyOf, PROJECT, put } from '../conformance-case.js';
import { RandomQueries } from '../random-queries.js';
import { compositeResources, randomResources } from '../random-resources.js';
import { below, oneOf } from '../random.js';
import { type ReferenceAnswer, ReferenceSearch } from '../reference-search.js';

/** Random searches over random data, compared with the reference search. */
export const randomSuite: ConformanceSuite = {
  name: 'random searches',
  cases: [
    {
      name: 'answer as the meaning of criteria demands, also after changes and deletions',
      async run(store, random, effort) {
        const current = new Map<string, AnyResource>();
        for (let round = 0; round < 3; round++) {
          await changeSome(store, current, random);
          await assertSearches(store, PROJECT, [...current.values()], random, Math.ceil(150 * effort));
        }
      },
    },
    {
      name: 'answer so over skewed data: one status for nearly all, repeated and missing values',
      async run(store, random, effort) {
        const stored = await storeAll(store, skewedResources(60, random));
        await assertSearches(store, PROJECT, stored, random, Math.ceil(100 * effort));
      },
    },
    {
      name: 'answer conditions within conditions: `_has`, chains, negations, alternatives, and composites of every kind',
      async run(store, random, effort) {
        const stored = await storeAll(store, compositeResources(random));
        const reference = new ReferenceSearch(store.model, stored);
        const queries = new RandomQueries(PROJECT, reference, random);
        for (let run = 0; run < Math.ceil(1_000 * effort); run++)
          await assertSearch(store, queries.nested(), reference);
      },
    },
  ],
};

/**
 * Asserts that a store answers random searches over these resources like the reference search.
 *
 * @param resources everything the project holds now, as the store returned it.
 * @param runs how many searches of each kind.
 * @throws AssertionError - the answers differ; the message holds the query.
 */
export async function assertSearches(
  store: ResourceStore,
  project: string,
  resources: readonly AnyResource[],
  random: () => number,
  runs: number,
): Promise<void> {
  const reference = new ReferenceSearch(store.model, resources);
  const queries = new RandomQueries(project, reference, random);
  for (let run = 0; run < runs; run++) {
    const query = run % 3 === 2 ? queries.nested() : queries.search();
    await assertSearch(store, query, reference);
    const reverse = queries.reverse();
    if (reverse === undefined) continue;
    const { query: inner, parameter, targets } = reverse;
    const pages = await store.searchByReference(inner, parameter, targets);
    const expected = targets.map((target) => reference.searchByReference(inner, parameter, target));
    assert.deepEqual(pages.map(answerOf), expected, `searchByReference ${JSON.stringify(reverse)}`);
  }
}

async function assertSearch(store: ResourceStore, query: SearchQuery, reference: ReferenceSearch): Promise<void> {
  assert.deepEqual(answerOf(await store.search(query)), reference.search(query), `search ${JSON.stringify(query)}`);
}

function answerOf({ matches, total }: SearchPage): ReferenceAnswer {
  return { ids: matches.map(({ resource }) => resource.id!), total: total! };
}

/** @returns the resources as the store returned them. */
async function storeAll(store: ResourceStore, resources: readonly AnyResource[]): Promise<readonly AnyResource[]> {
  const results = await store.commit(resources.map((resource) => put(resource)));
  return results.flatMap((result) => (result.kind === 'put' ? [result.resource] : []));
}

/** Writes new resources over some of the old ones and deletes a few. */
async function changeSome(
  store: ResourceStore,
  current: Map<string, AnyResource>,
  random: () => number,
): Promise<void> {
  const writes = randomResources(random, store.model.baseUrl).filter(
    (one) => !current.has(nameOf(one)) || random() < 0.4,
  );
  for (const result of await store.commit(writes.map((resource) => put(resource)))) {
    if (result.kind === 'put') current.set(nameOf(result.resource), result.resource);
  }
  for (let n = below(6, random); n > 0; n--) {
    const { resourceType, id } = oneOf([...current.values()], random);
    await store.commit([{ kind: 'delete', key: keyOf(resourceType, id!) }]);
    current.delete(`${resourceType}/${id!}`);
  }
}

function nameOf({ resourceType, id }: AnyResource): string {
  return `${resourceType}/${id!}`;
}

/**
 * A small sample with the skew of large stores: nearly all resources have one status, some values follow the order of
 * the ids, values repeat within and across resources, some elements are rare, some periods have no end.
 */
export function skewedResources(count: number, random: () => number): AnyResource[] {
  const chance = (probability: number): boolean => random() < probability;
  const day = (number: number): string =>
    new Date(Date.UTC(2020, 0, 1) + number * 86_400_000).toISOString().slice(0, 10);
  return Array.from({ length: count }, (_, index) => {
    const isLate = index > 0.9 * count;
    // Ids of one kind follow the order of the values below, the others do not.
    const id = chance(0.7) ? `o${String(index).padStart(4, '0')}` : `x${below(1e9, random).toString(36)}${index}`;
    const start = day(chance(0.8) ? Math.floor(index / 7) : below(60, random));
    const codes = Array.from({ length: chance(0.2) ? 2 : 1 }, () => oneOf(CODES, random));
    const observation = {
      resourceType: 'Observation',
      id,
      status: isLate ? 'preliminary' : chance(0.03) ? 'amended' : 'final',
      category: [...new Set(codes)].map((code) => ({ coding: [{ system: 'urn:category', code }] })),
      code: { coding: [{ system: 'http://loinc.org', code: `c${Math.floor(12 * random() * random())}` }] },
      subject: { reference: `Patient/${chance(0.8) ? 'most' : `p${below(9, random)}`}` },
      ...(chance(0.1)
        ? {}
        : chance(0.2)
          ? { effectivePeriod: { start, ...(chance(0.3) ? {} : { end: day(60 + below(20, random)) }) } }
          : { effectiveDateTime: chance(0.5) ? start : `${start}T0${below(10, random)}:00:00Z` }),
      ...(chance(0.6) ? { valueQuantity: { value: below(20, random) / 2, code: 'mg', system: 'urn:u' } } : {}),
      ...(chance(0.02) ? { valueString: oneOf(TEXTS, random) } : {}),
    };
    return observation;
  });
}

const CODES = ['laboratory', 'laboratory', 'laboratory', 'exam', 'vital-signs'];
const TEXTS = ['Öl', 'oil', "O'il", '(oil)', 'zinc'];
