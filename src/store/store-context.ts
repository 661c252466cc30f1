import type { ResourceStore } from './store.js';

/** Where trusted code of the host works, with no caller. */
export interface StoreContext {
  readonly store: ResourceStore;
  /** Ends the work early with `aborted`. */
  readonly signal?: AbortSignal | undefined;
}
