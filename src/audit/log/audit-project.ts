import { FhirError } from '../../fhir/error.js';
import { SERVER_SCOPE } from '../../store/resource-key.js';

/**
 * The project of the audit log. Only the log writes its AuditEvents: no caller can change or delete them, not even
 * trusted code or super administrators. Its members, policies and other resources work as in any project.
 */
export const AUDIT_LOG_PROJECT = 'fhirgraph-audit-log';

/** @throws FhirError `forbidden` - the project is that of the audit log, which nobody erases or deletes */
export function assertNotAuditLog(project: string): void {
  if (project === AUDIT_LOG_PROJECT) throw new FhirError('forbidden', 'The audit log cannot be changed');
}

/** True for resources that no caller may write: the events of the log, and its Project. */
export function isOfAuditLog({
  project,
  type,
  id,
}: {
  readonly project: string;
  readonly type: string;
  readonly id: string;
}): boolean {
  if (type === 'AuditEvent') return project === AUDIT_LOG_PROJECT;
  return type === 'Project' && project === SERVER_SCOPE && id === AUDIT_LOG_PROJECT;
}
