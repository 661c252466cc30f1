import type { ResourceStore } from './store.js';
import type { Terminology } from './terminology.js';
import { viewOf } from './store-view.js';

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
