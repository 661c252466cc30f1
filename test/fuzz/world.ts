import { serverCaller, systemCaller, type Caller } from '../../src/access/caller.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { createRepository } from '../../src/repository/create-repository.js';
import type { Repository } from '../../src/repository/repository.js';
import type { ResourceStore } from '../../src/store/store.js';
import { MemoryStore } from '../../src/stores/memory/store.js';
import { SqliteStore } from '../../src/stores/sqlite/store.js';
import type { Sample } from '../graphql/harness.js';

export const PROJECT = 'fuzz';

/** A store of one project, and its system caller. */
export interface World {
  readonly store: ResourceStore;
  readonly caller: Caller;
  readonly repository: Repository;
}

/** The stores that every input goes to. They must give the same answers. */
export const STORES = {
  memory: () => new MemoryStore({ clock }),
  SQLite: () => new SqliteStore(':memory:', { clock }),
} as const satisfies { readonly [name: string]: () => ResourceStore };

export async function openWorld(store: ResourceStore, resources: readonly Sample[]): Promise<World> {
  const caller = systemCaller(PROJECT);
  await guardStore(store, serverCaller(PROJECT)).commit(
    resources.map((resource) => ({
      kind: 'put',
      key: { type: resource.resourceType, id: resource.id },
      resource,
    })),
  );
  return { store, caller, repository: createRepository({ store, caller }) };
}

/** Every store has the same time. */
export function clock(): Date {
  return new Date(Date.UTC(2024, 5, 1));
}
