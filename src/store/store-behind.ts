import type { ResourceStore } from './store.js';

/** Notes the store behind a view that lives as long as a call. @returns the view */
export function noteBehind(view: ResourceStore, store: ResourceStore): ResourceStore {
  (view as View)[BEHIND] = store;
  return view;
}

/** The store of such a view, as the host opened it; other stores are their own. */
export function storeBehind(store: View): ResourceStore {
  let behind = store;
  for (let next = behind[BEHIND]; next !== undefined; next = behind[BEHIND]) behind = next;
  return behind;
}

/** PERF: a WeakMap takes microseconds for each view, of which each request has several. */
const BEHIND = Symbol('the store behind a view');

interface View extends ResourceStore {
  [BEHIND]?: View;
}
