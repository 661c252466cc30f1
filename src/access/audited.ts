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

/** What an interaction works on, on whose behalf, and the audit hook. */
export interface AuditedContext {
  readonly store: ResourceStore;
  readonly caller: unknown;
  readonly audit?: AuditHook | undefined;
}

/**
 * Carries out an interaction and reports how it ended to the host's audit hook, tracer and meter; without any of them it is just
 * carried out.
 *
 * @param work fills in the facts as it learns them, so that the record of a failure holds what was known by then
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
