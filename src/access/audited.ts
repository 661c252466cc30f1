import { referenceTo } from '../fhir/reference.js';
import {
  type AuditedCaller,
  type AuditFacts,
  type AuditHook,
  type AuditInteraction,
  recordInteraction,
} from '../audit/audit.js';
import { SERVER_SCOPE, type ResourceStore } from '../store/store.js';
import { observed } from '../telemetry/observed.js';
import { isCaller } from './caller.js';

/** The context of an interaction: its store, caller and audit hook. */
export interface AuditedContext {
  readonly store: ResourceStore;
  readonly caller: unknown;
  readonly audit?: AuditHook | undefined;
}

/**
 * Runs an interaction and reports its outcome to the host's audit hook, tracer and meter, if any.
 *
 * @param work fills in the facts as it learns them, so that the record of a failure is as complete as possible
 */
export function audited<Result>(
  context: AuditedContext,
  interaction: AuditInteraction,
  work: (facts: AuditFacts) => Promise<Result>,
): Promise<Result> {
  const facts: AuditFacts = {};
  const { store, caller, audit } = context;
  const carryOut = (): Promise<Result> => work(facts);
  return observed(
    store,
    interaction,
    facts,
    audit === undefined
      ? carryOut
      : () => recordInteraction(context.store.model, audit, auditedCaller(caller), interaction, facts, carryOut),
  );
}

function auditedCaller(caller: unknown): AuditedCaller {
  if (!isCaller(caller)) return { kind: 'unknown' };
  if (caller.kind === 'system') return { kind: 'system', project: caller.project };
  if (caller.kind === 'server') {
    return { kind: 'server', ...(caller.project === SERVER_SCOPE ? {} : { project: caller.project }) };
  }
  const { project, membership, user, profile } = caller;
  return { kind: 'member', project, membership: referenceTo('ProjectMembership', membership), user, profile };
}
