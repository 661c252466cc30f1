import { eitherSignal } from '../platform/timers.js';
import type { CallOptions } from './call-options.js';
import type { StoreRemoval } from './removal.js';
import type { ResourceStore } from './store.js';
import { noteBehind } from './store-behind.js';
import type { Terminology } from './terminology.js';
import { untilCallEnds } from './until-call-ends.js';

/**
 * A view of a store whose calls all have these options too: the earlier of two deadlines holds, either signal, and the
 * call's own budget. Calls of its terminology end by them.
 *
 * @param options called for each call; undefined: only the call's own options
 */
export function withCallOptions(store: ResourceStore, options: () => CallOptions | undefined): ResourceStore {
  const merged = (given: CallOptions | undefined): CallOptions | undefined => merge(given, options());
  const view: ResourceStore = {
    model: store.model,
    maxResourceBytes: store.maxResourceBytes,
    maxResourceValues: store.maxResourceValues,
    terminology: store.terminology && withinCall(store.terminology, options),
    read: (keys, given) => store.read(keys, merged(given)),
    search: (query, given) => store.search(query, merged(given)),
    searchByReference: (query, parameter, targets, given) =>
      store.searchByReference(query, parameter, targets, merged(given)),
    commit: (writes, given) => store.commit(writes, merged(given)),
    history: (key, page, given) => store.history(key, page, merged(given)),
    ...(store.typeHistory === undefined
      ? {}
      : { typeHistory: (query, given) => store.typeHistory!(query, merged(given)) }),
    subscribe: (listener) => store.subscribe(listener),
    ...(store.explain === undefined ? {} : { explain: (call, given) => store.explain!(call, merged(given)) }),
    ...(store.pendingParameters === undefined
      ? {}
      : { pendingParameters: (project, given) => store.pendingParameters!(project, merged(given)) }),
    ...(store.removal === undefined ? {} : { removal: removalWith(store.removal, merged) }),
    ...(store.accessEpoch === undefined
      ? {}
      : { accessEpoch: (given?: CallOptions) => store.accessEpoch!(merged(given)) }),
    close: () => store.close(),
  };
  return noteBehind(view, store);
}

function withinCall(terminology: Terminology, options: () => CallOptions | undefined): Terminology {
  return {
    expand: (...call) => untilCallEnds(terminology.expand(...call), options()),
    subsumes: (...call) => untilCallEnds(terminology.subsumes(...call), options()),
    lookup: (...call) => untilCallEnds(terminology.lookup(...call), options()),
  };
}

function removalWith(
  removal: StoreRemoval,
  merged: (given: CallOptions | undefined) => CallOptions | undefined,
): StoreRemoval {
  return {
    purgeHistory: (request, given) => removal.purgeHistory(request, merged(given)),
    removeProject: (project, given) => removal.removeProject(project, merged(given)),
    scrub: (given) => removal.scrub(merged(given)),
  };
}

function merge(given: CallOptions | undefined, added: CallOptions | undefined): CallOptions | undefined {
  if (given === undefined || added === undefined) return given ?? added;
  const deadline = Math.min(given.deadline ?? Infinity, added.deadline ?? Infinity);
  return {
    ...given,
    signal: eitherSignal(given.signal, added.signal),
    deadline: deadline === Infinity ? undefined : deadline,
    budget: given.budget ?? added.budget,
  };
}
