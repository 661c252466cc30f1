import { LRUCache } from 'lru-cache';
import { elementsOf, type JsonObject } from '../../fhir/resource.js';
import type { CallOptions } from '../../store/call-options.js';
import { SERVER_SCOPE } from '../../store/resource-key.js';
import type { ResourceStore } from '../../store/store.js';
import { storeBehind } from '../../store/store-behind.js';
import { getOrCreate } from '../../platform/maps.js';

interface Entry {
  /** Of the store, before and after the project was read. */
  readonly epoch: string;
  readonly settings: JsonObject;
}

/**
 * The elements of a Project as it is now; none if it is gone.
 *
 * PERF: writes of a Project change the store's epoch, which concurrent requests read together. So a Project is read
 * again only when the epoch has changed. Over replicas it is read each time, because one replica may show the new epoch
 * before another shows the changed Project.
 */
export async function readProjectSettings(
  store: ResourceStore,
  project: string,
  options: CallOptions | undefined,
): Promise<JsonObject> {
  const opened = storeBehind(store);
  if (store.accessEpoch === undefined || opened.readsAreCurrent !== true) return read(store, project, options);
  const epoch = await store.accessEpoch(options);
  const kept = getOrCreate(BY_STORE, opened, () => new LRUCache({ max: MAX_ENTRIES }));
  const entry = kept.get(project);
  if (entry?.epoch === epoch) return entry.settings;
  const settings = await read(store, project, options);
  if ((await store.accessEpoch(options)) === epoch) kept.set(project, { epoch, settings });
  return settings;
}

async function read(store: ResourceStore, project: string, options: CallOptions | undefined): Promise<JsonObject> {
  const [found] = await store.read([{ project: SERVER_SCOPE, type: 'Project', id: project }], options);
  return found?.status === 'found' ? elementsOf(found.resource) : {};
}

/** Projects of a store. */
const MAX_ENTRIES = 500;

const BY_STORE = new WeakMap<ResourceStore, LRUCache<string, Entry>>();
