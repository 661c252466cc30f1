import type { ResourceStore } from '../../src/index.js';

/** A store that behaves like another, except for `changes`. */
export function storeWith(store: ResourceStore, changes: Partial<ResourceStore>): ResourceStore {
  return {
    model: store.model,
    read: (keys, options) => store.read(keys, options),
    search: (query, options) => store.search(query, options),
    searchByReference: (query, parameter, targets, options) =>
      store.searchByReference(query, parameter, targets, options),
    commit: (writes, options) => store.commit(writes, options),
    history: (key, page, options) => store.history(key, page, options),
    ...(store.changes && { changes: (query, options) => store.changes!(query, options) }),
    ...(store.watch && { watch: (project, listener) => store.watch!(project, listener) }),
    close: () => store.close(),
    ...changes,
  };
}
