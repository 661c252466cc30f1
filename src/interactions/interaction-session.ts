import type { CallOptions } from '../store/call-options.js';
import type { AccessTrace } from '../access/access-trace.js';
import type { GuardedStore } from '../access/contract.js';

/** A caller's session: the store as the caller sees it, and the options of every call. */
export interface GuardedSession {
  readonly store: GuardedStore;
  readonly options: CallOptions;
  /** Absolute references below it are local. */
  readonly baseUrl: string | undefined;
  /** Records what is shown, if the interaction is audited. */
  readonly trace?: AccessTrace | undefined;
}
