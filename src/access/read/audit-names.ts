import { FhirError } from '../../fhir/error.js';
import { parseReference, referenceText, referenceTo } from '../../fhir/reference.js';
import { elementsOf, isJsonObject, isResourceId, type AnyResource, type JsonObject } from '../../fhir/resource.js';
import { and, type Criteria, type MatchCriteria, NONE, not, childrenOf } from '../../search/criteria/criteria.js';
import type { ReferenceTest } from '../../search/criteria/value-test.js';
import { elementsRead } from '../../search/index/elements-read.js';
import type { ReferenceTarget } from '../../store/resource-key.js';
import type { StoredResource } from '../../store/stored-resource.js';
import type { Caller } from '../caller.js';
import type { GuardedQuery } from '../contract.js';
import { decide, readsAll } from '../decide.js';
import { withMasked } from '../fields/mask-resource.js';
import { readVisible, type Reading } from './visible-reads.js';

// An AuditEvent names the resources that an interaction showed or changed. Who may read the event, because it is about
// itself, may not see all of them. So members see the names of the resources that they may read, and search by no others.

/** The type of the events. */
export const AUDIT_EVENT = 'AuditEvent';

/** Most named resources of a call that are read to decide. */
const MAX_NAMES = 20_000;

/** Agents of these types are people under care. Who else acted is what the event is about. */
const UNDER_CARE: ReadonlySet<string> = new Set(['Patient', 'RelatedPerson']);

/** Decides whether the caller may read a named resource. */
type IsVisible = (target: ReferenceTarget) => boolean;

/**
 * Rows of AuditEvents without the names of resources that the caller may not read; other rows unchanged. Trusted code
 * sees all names.
 *
 * @throws FhirError `too-costly` - more than 20,000 named resources must be read to decide
 */
export async function maskEvents<Row>(reading: Reading, rows: readonly Row[]): Promise<readonly Row[]> {
  const { caller, origins } = reading;
  if (caller.kind !== 'member') return rows;
  const events = rows.filter(isEvent);
  if (events.length === 0) return rows;
  const named = events.flatMap(({ resource }) => namesIn(elementsOf(resource), reading));
  const isVisible = await visibleAmong(named, reading);
  return rows.map((row) => {
    if (!isEvent(row)) return row;
    const masked = maskEvent(elementsOf(row.resource), isVisible, reading) as unknown as AnyResource;
    // An event that was masked before belongs to the stored one.
    const origin = origins?.get(row.resource);
    if (origin !== undefined && masked !== row.resource) origins?.set(masked, origin);
    return withMasked(row, masked, origin === undefined ? origins : undefined);
  });
}

/**
 * The query without conditions on AuditEvents that would tell whether they name a resource that the caller may not read.
 * They find nothing, and such sorts are left out. Callers who may read all AuditEvents search by every name.
 */
export async function restrictEvents(query: GuardedQuery, reading: Reading): Promise<GuardedQuery> {
  const { caller } = reading;
  if (searchesByAll(caller) || !mentionsEvents(query)) return query;
  const asked: ReferenceTarget[] = [];
  rewrite(query.type, query.criteria, (match) => {
    if (match.test.kind === 'reference') asked.push(...targetsOf(match.test, reading));
    return match;
  });
  const isVisible = await visibleAmong(asked, reading);
  const criteria = rewrite(query.type, query.criteria, (match) => restrictMatch(match, isVisible, reading));
  if (query.type !== AUDIT_EVENT || query.sort === undefined) return { ...query, criteria };
  const keeps = query.sort.map(({ parameter }) => !readsNames(parameter, reading));
  const isKept = (_: unknown, index: number): boolean => keeps[index] !== false;
  const { after, before } = query;
  return {
    ...query,
    criteria,
    sort: query.sort.filter(isKept),
    after: after && { ...after, values: after.values.filter(isKept) },
    before: before && { ...before, values: before.values.filter(isKept) },
  };
}

function restrictMatch(match: MatchCriteria, isVisible: IsVisible, reading: Reading): Criteria {
  const { parameter, test } = match;
  if (!readsNames(parameter, reading)) return match;
  const { paths } = elementsRead(reading.store.model, AUDIT_EVENT, parameter);
  const isOf = (party: string): boolean => paths.every((path) => path.startsWith(`${party}.`));
  if (test.kind !== 'reference') {
    if (paths.every((path) => LABEL_OF_AGENT.test(path))) return and([match, not(isUnderCare('agent'))]);
    return isOf('source') ? and([match, not(isUnderCare('source'))]) : NONE;
  }
  const { id, types = reading.store.model.resourceTypes } = test;
  if (id === undefined) return match;
  const isOfActors = isOf('agent') || isOf('source');
  const visible = types.filter((type) => (isOfActors && !UNDER_CARE.has(type)) || isVisible({ type, id }));
  if (visible.length > 0) return { ...match, test: { ...test, types: visible } };
  // Every reference differs from one that is not shown.
  return test.negated === true ? { kind: 'missing', parameter, missing: false } : NONE;
}

