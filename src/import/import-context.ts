import type { AuditOptions } from '../audit/audit.js';
import type { Caller } from '../access/caller.js';
import type { CallLimits } from '../access/limits/call-limits.js';
import type { ResourceStore } from '../store/store.js';

/** The context of every import. */
export interface ImportContext extends AuditOptions {
  readonly store: ResourceStore;
  /** The caller; resources are imported into its project. */
  readonly caller: Caller;
  /**
   * Profiles that written resources must conform to, in addition to those that the project requires: `true` for those
   * in their `meta.profile`, or a list of canonical URLs, each for the resources of its type. Writes that do not
   * conform are `unprocessable`. Default: those of the project only.
   */
  readonly profiles?: true | readonly string[] | undefined;
  /** Ends the import early with `aborted`; earlier commits stay. */
  readonly signal?: AbortSignal | undefined;
  /** The limits of a Bundle, and of each batch of an NDJSON import. */
  readonly limits?: CallLimits | undefined;
  /** The service's own base URL. Absolute URLs that begin with it count as local references. Default: no URL does. */
  readonly baseUrl?: string | undefined;
  /**
   * The ids of POSTed resources. `kept`: their own, so that importing twice changes nothing the second time.
   * `assigned`: new ids, as a FHIR server assigns them to created resources. Default `kept`.
   */
  readonly ids?: 'kept' | 'assigned' | undefined;
  /**
   * Add Medplum's `meta.project` and `meta.author`, which R4 does not define, to resources that GET entries of a Bundle
   * read. Default false.
   */
  readonly extendedMeta?: boolean | undefined;
}
