import type { AuditEvent } from '@medplum/fhirtypes';
import { AUDIT_LOG_PROJECT } from '../../src/audit/log/chain.js';
import type { ResourceStore } from '../../src/store/store.js';

/** The events of a log, in the order of segments and sequences. */
export async function eventsIn(store: ResourceStore): Promise<readonly AuditEvent[]> {
  const { matches } = await store.search({
    project: AUDIT_LOG_PROJECT,
    type: 'AuditEvent',
    criteria: { kind: 'all' },
  });
  return matches.map(({ resource }) => resource as unknown as AuditEvent);
}
