import { trimBaseUrl } from '../fhir/reference.js';
import type { CallOptions } from './call-options.js';
import type { ReferenceTarget } from './resource-key.js';
import type { SearchQuery } from './search-query.js';
import type { ResourceStore } from './store.js';
import { noteBehind } from './store-behind.js';
import type { Write } from './write.js';

/**
 * A view of a store for a service with a base: in all its searches, absolute references below the base count as local.
 *
 * @param baseUrl undefined: the store itself
 */
export function withBaseUrl(store: ResourceStore, baseUrl: string | undefined): ResourceStore {
  if (baseUrl === undefined) return store;
  const base = trimBaseUrl(baseUrl);
  const based = (query: SearchQuery): SearchQuery => ({ ...query, baseUrl: base });
  const view: BasedStore = {
    model: store.model,
    maxResourceBytes: store.maxResourceBytes,
    maxResourceValues: store.maxResourceValues,
    terminology: store.terminology,
    read: (keys, options) => store.read(keys, options),
    search: (query, options) => store.search(based(query), options),
    searchByReference: (
      query: SearchQuery,
      parameter: string,
      targets: readonly ReferenceTarget[],
      options?: CallOptions,
    ) => store.searchByReference(based(query), parameter, targets, options),
    commit: (writes, options) =>
      store.commit(
        writes.map((write): Write =>
          write.kind === 'assert-no-match' ? { ...write, query: based(write.query) } : write,
        ),
        options,
      ),
    history: (key, page, options) => store.history(key, page, options),
    ...(store.typeHistory === undefined ? {} : { typeHistory: (query, options) => store.typeHistory!(query, options) }),
    subscribe: (listener) => store.subscribe(listener),
    ...(store.accessEpoch === undefined ? {} : { accessEpoch: (options?: CallOptions) => store.accessEpoch!(options) }),
    close: () => store.close(),
  };
  view[BASE] = base;
  return noteBehind(view, store);
}

/** The base URL of a view, without a trailing slash; undefined for other stores. */
export function baseUrlOf(store: BasedStore): string | undefined {
  return store[BASE];
}

const BASE = Symbol('the base URL of a view');

interface BasedStore extends ResourceStore {
  [BASE]?: string;
}
