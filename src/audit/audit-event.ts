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
 * | who | `agent`: the profile in `who`, the user in `altId`; the project as identifier in `source.observer`; the membership in the `detail` of the query |
 * | purpose, reason, emergency access | `purposeOfEvent` |
 * | patients | an `entity` each, so that `AuditEvent?patient=` finds the events of a patient |
 * | targets | an `entity` each for those with an id, with type, id and version; types in the `detail` of the query |
 * | returned | one `entity` with the description `returned`, with a `detail` per type: ids with versions, parted by spaces |
 * | document, parameters, counts, requestId and numbers | `detail` of an `entity` for the query |
 *
 * PERF (all-options): the members of all objects are in the order of their names, as the log hashes them; and each indexed element
 * costs a tenth of a short request, so no value is repeated.
 */
export function toAuditEvent(record: AuditRecord): AuditEvent {
  const { interaction, outcome, started, duration } = record;
  const end = new Date(Date.parse(started) + Math.ceil(duration)).toISOString();
  const entity = [
    ...(record.patients?.ids ?? []).map(patientEntity),
    ...record.targets.flatMap(toEntity),
    ...returnedEntity(record.returned),
    ...queryEntity(record),
  ];
  const purposes = purposesOf(record);
  const { type, subtype } = kindOf(record);
  return {
    action: ACTIONS[interaction] ?? 'E',
    agent: [toAgent(record)],
    ...(entity.length === 0 ? {} : { entity }),
    outcome: outcome.success ? '0' : ERROR_CODES[outcome.code].status < 500 ? '4' : '8',
    ...(outcome.success ? {} : { outcomeDesc: outcome.unknown === true ? `${outcome.code}, unknown` : outcome.code }),
    period: { end, start: started },
    ...(purposes.length === 0 ? {} : { purposeOfEvent: purposes }),
    recorded: end,
    resourceType: 'AuditEvent',
    source: sourceOf(record),
    subtype,
    type,
  };
}

const REST = 'http://hl7.org/fhir/restful-interaction';
const RESTFUL: Coding = {
  code: 'rest',
  display: 'RESTful Operation',
  system: 'http://terminology.hl7.org/CodeSystem/audit-event-type',
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
  return { code, display, system: 'http://dicom.nema.org/resources/ontology/DCM' };
}

/** FHIR's codes for interactions with other names, except for histories; interactions without a code are operations. */
const SUBTYPES: { readonly [Name in AuditInteraction]?: string } = { search: 'search-type' };

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
  'history-system',
  'transaction',
  'batch',
]);

function kindOf({ interaction, targets }: AuditRecord): { readonly type: Coding; readonly subtype: Coding[] } {
  const operation = { code: 'operation', display: interaction, system: REST };
  const [type, subtype] = DICOM[interaction] ?? [];
  if (type !== undefined) return { type, subtype: [subtype ?? operation] };
  const code = (interaction === 'history' ? historyOf(targets[0]) : SUBTYPES[interaction]) ?? interaction;
  return { type: RESTFUL, subtype: [FHIR_SUBTYPES.has(code) ? { code, system: REST } : operation] };
}

function historyOf(target: AuditTarget | undefined): string {
  if (target === undefined) return 'history-system';
  return target.id === undefined ? 'history-type' : 'history-instance';
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
  return { coding: [{ code, system: 'http://terminology.hl7.org/CodeSystem/v3-ActReason' }] };
}

/** The identifiers of projects. */
export const PROJECT_SYSTEM = 'https://fhirgraph.org/fhir/project';

function sourceOf({ who }: AuditRecord): AuditEvent['source'] {
  const display = 'fhirgraph';
  if (!('project' in who) || who.project === undefined) return { observer: { display } };
  return { observer: { display, identifier: { system: PROJECT_SYSTEM, value: who.project } } };
}

/** The types that R4 allows for an agent; clients and Bots are named by display. */
const AGENT_TYPES: ReadonlySet<string> = new Set(['Patient', 'Practitioner', 'RelatedPerson']);

function toAgent({ who }: AuditRecord): AuditEventAgent {
  if (who.kind !== 'member') return { altId: who.kind, requestor: true };
  const known = AGENT_TYPES.has(who.profile.split('/', 1)[0]!);
  return {
    altId: who.user,
    requestor: true,
    who: known ? { reference: who.profile } : { display: who.profile },
  };
}

const ENTITY_TYPES = 'http://terminology.hl7.org/CodeSystem/audit-entity-type';
const OBJECT_ROLES = 'http://terminology.hl7.org/CodeSystem/object-role';

function patientEntity(id: string): AuditEventEntity {
  return {
    role: { code: '1', display: 'Patient', system: OBJECT_ROLES },
    type: { code: '1', display: 'Person', system: ENTITY_TYPES },
    what: { reference: `Patient/${id}` },
  };
}

function toEntity({ type, id, versionId, interaction }: AuditTarget): AuditEventEntity[] {
  if (id === undefined) return [];
  const version = versionId === undefined ? '' : `/_history/${versionId}`;
  const description = interaction === undefined ? {} : { description: interaction };
  return [{ ...description, what: { reference: `${type}/${id}${version}` } }];
}

/** One entity for all versions, without indexed elements: indexing every id would cost more than the request. */
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
  const { parameters, results, storeCalls, counts, document, requestId, patients, targets, who } = record;
  const facts: readonly (readonly [type: string, value: string | undefined])[] = [
    ['membership', who.kind === 'member' ? who.membership : undefined],
    ['types', typesOf(targets)],
    ['parameters', parameters?.join(',')],
    ['results', results?.toString()],
    ['storeCalls', storeCalls?.toString()],
    ['counts', counts?.map(({ type, count }) => `${type} ${count}`).join(', ')],
    ['patients', patients?.total.toString()],
    ['document', document],
    ['requestId', requestId],
  ];
  const detail = facts.flatMap(([type, value]) => (value === undefined || value === '' ? [] : [fact(type, value)]));
  return detail.length === 0 ? [] : [{ detail, role: { code: '24', display: 'Query', system: OBJECT_ROLES } }];
}

/** Targets without an id; entries of a Bundle with their interaction: `Patient search, Observation search`. */
function typesOf(targets: readonly AuditTarget[]): string {
  return targets
    .flatMap(({ type, id, interaction }) => {
      if (id !== undefined) return [];
      return interaction === undefined ? type : `${type} ${interaction}`;
    })
    .join(', ');
}

function fact(type: string, valueString: string): { readonly type: string; readonly valueString: string } {
  return { type, valueString };
}