/** The names of an agent beside the reference to it. */
const LABEL_OF_AGENT = /^agent\.(?:altId|name)$/;

/** Whether a person under care acted: its names may be hidden. */
function isUnderCare(parameter: 'agent' | 'source'): Criteria {
  return { kind: 'match', parameter, test: { kind: 'reference', types: [...UNDER_CARE] } };
}

/** The targets by which the caller may search AuditEvents: a cursor may name any. */
export async function visibleTargets(targets: readonly ReferenceTarget[], reading: Reading): Promise<IsVisible> {
  return searchesByAll(reading.caller) ? () => true : visibleAmong(targets, reading);
}

/** Whether the caller may read all AuditEvents. */
function searchesByAll(caller: Caller): boolean {
  if (caller.kind !== 'member') return true;
  return (decide(caller, AUDIT_EVENT, 'search') ?? []).some(({ criteria }) => criteria.kind === 'all');
}

function isEvent<Row>(row: Row): row is Row & StoredResource {
  const resource = isJsonObject(row) ? row['resource'] : undefined;
  return isJsonObject(resource) && resource['resourceType'] === AUDIT_EVENT;
}

async function visibleAmong(targets: readonly ReferenceTarget[], reading: Reading): Promise<IsVisible> {
  const { caller } = reading;
  const asked = new Map<string, ReferenceTarget>();
  for (const { type, id } of targets) {
    // The events of the log are in another project, where nothing is read by its id.
    if (type === AUDIT_EVENT || readsAll(caller, type) || decide(caller, type, 'read') === null) continue;
    asked.set(referenceTo(type, id), { type, id });
  }
  if (asked.size > MAX_NAMES) {
    throw new FhirError(
      'too-costly',
      `The events name more than ${MAX_NAMES} resources, which must be read to decide who may see their names; ask for fewer events`,
    );
  }
  const { store, options } = reading;
  const found = asked.size === 0 ? [] : await readVisible({ store, caller, options }, [...asked.values()]);
  const visible = new Set([...asked.keys()].filter((_, index) => found[index]!.status === 'found'));
  return ({ type, id }) => readsAll(caller, type) || visible.has(referenceTo(type, id));
}

/** The local resources that an event names. */
function namesIn(event: JsonObject, reading: Reading): readonly ReferenceTarget[] {
  const named: ReferenceTarget[] = [];
  const add = (reference: unknown): void => {
    const target = targetOf(reference, reading);
    if (target !== undefined) named.push(target);
  };
  for (const { who } of objectsIn(event['agent'])) add(who);
  for (const { observer } of objectsIn(event['source'])) add(observer);
  for (const entity of objectsIn(event['entity'])) {
    add(entity['what']);
    for (const detail of objectsIn(entity['detail'])) {
      named.push(...returnedIn(detail, entity, reading).map(({ type, id }) => ({ type, id })));
    }
  }
  return named;
}

function maskEvent(event: JsonObject, isVisible: IsVisible, reading: Reading): JsonObject {
  const { agent, source, entity, contained } = event;
  const agents = changed(agent, (one) => maskAgent(one, isVisible, reading));
  const observed = changed(source, (one) => maskSource(one, isVisible, reading));
  const entities = changed(entity, (one) => maskEntity(one, isVisible, reading));
  const inner = changed(contained, (one) =>
    typeof one['resourceType'] === 'string' && readsAll(reading.caller, one['resourceType']) ? one : undefined,
  );
  if (agents === agent && observed === source && entities === entity && inner === contained) return event;
  // A narrative may repeat the names.
  const { text: _, ...rest } = event;
  return { ...rest, ...present({ contained: inner, agent: agents, source: observed, entity: entities }) };
}

function maskAgent(agent: JsonObject, isVisible: IsVisible, reading: Reading): JsonObject {
  if (!isHiddenActor(agent['who'], isVisible, reading)) return agent;
  const { who: _, name: __, altId: ___, ...rest } = agent;
  return rest;
}

function maskSource(source: JsonObject, isVisible: IsVisible, reading: Reading): JsonObject {
  if (!isHiddenActor(source['observer'], isVisible, reading)) return source;
  const { observer: _, ...rest } = source;
  return rest;
}

/** Whether a reference to who acted means a person under care whom the caller may not see. */
function isHiddenActor(actor: unknown, isVisible: IsVisible, reading: Reading): boolean {
  const target = targetOf(actor, reading);
  if (target !== undefined) return UNDER_CARE.has(target.type) && !isVisible(target);
  const type = isJsonObject(actor) ? actor['type'] : undefined;
  return typeof type === 'string' && UNDER_CARE.has(type) && !readsAll(reading.caller, type);
}

/** @returns undefined for an entity about a resource that the caller may not see */
function maskEntity(entity: JsonObject, isVisible: IsVisible, reading: Reading): JsonObject | undefined {
  const { what, detail } = entity;
  const target = targetOf(what, reading);
  if (target === undefined ? isUndecided(entity, reading) : !isVisible(target)) return undefined;
  const details = changed(detail, (one) => {
    const returned = returnedIn(one, entity, reading);
    const shown = returned.filter(isVisible);
    if (shown.length === returned.length) return one;
    return shown.length === 0 ? undefined : { ...one, valueString: shown.map(({ text }) => text).join(' ') };
  });
  if (details === detail) return entity;
  const { detail: _, ...rest } = entity;
  return { ...rest, ...present({ detail: details }) };
}

