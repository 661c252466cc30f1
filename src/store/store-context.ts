import type { ResourceStore } from './store.js';

/** The context of trusted host code, without a caller. */
export interface StoreContext {
  readonly store: ResourceStore;
  /** Ends the work early with `aborted`. */
  readonly signal?: AbortSignal | undefined;
}
