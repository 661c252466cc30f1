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
  return viewOf(store, { terminology, readsAreCurrent: store.readsAreCurrent });
}

/** A view of a store: it forwards all calls, except for `own`. Only `own` gives it the promise that reads are current. */
export function viewOf(store: ResourceStore, own: Partial<ResourceStore>): ResourceStore {
  return {
    model: store.model,
    maxResourceBytes: store.maxResourceBytes,
    maxResourceValues: store.maxResourceValues,
    terminology: store.terminology,
    read: (...call) => store.read(...call),
    search: (...call) => store.search(...call),
    searchByReference: (...call) => store.searchByReference(...call),
    commit: (...call) => store.commit(...call),
    history: (...call) => store.history(...call),
    ...(store.typeHistory && { typeHistory: (...call) => store.typeHistory!(...call) }),
    ...(store.changes && { changes: (...call) => store.changes!(...call) }),
    ...(store.watch && { watch: (...call) => store.watch!(...call) }),
    ...(store.explain && { explain: (...call) => store.explain!(...call) }),
    ...(store.pendingParameters && { pendingParameters: (...call) => store.pendingParameters!(...call) }),
    removal: store.removal,
    ...(store.accessEpoch && { accessEpoch: (...call) => store.accessEpoch!(...call) }),
    close: () => store.close(),
    ...own,
  };
}
