import type { AuditOptions } from '../../audit/audit.js';
import type { Caller } from '../../access/caller.js';
import type { CallLimits } from '../../access/limits/call-limits.js';
import type { ResourceRef } from '../../access/sign-in/find-membership.js';
import type { ResourceStore } from '../../store/store.js';

export type { ResourceRef };

/** The context of project administration. */
export interface ProjectContext extends AuditOptions {
  readonly store: ResourceStore;
  /** From `signIn`, or `systemCaller(project)` or `serverCaller()` for trusted code. */
  readonly caller: Caller;
  /** Ends the work early with `aborted`, until something is written. */
  readonly signal?: AbortSignal | undefined;
  /** `timeout` applies until something is written. */
  readonly limits?: CallLimits | undefined;
  /** The clock that decides what has expired. Default: the system clock. */
  readonly clock?: (() => Date) | undefined;
  /**
   * Resources in results carry Medplum's `meta.project` and `meta.author`, which R4 does not define. Default false.
   * Written resources are always stamped with them.
   */
  readonly extendedMeta?: boolean | undefined;
}
