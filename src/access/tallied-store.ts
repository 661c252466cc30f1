import type { GuardedStore } from './contract.js';

/** The calls made to a store. */
export interface Tally {
  calls: number;
  /** The requested resource types. */
  readonly types: Set<string>;
}

/** The same store, with its calls counted. */
export function talliedStore(store: GuardedStore, tally: Tally): GuardedStore {
  const count = (types: readonly string[]): void => {
    tally.calls += 1;
    for (const type of types) tally.types.add(type);
  };
  return {
    caller: store.caller,
    model: store.model,
    read(keys, options) {
      count(keys.map(({ type }) => type));
      return store.read(keys, options);
    },
    search(query, options) {
      count([query.type]);
      return store.search(query, options);
    },
    searchByReference(query, parameter, targets, options) {
      count([query.type]);
      return store.searchByReference(query, parameter, targets, options);
    },
    commit(writes, options) {
      count(writes.map((write) => (write.kind === 'assert-no-match' ? write.query.type : write.key.type)));
      return store.commit(writes, options);
    },
    history(key, page, options) {
      count([key.type]);
      return store.history(key, page, options);
    },
    typeHistory(query, options) {
      count([query.type]);
      return store.typeHistory(query, options);
    },
  };
}
