import type { GuardedStore } from '../../access/contract.js';
import { call } from './call.js';
import type { Run } from './run.js';

/** Wraps the store with the limits of a request, for code that calls the store itself. */
export function boundedStore(run: Run): GuardedStore {
  const { store } = run.options;
  const bounded = async <Result>(work: () => Promise<Result>): Promise<Result> => run.deadline.wait(call(run, work));
  return {
    caller: store.caller,
    model: store.model,
    read: (keys, options) => bounded(() => store.read(keys, options)),
    search: (query, options) => bounded(() => store.search(query, options)),
    searchByReference: (query, parameter, targets, options) =>
      bounded(() => store.searchByReference(query, parameter, targets, options)),
    history: (key, page, options) => bounded(() => store.history(key, page, options)),
    typeHistory: (query, options) => bounded(() => store.typeHistory(query, options)),
    async commit(writes, options) {
      run.spendCall();
      let begun = false;
      const onCommit = (): void => void (begun = true);
      return run.deadline.finish(store.commit(writes, { ...options, onCommit }), () => begun);
    },
  };
}