/** What may be a person that is named by an identifier, a display, a contained resource or the text of a search alone. */
function isUndecided({ what, name, role, type, query }: JsonObject, { caller }: Reading): boolean {
  const reference = referenceText(what);
  if (reference?.startsWith('#') === true) return true;
  const named = isJsonObject(what) ? what['type'] : undefined;
  if (typeof named === 'string') return !readsAll(caller, named);
  const codes = [role, type].flatMap((one) => (isJsonObject(one) ? [one['code']] : []));
  const isNamed = reference === undefined && (what !== undefined || name !== undefined);
  const mayBePerson = codes.includes('1') || query !== undefined || (isNamed && codes.length === 0);
  return mayBePerson && !readsAll(caller, 'Patient');
}

interface Returned extends ReferenceTarget {
  /** `1/3` is version 3 of resource 1. */
  readonly text: string;
}

/** The versions that a detail of the entity `returned` lists; see `toAuditEvent`. */
function returnedIn(detail: JsonObject, entity: JsonObject, { store }: Reading): readonly Returned[] {
  const { type, valueString } = detail;
  if (entity['description'] !== 'returned' || typeof type !== 'string' || typeof valueString !== 'string') return [];
  if (!store.model.isResourceType(type)) return [];
  return valueString.split(' ').map((text) => ({ type, id: text.split('/', 1)[0]!, text }));
}

function targetOf(reference: unknown, { store }: Reading): ReferenceTarget | undefined {
  const parsed = parseReference(referenceText(reference) ?? '', store.model.baseUrl);
  return parsed?.kind === 'local' ? { type: parsed.type, id: parsed.id } : undefined;
}

/** The resources that a test asks for. */
function targetsOf({ id, types }: ReferenceTest, { store, caller }: Reading): readonly ReferenceTarget[] {
  if (!isResourceId(id)) return [];
  const all = types ?? store.model.resourceTypes.filter((type) => decide(caller, type, 'read') !== null);
  return all.map((type) => ({ type, id }));
}

/** Whether a query has conditions on AuditEvents, also behind chains. */
export function mentionsEvents({ type, criteria }: GuardedQuery): boolean {
  return isAboutEvents(type, criteria);
}

function isAboutEvents(type: string, criteria: Criteria): boolean {
  if (type === AUDIT_EVENT) return true;
  return childrenOf(criteria).some((one) => isAboutEvents(typeIn(type, criteria), one));
}

/** The type that the children of criteria are about. */
function typeIn(type: string, criteria: Criteria): string {
  return criteria.kind === 'chain' || criteria.kind === 'has' ? criteria.type : type;
}

/** Replaces the tests of values of AuditEvents. */
function rewrite(type: string, criteria: Criteria, change: (match: MatchCriteria) => Criteria): Criteria {
  const inner = typeIn(type, criteria);
  switch (criteria.kind) {
    case 'and':
    case 'or':
      return { ...criteria, of: criteria.of.map((one) => rewrite(inner, one, change)) };
    case 'not':
    case 'chain':
    case 'has':
      return { ...criteria, of: rewrite(inner, criteria.of, change) };
    case 'match':
      return type === AUDIT_EVENT ? change(criteria) : criteria;
    default:
      return criteria;
  }
}

/** Elements of an entity that name nothing. */
const PLAIN = /^entity\.(?:type|role|lifecycle|securityLabel)(?:\.|$)/;

function readsNames(parameter: string, { store }: Reading): boolean {
  return elementsRead(store.model, AUDIT_EVENT, parameter).paths.some(
    (path) =>
      path === '' ||
      path === 'agent' ||
      path === 'source' ||
      path.startsWith('agent.who') ||
      path.startsWith('source.observer') ||
      LABEL_OF_AGENT.test(path) ||
      (path.startsWith('entity') && !PLAIN.test(path)),
  );
}

function objectsIn(value: unknown): readonly JsonObject[] {
  return (Array.isArray(value) ? (value as readonly unknown[]) : [value]).filter(isJsonObject);
}

/** A list with its items changed, or without them; the same value if nothing changes. Undefined if nothing is left. */
function changed(value: unknown, change: (item: JsonObject) => JsonObject | undefined): unknown {
  if (!Array.isArray(value)) return isJsonObject(value) ? change(value) : value;
  const items = (value as readonly unknown[]).map((one) => (isJsonObject(one) ? change(one) : one));
  if (items.every((one, index) => one === (value as readonly unknown[])[index])) return value;
  const kept = items.filter((one) => one !== undefined);
  return kept.length === 0 ? undefined : kept;
}

function present(elements: { readonly [name: string]: unknown }): JsonObject {
  return Object.fromEntries(Object.entries(elements).filter(([, value]) => value !== undefined));
}
