import type { AuditEvent } from '@medplum/fhirtypes';
import { AUDIT_LOG_PROJECT, type ResourceStore } from '../../src/index.js';

/** The events of a log, in the order of segments and sequences. */
export async function eventsIn(store: ResourceStore): Promise<readonly AuditEvent[]> {
  const { matches } = await store.search({
    project: AUDIT_LOG_PROJECT,
    type: 'AuditEvent',
    criteria: { kind: 'all' },
  });
  return matches.map(({ resource }) => resource as unknown as AuditEvent);
}
