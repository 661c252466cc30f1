import type { CallOptions } from '../store/store.js';
import type { GuardedStore } from '../access/contract.js';

/** Someone at work: the store as the caller sees it, and what goes along with every call. */
export interface GuardedSession {
  readonly store: GuardedStore;
  readonly options: CallOptions;
  /** Absolute references below it are local. */
  readonly baseUrl: string | undefined;
}
