import type { AuditInteraction } from '../../audit/audit-record.js';
import type { AuditFacts } from '../../audit/audit.js';
import { audited } from '../../access/audited.js';
import { underLimits } from '../../access/turns/under-limits.js';
import type { ProjectContext } from './project-context.js';

/**
 * Runs an operation on a project under the limits of its context, and audits it.
 *
 * @param work receives the context to use
 */
export function projectOperation<Context extends ProjectContext, Result>(
  context: Context,
  interaction: AuditInteraction,
  work: (facts: AuditFacts, context: Context) => Promise<Result>,
): Promise<Result> {
  return audited(context, interaction, (facts) =>
    underLimits(context, (bounded) => work(facts, bounded), { untilWritten: true }),
  );
}
