import { describe, expect, test } from 'vitest';
import { type AnyResource, MemoryStore, type ResourceStore } from '../../src/index.js';
import { PostgresStore } from '../../src/postgres.js';
import { SqliteStore } from '../../src/sqlite.js';
import { createRandom, put } from '../support/kit.js';
import { assertSearches } from '../../src/testing/suites/random-searches.js';
import { cases, IS_WHOLE, SEED, someOf } from '../support/chance.js';
import { postgresPool } from './postgres/pool.js';
import { syntheaResources } from './shared-data.js';

const STORES: readonly (readonly [name: string, least: number, open: () => ResourceStore | Promise<ResourceStore>])[] =
  [
    ['memory', 100, () => new MemoryStore()],
    ['SQLite', 100, () => new SqliteStore(':memory:')],
    // A search takes PGlite ten times as long, and the conformance kit asks it more of them over other data.
    ['PostgreSQL', 8, async () => new PostgresStore(await postgresPool())],
  ];

describe('random searches over Synthea data', () => {
  test.each(someOf(STORES, 2))(
    `%s gives the same answers as the reference search (seed ${SEED})`,
    async (_, least, createStore) => {
      const store = await createStore();
      const current = new Map<string, AnyResource>();
      const writes = syntheaResources(IS_WHOLE ? 3 : 1).map((resource) => put(resource));
      for (const result of await store.commit(writes)) {
        if (result.kind === 'put')
          current.set(`${result.resource.resourceType}/${result.resource.id!}`, result.resource);
      }
      expect(current.size).toBeGreaterThan(100);
      await assertSearches(store, 'clinic', [...current.values()], createRandom(SEED), cases(300, least));
      if (store instanceof SqliteStore) expect((await store.verify()).problems).toEqual([]);
      await store.close();
    },
  );
});
