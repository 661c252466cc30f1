import type { AuditRecord } from '../../src/index.js';

/** A record of a read of one patient. */
export function readOf(id: string, more: Partial<AuditRecord> = {}): AuditRecord {
  return {
    interaction: 'read',
    who: { kind: 'system', project: 'clinic' },
    targets: [{ type: 'Patient', id, versionId: '1' }],
    returned: { total: 1, resources: [{ type: 'Patient', id, versionId: '1' }] },
    patients: { total: 1, ids: [id] },
    outcome: { success: true },
    started: '2026-01-02T03:04:05.000Z',
    duration: 1.5,
    ...more,
  };
}
