import type { AuditEvent } from '@medplum/fhirtypes';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import type { AuditHead } from './chain.js';

/** Events about the log itself: it opens and closes a segment, or has lost records. */
export function logEvent(
  display: 'segment-opened' | 'segment-closed' | 'records-lost',
  now: Date,
  detail: readonly { readonly type: string; readonly valueString: string }[] = [],
): AuditEvent {
  return {
    action: 'E',
    agent: [{ altId: 'server', requestor: false }],
    ...(detail.length === 0 ? {} : { entity: [{ detail: [...detail], name: display }] }),
    outcome: display === 'records-lost' ? '8' : '0',
    recorded: now.toISOString(),
    resourceType: 'AuditEvent',
    source: { observer: { display: 'fhirgraph' } },
    subtype: [{ code: 'operation', display, system: 'http://hl7.org/fhir/restful-interaction' }],
    type: { code: '110101', display: 'Audit Log Used', system: 'http://dicom.nema.org/resources/ontology/DCM' },
  };
}

const OPENED = 'segment-opened';

/** What the opening of a segment states about the newest event before it. */
export function afterDetail(head: AuditHead | undefined): { type: string; valueString: string }[] {
  if (head === undefined) return [];
  const { segment, sequence, hash } = head;
  return [{ type: 'after', valueString: `${segment} ${sequence} ${hash}` }];
}

/**
 * The event that the opening of a segment follows; undefined for other events, and for an opening that follows no
 * event.
 */
export function headBefore(event: AuditEvent): AuditHead | undefined {
  // An altered event may have any shape.
  const entity = objectsOf(event.entity).find(({ name }) => name === OPENED);
  const text = objectsOf(entity?.['detail']).find(({ type }) => type === 'after')?.['valueString'];
  const [segment, sequence, hash] = typeof text === 'string' ? text.split(' ') : [];
  if (segment === undefined || sequence === undefined || hash === undefined) return undefined;
  return { segment, sequence: Number(sequence), hash };
}

function objectsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? (value as unknown[]).filter(isJsonObject) : [];
}

/** True for the event that ends a segment properly. */
export function isClosing({ subtype }: AuditEvent): boolean {
  return subtype?.[0]?.display === 'segment-closed';
}
