import Database from 'better-sqlite3';
import { afterEach, beforeAll, expect } from 'vitest';
import type { AnyResource } from '../../../src/fhir/resource.js';
import type { SearchQuery } from '../../../src/store/search-query.js';
import { MemoryStore } from '../../../src/stores/memory/store.js';
import { COUNTING_SETS } from '../../../src/stores/sqlite/search/count-sets.js';
import { TUNING } from '../../../src/stores/sqlite/scans/tuning.js';
import { SKIP_TUNING } from '../../../src/stores/sqlite/rows/skip-row.js';
import { SqliteStore } from '../../../src/stores/sqlite/store.js';
import { keyOf } from '../../../src/testing/conformance-case.js';
import { oneOf } from '../../../src/testing/random.js';
import { cases } from '../../support/chance.js';
import { answerOf, write } from '../skip-cases.js';
import { buildSkips } from './skip-build.js';

const [TUNED, COUNTS, SKIPS] = [{ ...TUNING }, { ...COUNTING_SETS }, { ...SKIP_TUNING }];

/** In the tests of this file, few resources are many granules. Further tunings of a test end with it. */
export function useSmallGranules(): void {
  const small = { granule: 8, minGranules: 3, minHolders: 2 };
  beforeAll(() => void Object.assign(SKIP_TUNING, small));
  afterEach(() => {
    Object.assign(TUNING, TUNED);
    Object.assign(COUNTING_SETS, COUNTS);
    Object.assign(SKIP_TUNING, SKIPS, small);
  });
}

/**
 * Asserts that SQLite with skip indexes gives the answers of a memory store, under random tunings, also after writes.
 *
 * @param resourcesOf some resources; the first ones have the same ids each time unless these have a prefix
 */
export async function assertAnswersOfMemory(
  resourcesOf: (count: number, random: () => number, prefix?: string) => readonly AnyResource[],
  randomQuery: (random: () => number) => SearchQuery,
  random: () => number,
): Promise<void> {
  const [database, memory] = [new Database(':memory:'), new MemoryStore()];
  const store = new SqliteStore(database);
  const first = resourcesOf(400, random);
  for (const one of [store, memory]) await write(one, first);
  buildSkips(database);
  Object.assign(COUNTING_SETS, { minRows: 0 });
  for (let step = 0; step < 4; step++) {
    for (let trial = 0; trial < cases(150, 20); trial++) {
      Object.assign(SKIP_TUNING, {
        maxLookedUp: oneOf([0, 20], random),
        maxTested: oneOf([1, 64], random),
        maxTied: oneOf([0, 20, 8_192], random),
      });
      Object.assign(TUNING, { looks: oneOf([[Infinity], TUNED.looks], random), skipFrom: 0 });
      const query = randomQuery(random);
      expect(await answerOf(store, query)).toEqual(await answerOf(memory, query));
    }
    const later = [...resourcesOf(20, random), ...resourcesOf(9, random, `n${step}-`)];
    const { resourceType, id } = oneOf(first.slice(20), random);
    for (const one of [store, memory]) {
      await write(one, later);
      await one.commit([{ kind: 'delete', key: keyOf(resourceType, id!) }]);
    }
    // Every second time, the index does not include the writes.
    if (step % 2 === 0) buildSkips(database);
    expect((await store.verify()).problems).toEqual([]);
  }
}
