import { LRUCache } from 'lru-cache';
import { elementsOf, type JsonObject } from '../../fhir/resource.js';
import { warn } from '../../platform/warn.js';
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
  if (found?.status !== 'found') return MISSING;
  noteProjects(store);
  return elementsOf(found.resource);
}

/** The elements of a Project that is not there. */
const MISSING: JsonObject = Object.freeze({});

/** Notes that there are Projects in the store. */
export function noteProjects(store: ResourceStore): void {
  WITH_PROJECTS.add(storeBehind(store));
}

/** The stores in which this process has read or written a Project. */
const WITH_PROJECTS = new WeakSet<ResourceStore>();

/**
 * Warns the host once that trusted code writes into a project that does not exist, where nobody can sign in: the id is
 * likely a mistake. A store without Projects is used for resources alone, which is right.
 *
 * PERF: what this process has read or written decides whether there are Projects. A search would create the indexes of a new file
 * before its first import.
 *
 * @param settings of the project, from {@link readProjectSettings}
 */
export function warnIfMissing(store: ResourceStore, project: string, settings: JsonObject): void {
  const opened = storeBehind(store);
  if (settings !== MISSING || !WITH_PROJECTS.has(opened)) return;
  const warned = getOrCreate(WARNED, opened, () => new LRUCache<string, true>({ max: MAX_ENTRIES }));
  if (warned.has(project)) return;
  warned.set(project, true);
  warn(`systemCaller("${project}") writes into a project that does not exist`, 'FHIRGRAPH_PROJECT');
}

/** The missing projects of a store that the host was warned of. */
const WARNED = new WeakMap<ResourceStore, LRUCache<string, true>>();

/** Projects of a store. */
const MAX_ENTRIES = 500;

const BY_STORE = new WeakMap<ResourceStore, LRUCache<string, Entry>>();
