import type { Caller } from '../../access/caller.js';
import type { CallLimits } from '../../access/limits/call-limits.js';
import { type InCall, operation } from '../../access/operation.js';
import type { AuditInteraction } from '../../audit/audit-record.js';
import type { AuditOptions, AuditFacts } from '../../audit/audit.js';
import { FhirError } from '../../fhir/error.js';
import { nameToId } from '../../fhir/reference.js';
import type { ResourceStore } from '../../store/store.js';

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

/**
 * Runs an operation on a project under the limits of its context, and audits it.
 *
 * @param work receives the context to use
 */
export function projectOperation<Context extends ProjectContext, Result>(
  context: Context,
  interaction: AuditInteraction,
  work: (facts: AuditFacts, context: InCall<Context>) => Promise<Result>,
): Promise<Result> {
  return operation(context, interaction, (bounded, facts) => work(facts, bounded), { untilWritten: true });
}

/** The id in a name from a host, which may pass on client input. @throws FhirError `invalid` - it has another form */
export function requireName(name: unknown, type: string): string {
  const id = nameToId(name, type);
  if (id !== undefined) return id;
  throw new FhirError('invalid', `The ${type} must be named by its id, ${type}/id or a Reference`);
}
