import type { AuditOptions } from '../audit/audit.js';
import type { Caller } from '../access/caller.js';
import type { CallLimits } from '../access/limits/call-limits.js';
import type { GuardedSession } from '../interactions/interaction-session.js';
import type { ResourceStore } from '../store/store.js';

/** The context of a repository. */
export interface RepositoryContext extends AuditOptions {
  readonly store: ResourceStore;
  /** From `signIn`, or `systemCaller(project)` or `serverCaller()` for trusted code. */
  readonly caller: Caller;
  /**
   * The service's own base URL: `fullUrl`s and links of Bundles begin with it, and absolute references below it are
   * local. Without it links are relative and entries have no `fullUrl`.
   */
  readonly baseUrl?: string | undefined;
  /**
   * Resources carry Medplum's `meta.project` and `meta.author`, which R4 does not define: the project of a resource,
   * and its author. Default false. Written resources are always stamped with them.
   */
  readonly extendedMeta?: boolean | undefined;
  /**
   * Profiles that written resources must conform to, in addition to those that the project requires: `true` for those
   * in their `meta.profile`, or a list of canonical URLs, each for the resources of its type. Writes that do not
   * conform are `unprocessable`. Default: those of the project only.
   */
  readonly profiles?: true | readonly string[] | undefined;
  /**
   * `_include` and `$everything` also follow references that have only an identifier, if exactly one resource has it.
   * Default false, as for GraphQL.
   */
  readonly resolveIdentifiers?: boolean | undefined;
  /** Ends the work early with `aborted`. */
  readonly signal?: AbortSignal | undefined;
  /** The limits of each interaction. */
  readonly limits?: CallLimits | undefined;
}

/** The internal context of a repository. Its base URL has no trailing slash. */
export interface RepositorySession extends GuardedSession {
  readonly resolveIdentifiers?: boolean | undefined;
}
