import type { AuditEvent, AuditEventAgent, AuditEventEntity } from '@medplum/fhirtypes';
import { ERROR_CODES } from '../fhir/error.js';
import type { AuditInteraction, AuditRecord, AuditTarget } from './audit.js';

/**
 * The record as a FHIR AuditEvent, ready to be stored. See https://hl7.org/fhir/R4/auditevent.html.
 *
 * | record | AuditEvent |
 * |---|---|
 * | interaction | `type` rest, `subtype`, `action` (C, R, U, D; E for searches, Bundles and operations) |
 * | outcome | `outcome` 0 success, 4 the caller's failure, 8 the service's; the code in `outcomeDesc`, with `, unknown` if the outcome of a write is unknown |
 * | started, duration | `period`; `recorded` is its end |
 * | who | `agent`: the profile in `who`, the user in `altId`, the membership in `policy`; the project in `source.site` |
 * | targets | an `entity` each, with type, id and version |
 * | parameters, results, storeCalls | `detail` of an `entity` for the query |
 */
export function toAuditEvent(record: AuditRecord): AuditEvent {
  const { interaction, outcome, started, duration } = record;
  const end = new Date(Date.parse(started) + Math.ceil(duration)).toISOString();
  const entity = [...record.targets.map(toEntity), ...queryEntity(record)];
  return {
    resourceType: 'AuditEvent',
    type: { system: EVENT_TYPES, code: 'rest', display: 'RESTful Operation' },
    subtype: [subtypeOf(interaction)],
    action: ACTIONS[interaction] ?? 'E',
    period: { start: started, end },
    recorded: end,
    outcome: outcome.success ? '0' : ERROR_CODES[outcome.code].status < 500 ? '4' : '8',
    ...(outcome.success ? {} : { outcomeDesc: outcome.unknown === true ? `${outcome.code}, unknown` : outcome.code }),
    agent: [toAgent(record)],
    source: {
      ...(record.who.kind === 'unknown' ? {} : { site: `Project/${record.who.project}` }),
      observer: { display: 'fhirgraph' },
    },
    ...(entity.length === 0 ? {} : { entity }),
  };
}

const EVENT_TYPES = 'http://terminology.hl7.org/CodeSystem/audit-event-type';
const REST = 'http://hl7.org/fhir/restful-interaction';

const ACTIONS: { readonly [Name in AuditInteraction]?: 'C' | 'R' | 'U' | 'D' } = {
  create: 'C',
  read: 'R',
  vread: 'R',
  history: 'R',
  update: 'U',
  patch: 'U',
  delete: 'D',
};

/** FHIR's codes for interactions with other names; interactions without a code are operations. */
const SUBTYPES: { readonly [Name in AuditInteraction]?: string } = {
  search: 'search-type',
  history: 'history-instance',
};

const FHIR_SUBTYPES: ReadonlySet<string> = new Set([
  'create',
  'read',
  'vread',
  'update',
  'patch',
  'delete',
  'search-type',
  'history-instance',
  'transaction',
  'batch',
]);

function subtypeOf(interaction: AuditInteraction): { system: string; code: string; display?: string } {
  const code = SUBTYPES[interaction] ?? interaction;
  return FHIR_SUBTYPES.has(code) ? { system: REST, code } : { system: REST, code: 'operation', display: interaction };
}

/** Who R4 lets an agent refer to; clients and Bots are named in words. */
const AGENT_TYPES: ReadonlySet<string> = new Set(['Patient', 'Practitioner', 'RelatedPerson']);

function toAgent({ who }: AuditRecord): AuditEventAgent {
  if (who.kind !== 'member') return { altId: who.kind, requestor: true };
  const known = AGENT_TYPES.has(who.profile.split('/', 1)[0]!);
  return {
    who: known ? { reference: who.profile } : { display: who.profile },
    altId: who.user,
    requestor: true,
    policy: [who.membership],
  };
}

function toEntity({ type, id, versionId, interaction }: AuditTarget): AuditEventEntity {
  const version = versionId === undefined ? '' : `/_history/${versionId}`;
  return {
    ...(id === undefined ? { name: type } : { what: { reference: `${type}/${id}${version}` } }),
    type: { system: 'http://terminology.hl7.org/CodeSystem/audit-entity-type', code: '2', display: 'System Object' },
    ...(interaction === undefined ? {} : { description: interaction }),
  };
}

function queryEntity({ parameters, results, storeCalls }: AuditRecord): AuditEventEntity[] {
  const facts: readonly (readonly [type: string, value: string | undefined])[] = [
    ['parameters', parameters?.join(',')],
    ['results', results?.toString()],
    ['storeCalls', storeCalls?.toString()],
  ];
  const detail = facts.flatMap(([type, value]) =>
    value === undefined || value === '' ? [] : [{ type, valueString: value }],
  );
  if (detail.length === 0) return [];
  const role = { system: 'http://terminology.hl7.org/CodeSystem/object-role', code: '24', display: 'Query' };
  return [{ role, detail }];
}
