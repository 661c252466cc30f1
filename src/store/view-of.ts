import type { CallOptions } from './call-options.js';
import type { ResourceStore } from './store.js';

/**
 * A view of a store, which forwards its calls except for `own`. Only `own` gives it removal, explanations, pending
 * parameters, and the promise that reads are current.
 */
export function viewOf(store: ResourceStore, own: Partial<ResourceStore>): ResourceStore {
  return {
    model: store.model,
    maxResourceBytes: store.maxResourceBytes,
    maxResourceValues: store.maxResourceValues,
    terminology: store.terminology,
    read: (keys, options) => store.read(keys, options),
    search: (query, options) => store.search(query, options),
    searchByReference: (query, parameter, targets, options) =>
      store.searchByReference(query, parameter, targets, options),
    commit: (writes, options) => store.commit(writes, options),
    history: (key, page, options) => store.history(key, page, options),
    ...(store.typeHistory === undefined ? {} : { typeHistory: (query, options) => store.typeHistory!(query, options) }),
    subscribe: (listener) => store.subscribe(listener),
    ...(store.accessEpoch === undefined ? {} : { accessEpoch: (options?: CallOptions) => store.accessEpoch!(options) }),
    close: () => store.close(),
    ...own,
  };
}
