import { expect } from 'vitest';
import { extendDefinitions, R4 } from '../../src/definitions.js';
import type { AnyResource, ResourceStore } from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { type FhirModel, indexEntries } from '../../src/store.js';
import { createRandom, put, randomResources } from '../support/kit.js';
import { assertSearches } from '../../src/testing/suites/random-searches.js';
import { cases, SEED } from '../support/chance.js';
import { randomParameters } from './random-parameters.js';

/** Compares the answers of a store with random custom parameters with the evaluation of the same criteria. */
export async function searchByRandomParameters(
  open: (model: FhirModel) => Promise<ResourceStore>,
  quick: number,
): Promise<void> {
  const random = createRandom(SEED);
  const resources = randomResources(random);
  const types = [...new Set(resources.map(({ resourceType }) => resourceType))];
  const searchParameters = randomParameters(R4, types, 60, random);
  const model = await extendDefinitions(R4, { searchParameters, words: true });
  const found = resources.flatMap((resource) =>
    indexEntries(model, resource).filter(({ parameter }) => parameter.startsWith('own-')),
  );
  expect(found.length).toBeGreaterThan(30);

  const store = await open(model);
  const current = new Map<string, AnyResource>();
  for (const result of await store.commit(resources.map((resource) => put(resource)))) {
    if (result.kind === 'put') current.set(`${result.resource.resourceType}/${result.resource.id!}`, result.resource);
  }
  await assertSearches(store, 'clinic', [...current.values()], random, cases(200, quick));
  if (store instanceof SqliteStore) expect((await store.verify()).problems).toEqual([]);
  await store.close();
}
