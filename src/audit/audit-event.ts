import type { AuditEvent, AuditEventAgent, AuditEventEntity, CodeableConcept, Coding } from '@medplum/fhirtypes';
import { ERROR_CODES } from '../fhir/error.js';
import type { AuditedResources, AuditInteraction, AuditRecord, AuditTarget } from './audit-record.js';

/**
 * The record as a FHIR AuditEvent, ready to be stored. See https://hl7.org/fhir/R4/auditevent.html.
 *
 * | record | AuditEvent |
 * |---|---|
 * | interaction | `type`, `subtype`, `action` (C, R, U, D; E for searches, Bundles and operations) |
 * | outcome | `outcome` 0 success, 4 the caller's failure, 8 the service's; the code in `outcomeDesc`, with `, unknown` if the outcome of a write is unknown |
 * | started, duration | `period`; `recorded` is its end |
 * | who | `agent`: the profile in `who`, the user in `altId`, the membership in `policy`; the project in `source.site` and, as identifier, in `source.observer` |
 * | purpose, reason, emergency access | `purposeOfEvent` |
 * | patients | an `entity` each, so that `AuditEvent?patient=` finds the events of a patient |
 * | targets | an `entity` each, with type, id and version |
 * | returned | one `entity` with the description `returned`, with a `detail` per type: ids with versions, parted by spaces |
 * | document, parameters, counts, requestId and numbers | `detail` of an `entity` for the query |
 */
export function toAuditEvent(record: AuditRecord): AuditEvent {
  const { interaction, outcome, started, duration } = record;
  const end = new Date(Date.parse(started) + Math.ceil(duration)).toISOString();
  const entity = [
    ...(record.patients?.ids ?? []).map(patientEntity),
    ...record.targets.map(toEntity),
    ...returnedEntity(record.returned),
    ...queryEntity(record),
  ];
  const purposes = purposesOf(record);
  return {
    resourceType: 'AuditEvent',
    ...kindOf(record),
    action: ACTIONS[interaction] ?? 'E',
    period: { start: started, end },
    recorded: end,
    outcome: outcome.success ? '0' : ERROR_CODES[outcome.code].status < 500 ? '4' : '8',
    ...(outcome.success ? {} : { outcomeDesc: outcome.unknown === true ? `${outcome.code}, unknown` : outcome.code }),
    ...(purposes.length === 0 ? {} : { purposeOfEvent: purposes }),
    agent: [toAgent(record)],
    source: sourceOf(record),
    ...(entity.length === 0 ? {} : { entity }),
  };
}

const REST = 'http://hl7.org/fhir/restful-interaction';
const RESTFUL: Coding = {
  system: 'http://terminology.hl7.org/CodeSystem/audit-event-type',
  code: 'rest',
  display: 'RESTful Operation',
};

const ACTIONS: { readonly [Name in AuditInteraction]?: 'C' | 'R' | 'U' | 'D' } = {
  create: 'C',
  read: 'R',
  vread: 'R',
  history: 'R',
  update: 'U',
  patch: 'U',
  delete: 'D',
};

/** Interactions with codes of DICOM: see http://hl7.org/fhir/ValueSet/audit-event-type. */
const DICOM: { readonly [Name in AuditInteraction]?: readonly [type: Coding, subtype?: Coding] } = {
  'sign-in': [dicom('110114', 'User Authentication'), dicom('110122', 'Login')],
  'break-glass': [dicom('110113', 'Security Alert'), dicom('110127', 'Emergency Override Started')],
  import: [dicom('110107', 'Import')],
  'export-project': [dicom('110106', 'Export')],
};

function dicom(code: string, display: string): Coding {
  return { system: 'http://dicom.nema.org/resources/ontology/DCM', code, display };
}

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
  'history-type',
  'transaction',
  'batch',
]);

