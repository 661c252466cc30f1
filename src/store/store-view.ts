import { trimBaseUrl } from '../fhir/reference.js';
import { eitherSignal } from '../platform/runtime.js';
import { type CallOptions } from './call-options.js';
import { untilCallEnds } from './guards.js';
import type { StoreRemoval } from './removal.js';
import type { SearchQuery } from './search-query.js';
import type { ResourceStore } from './store.js';
import type { Terminology } from './terminology.js';
import type { Write } from './write.js';

/**
 * A view of a store, which lives as long as a request: it forwards all calls, except for `own`. Only `own` gives it the promise
 * that reads are current.
 */
export function viewOf(store: ResourceStore, own: Partial<ResourceStore>): ResourceStore {
  return view(store, own, {});
}

/**
 * A view of a store whose calls all have these options too: the earlier of two deadlines holds, either signal, and the
 * call's own budget. Calls of its terminology end by them.
 *
 * @param options called for each call; undefined: only the call's own options
 */
export function withCallOptions(store: ResourceStore, options: () => CallOptions | undefined): ResourceStore {
  const terminology = store.terminology && withinCall(store.terminology, options);
  return view(store, { terminology }, { optionsOf: (given) => merge(given, options()) });
}

/**
 * A view of a store for a service with a base: in all its searches, absolute references below the base count as local.
 *
 * @param baseUrl undefined: the store itself
 */
export function withBaseUrl(store: ResourceStore, baseUrl: string | undefined): ResourceStore {
  if (baseUrl === undefined) return store;
  const base = trimBaseUrl(baseUrl);
  const based: View = view(store, {}, { queryOf: (query) => ({ ...query, baseUrl: base }) });
  based[BASE] = base;
  return based;
}

/** The base URL of a view, without a trailing slash; undefined for other stores. */
export function baseUrlOf(store: View): string | undefined {
  return store[BASE];
}

/** The store behind a view, as the host opened it; other stores are their own. */
export function storeBehind(store: View): ResourceStore {
  let behind = store;
  for (let next = behind[BEHIND]; next !== undefined; next = behind[BEHIND]) behind = next;
  return behind;
}

/** What a view changes in the arguments of calls. */
interface Changed {
  readonly optionsOf?: (given: CallOptions | undefined) => CallOptions | undefined;
  readonly queryOf?: (query: SearchQuery) => SearchQuery;
}

function view(store: ResourceStore, own: Partial<ResourceStore>, changed: Changed): ResourceStore {
  const { optionsOf = same, queryOf = same } = changed;
  const writeOf = (write: Write): Write =>
    write.kind === 'assert-no-match' ? { ...write, query: queryOf(write.query) } : write;
  const { removal } = store;
  const made: View = {
    model: store.model,
    maxResourceBytes: store.maxResourceBytes,
    maxResourceValues: store.maxResourceValues,
    terminology: store.terminology,
    read: (keys, options) => store.read(keys, optionsOf(options)),
    search: (query, options) => store.search(queryOf(query), optionsOf(options)),
    searchByReference: (query, parameter, targets, options) =>
      store.searchByReference(queryOf(query), parameter, targets, optionsOf(options)),
    commit: (writes, options) =>
      store.commit(queryOf === same ? writes : writes.map((write) => writeOf(write)), optionsOf(options)),
    history: (key, page, options) => store.history(key, page, optionsOf(options)),
    ...(store.typeHistory && { typeHistory: (query, options) => store.typeHistory!(query, optionsOf(options)) }),
    ...(store.changes && { changes: (query, options) => store.changes!(query, optionsOf(options)) }),
    ...(store.watch && { watch: (project, listener) => store.watch!(project, listener) }),
    ...(store.explain && { explain: (call, options) => store.explain!(call, optionsOf(options)) }),
    ...(store.pendingParameters && {
      pendingParameters: (project, options) => store.pendingParameters!(project, optionsOf(options)),
    }),
    ...(removal && { removal: optionsOf === same ? removal : removalWith(removal, optionsOf) }),
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
const BASE = Symbol('the base URL of a view');

interface View extends ResourceStore {
  [BEHIND]?: View;
  [BASE]?: string;
}
