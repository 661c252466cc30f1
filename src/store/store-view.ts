import { eitherSignal } from '../platform/runtime.js';
import { type CallOptions } from './call-options.js';
import { untilCallEnds } from './guards.js';
import type { StoreRemoval } from './removal.js';
import type { ResourceStore } from './store.js';
import type { Terminology } from './terminology.js';

/**
 * A view of a store, which lives as long as a request: it forwards all calls, except for `own`. Only `own` gives it the promise
 * that reads are current.
 */
export function viewOf(store: ResourceStore, own: Partial<ResourceStore>): ResourceStore {
  return view(store, own, undefined);
}

/**
 * A view of a store whose calls all have these options too: the earlier of two deadlines holds, either signal, and the
 * call's own budget. Calls of its terminology end by them.
 *
 * @param options called for each call; undefined: only the call's own options
 */
export function withCallOptions(store: ResourceStore, options: () => CallOptions | undefined): ResourceStore {
  const terminology = store.terminology && withinCall(store.terminology, options);
  return view(store, { terminology }, (given) => merge(given, options()));
}

/** The store behind a view, as the host opened it; other stores are their own. */
export function storeBehind(store: View): ResourceStore {
  let behind = store;
  for (let next = behind[BEHIND]; next !== undefined; next = behind[BEHIND]) behind = next;
  return behind;
}

function view(
  store: ResourceStore,
  own: Partial<ResourceStore>,
  changed: ((given: CallOptions | undefined) => CallOptions | undefined) | undefined,
): ResourceStore {
  const optionsOf = changed ?? same;
  const { removal } = store;
  const made: View = {
    model: store.model,
    maxResourceBytes: store.maxResourceBytes,
    maxResourceValues: store.maxResourceValues,
    terminology: store.terminology,
    read: (keys, options) => store.read(keys, optionsOf(options)),
    search: (query, options) => store.search(query, optionsOf(options)),
    searchByReference: (query, parameter, targets, options) =>
      store.searchByReference(query, parameter, targets, optionsOf(options)),
    commit: (writes, options) => store.commit(writes, optionsOf(options)),
    history: (key, page, options) => store.history(key, page, optionsOf(options)),
    ...(store.typeHistory && { typeHistory: (query, options) => store.typeHistory!(query, optionsOf(options)) }),
    ...(store.changes && { changes: (query, options) => store.changes!(query, optionsOf(options)) }),
    ...(store.watch && { watch: (project, listener) => store.watch!(project, listener) }),
    ...(store.explain && { explain: (call, options) => store.explain!(call, optionsOf(options)) }),
    ...(store.pendingParameters && {
      pendingParameters: (project, options) => store.pendingParameters!(project, optionsOf(options)),
    }),
    ...(removal && { removal: changed === undefined ? removal : removalWith(removal, optionsOf) }),
    ...(store.accessEpoch && { accessEpoch: (options?: CallOptions) => store.accessEpoch!(optionsOf(options)) }),
    close: () => store.close(),
    ...own,
  };
  made[BEHIND] = store;
  return made;
}

function same<Value>(value: Value): Value {
  return value;
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
  optionsOf: (given: CallOptions | undefined) => CallOptions | undefined,
): StoreRemoval {
  return {
    purgeHistory: (request, options) => removal.purgeHistory(request, optionsOf(options)),
    removeProject: (project, options) => removal.removeProject(project, optionsOf(options)),
    scrub: (options) => removal.scrub(optionsOf(options)),
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

/** A WeakMap takes microseconds for each view, of which each request has several. */
const BEHIND = Symbol('the store behind a view');

interface View extends ResourceStore {
  [BEHIND]?: View;
}
