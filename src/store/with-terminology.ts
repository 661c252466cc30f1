import type { CallOptions } from './call-options.js';
import type { ResourceStore } from './store.js';
import type { Terminology } from './terminology.js';

/**
 * Wraps a store so that searches and access policies can use value sets and hierarchies of codes: `:in`, `:not-in`,
 * `:above` and `:below` of tokens, and `in`, `ni`, `ss` and `sb` of `_filter`.
 *
 * Use the result everywhere: for sign-in, repositories, GraphQL and handlers. With telemetry:
 * `withTelemetry(withTerminology(store, …), …)`.
 *
 * @returns a store that shares its lifetime with the given one: closing either closes both
 * @example
 * const store = withTerminology(new SqliteStore('clinic.db'), projectTerminology());
 */
export function withTerminology(store: ResourceStore, terminology: Terminology): ResourceStore {
  return {
    model: store.model,
    terminology,
    maxResourceBytes: store.maxResourceBytes,
    readsAreCurrent: store.readsAreCurrent,
    read: (keys, options) => store.read(keys, options),
    search: (query, options) => store.search(query, options),
    searchByReference: (query, parameter, targets, options) =>
      store.searchByReference(query, parameter, targets, options),
    commit: (writes, options) => store.commit(writes, options),
    history: (key, page, options) => store.history(key, page, options),
    ...(store.typeHistory === undefined ? {} : { typeHistory: (query, options) => store.typeHistory!(query, options) }),
    subscribe: (listener) => store.subscribe(listener),
    ...(store.explain === undefined ? {} : { explain: (call, options) => store.explain!(call, options) }),
    ...(store.pendingParameters === undefined
      ? {}
      : { pendingParameters: (project, options) => store.pendingParameters!(project, options) }),
    ...(store.accessEpoch === undefined ? {} : { accessEpoch: (options?: CallOptions) => store.accessEpoch!(options) }),
    ...(store.removal === undefined ? {} : { removal: store.removal }),
    close: () => store.close(),
  };
}
