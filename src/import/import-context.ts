import type { Caller } from '../access/caller.js';
import type { ResourceStore } from '../store/store.js';

/** What every import needs. */
export interface ImportContext {
  readonly store: ResourceStore;
  /** On whose behalf; the resources go to this caller's project. */
  readonly caller: Caller;
  /** Ends the import early with `aborted`; what was committed before stays. */
  readonly signal?: AbortSignal | undefined;
  /** The service's own base URL. Absolute URLs that begin with it are read as local. Default: none are. */
  readonly baseUrl?: string | undefined;
  /**
   * What ids the resources of POST entries get. `kept`: their own, so that importing twice changes nothing the second
   * time. `assigned`: new ones, as a FHIR server gives them to what clients create. Default `kept`.
   */
  readonly ids?: 'kept' | 'assigned' | undefined;
}
