import type { ResourceStore } from '../../src/index.js';
import { storeWith } from '../support/store-with.js';

/** A store that records each call to it: the method and its arguments. */
export interface CountingStore {
  readonly store: ResourceStore;
  /** The calls since the last call of this function: `read Patient/1 Patient/2`. */
  takeCalls(): readonly string[];
}

export function countCalls(inner: ResourceStore): CountingStore {
  let calls: string[] = [];
  const store = storeWith(inner, {
    read(keys, options) {
      calls.push(['read', ...keys.map(({ type, id }) => `${type}/${id}`)].join(' '));
      return inner.read(keys, options);
    },
    search(query, options) {
      calls.push(`search ${query.type}`);
      return inner.search(query, options);
    },
    searchByReference(query, parameter, targets, options) {
      const names = targets.map(({ type, id }) => `${type}/${id}`);
      calls.push(['reverse', `${query.type}.${parameter}`, ...names].join(' '));
      return inner.searchByReference(query, parameter, targets, options);
    },
  });
  return {
    store,
    takeCalls() {
      const taken = calls;
      calls = [];
      return taken;
    },
  };
}
