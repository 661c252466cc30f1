import type { GuardedStore } from '../../access/contract.js';
import { call } from './call.js';
import type { Run } from './run.js';

/** Wraps the store with the limits of a request, for code that calls the store itself. */
export function boundedStore(run: Run): GuardedStore {
  const { store } = run.options;
  return {
    caller: store.caller,
    model: store.model,
    read: (keys, options) => call(run, () => store.read(keys, options)),
    search: (query, options) => call(run, () => store.search(query, options)),
    searchByReference: (query, parameter, targets, options) =>
      call(run, () => store.searchByReference(query, parameter, targets, options)),
    history: (key, page, options) => call(run, () => store.history(key, page, options)),
    typeHistory: (query, options) => call(run, () => store.typeHistory(query, options)),
    async commit(writes, options) {
      run.spendCall();
      let begun = false;
      const onCommit = (): void => void (begun = true);
      return run.deadline.finish(store.commit(writes, { ...options, onCommit }), () => begun);
    },
  };
}