function kindOf({ interaction, targets }: AuditRecord): Pick<AuditEvent, 'type' | 'subtype'> {
  const operation = { system: REST, code: 'operation', display: interaction };
  const [type, subtype] = DICOM[interaction] ?? [];
  if (type !== undefined) return { type, subtype: [subtype ?? operation] };
  const isOfType = interaction === 'history' && targets[0]?.id === undefined;
  const code = isOfType ? 'history-type' : (SUBTYPES[interaction] ?? interaction);
  return { type: RESTFUL, subtype: [FHIR_SUBTYPES.has(code) ? { system: REST, code } : operation] };
}

function purposesOf({ purpose, reason, who }: AuditRecord): CodeableConcept[] {
  const emergency = who.kind === 'member' ? who.emergency : undefined;
  return [
    ...(purpose === undefined ? [] : [purposeOf(purpose)]),
    ...(emergency === undefined ? [] : [{ ...purposeOf('BTG'), text: emergency.reason }]),
    ...(reason === undefined || reason === emergency?.reason ? [] : [{ text: reason }]),
  ];
}

function purposeOf(code: string): CodeableConcept {
  return { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v3-ActReason', code }] };
}

/** The identifiers of projects: searches ignore the case of `site`, a string. */
export const PROJECT_SYSTEM = 'https://fhirgraph.org/fhir/project';

function sourceOf({ who }: AuditRecord): AuditEvent['source'] {
  const display = 'fhirgraph';
  if (!('project' in who) || who.project === undefined) return { observer: { display } };
  const { project } = who;
  return { site: `Project/${project}`, observer: { identifier: { system: PROJECT_SYSTEM, value: project }, display } };
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

const ENTITY_TYPES = 'http://terminology.hl7.org/CodeSystem/audit-entity-type';
const OBJECT_ROLES = 'http://terminology.hl7.org/CodeSystem/object-role';

function patientEntity(id: string): AuditEventEntity {
  return {
    what: { reference: `Patient/${id}` },
    type: { system: ENTITY_TYPES, code: '1', display: 'Person' },
    role: { system: OBJECT_ROLES, code: '1', display: 'Patient' },
  };
}

function toEntity({ type, id, versionId, interaction }: AuditTarget): AuditEventEntity {
  const version = versionId === undefined ? '' : `/_history/${versionId}`;
  return {
    ...(id === undefined ? { name: type } : { what: { reference: `${type}/${id}${version}` } }),
    ...(interaction === undefined ? {} : { description: interaction }),
  };
}

/** One entity for all, without what searches index: an index of every id would cost more than the request. */
function returnedEntity(returned: AuditedResources | undefined): AuditEventEntity[] {
  if (returned === undefined) return [];
  const byType = Map.groupBy(returned.resources, ({ type }) => type);
  const detail = Array.from(byType, ([type, resources]) => ({
    type,
    valueString: resources.map(({ id, versionId }) => (versionId === undefined ? id : `${id}/${versionId}`)).join(' '),
  }));
  return [{ description: 'returned', detail: [...detail, fact('total', String(returned.total))] }];
}

function queryEntity(record: AuditRecord): AuditEventEntity[] {
  const { parameters, results, storeCalls, counts, document, requestId, patients } = record;
  const facts: readonly (readonly [type: string, value: string | undefined])[] = [
    ['parameters', parameters?.join(',')],
    ['results', results?.toString()],
    ['storeCalls', storeCalls?.toString()],
    ['counts', counts?.map(({ type, count }) => `${type} ${count}`).join(', ')],
    ['patients', patients?.total.toString()],
    ['document', document],
    ['requestId', requestId],
  ];
  const detail = facts.flatMap(([type, value]) => (value === undefined || value === '' ? [] : [fact(type, value)]));
  return detail.length === 0 ? [] : [{ role: { system: OBJECT_ROLES, code: '24', display: 'Query' }, detail }];
}

function fact(type: string, valueString: string): { readonly type: string; readonly valueString: string } {
  return { type, valueString };
}
