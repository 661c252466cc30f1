import {
  type Caller,
  createRepository,
  MemoryStore,
  type Repository,
  type ResourceStore,
  serverCaller,
  systemCaller,
} from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { guardStore } from '../../src/access/guarded-store.js';
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
