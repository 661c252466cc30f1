import { referenceTo } from '../fhir/reference.js';
import { FhirError } from '../fhir/error.js';
import type { AuditedCaller, AuditInteraction } from '../audit/audit-record.js';
import { type AuditFacts, type AuditOptions, recordInteraction } from '../audit/audit.js';
import { SERVER_SCOPE } from '../store/resource-key.js';
import type { ResourceStore } from '../store/store.js';
import { observed } from '../telemetry/observed.js';
import { isCaller } from './caller.js';

/** The context of an interaction: its store, caller and audit options. */
export interface AuditedContext extends AuditOptions {
  readonly store: ResourceStore;
  readonly caller: unknown;
}

/**
 * Runs an interaction and reports its outcome to the host's audit hook, tracer and meter, if any.
 *
 * @param work fills in the facts as it learns them, so that the record of a failure is as complete as possible
 * @throws FhirError `invalid` - the audit is required, but there is no hook
 * @throws FhirError `unavailable` - the audit is required, and the hook did not store the record
 */
export function audited<Result>(
  context: AuditedContext,
  interaction: AuditInteraction,
  work: (facts: AuditFacts) => Promise<Result>,
): Promise<Result> {
  const facts: AuditFacts = {};
  return observed(context.store, interaction, facts, () => recorded(context, interaction, work, facts));
}

/** {@link audited} for a part of an interaction, which has a record of its own but no span. */
export function recorded<Result>(
  context: AuditedContext,
  interaction: AuditInteraction,
  work: (facts: AuditFacts) => Promise<Result>,
  facts: AuditFacts = {},
): Promise<Result> {
  const { store, caller, audit, requireAudit } = context;
  if (audit === undefined) {
    if (requireAudit === true) return Promise.reject(new FhirError('invalid', 'requireAudit needs audit'));
    return work(facts);
  }
  const options = { audit, requireAudit, ...statedBy(context) };
  return recordInteraction(store.model, options, auditedCaller(caller), interaction, facts, () => work(facts));
}

/** The purpose and the id of a request: of the context, else of the caller. */
function statedBy({ caller, purpose, requestId }: AuditedContext): Pick<AuditOptions, 'purpose' | 'requestId'> {
  const own = isCaller(caller) && caller.kind === 'member' ? caller : undefined;
  return { purpose: purpose ?? own?.purpose, requestId: requestId ?? own?.requestId };
}

/** A caller as records name it. */
export function auditedCaller(caller: unknown): AuditedCaller {
  if (!isCaller(caller)) return { kind: 'unknown' };
  if (caller.kind === 'system') return { kind: 'system', project: caller.project };
  if (caller.kind === 'server') {
    return { kind: 'server', ...(caller.project === SERVER_SCOPE ? {} : { project: caller.project }) };
  }
  const { project, membership, user, profile, emergency } = caller;
  return {
    ...{ kind: 'member', project, membership: referenceTo('ProjectMembership', membership), user, profile },
    ...(emergency === undefined ? {} : { emergency }),
  };
}
