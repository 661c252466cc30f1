import type { Bundle } from '@medplum/fhirtypes';
import type { GuardedKey, GuardedQuery } from '../access/contract.js';
import { compartmentCriteria } from '../access/policy/policy-criteria.js';
import { Container } from '../fhir/container.js';
import { FhirError } from '../fhir/error.js';
import { quote } from '../fhir/messages.js';
import type { FhirModel } from '../fhir/model/fhir-model.js';
import { keyText, notFound, referenceTo, urlBelow } from '../fhir/reference.js';
import { type AnyResource, elementsOf, isResourceId } from '../fhir/resource.js';
import { cursorText, foreignCursor, MAX_COUNT, readCursor } from '../interactions/pages.js';
import { and, changedSince, type Criteria, or, refersTo } from '../search/criteria/criteria.js';
import { indexEntries } from '../search/index/index-resource.js';
import { walkPlaces } from '../search/index/places.js';
import { valueTraits } from '../search/index/value-traits.js';
import { FORMAT_PARAMETERS } from '../search/parse/parse-search.js';
import { requireResourceType } from '../search/parse/parse-context.js';
import { ShortPage } from '../store/text-budget.js';
import { readSince } from './history-parameters.js';
import { type OpenRepository, readResource } from './open-repository.js';
import type { RepositorySession } from './repository.js';
import {
  type CanonicalTarget,
  findCanonicals,
  findIdentified,
  logicalReferences,
  type LogicalTarget,
} from './search/indirect-references.js';

/** The Patient or Encounter whose record it is. */
export interface RecordOwner {
  readonly type: 'Patient' | 'Encounter';
  readonly id: string;
}

/**
 * A page of the record of a Patient or Encounter: that resource and those of its compartment that the caller may read,
 * by type and id, with the resources that these refer to. See
 * https://hl7.org/fhir/R4/patient-operation-everything.html.
 *
 * Each page makes at most one search per type of the compartment, one read of the resources that it refers to, and one
 * search per type that canonicals lead to. The next link holds a position, so concurrent writes make pages neither
 * overlap nor skip resources. If several pages refer to a resource, each of them contains it.
 *
 * @param parameters `_count`, `_type`, `_since`, and `_cursor` of the next link
 * @throws FhirError `not-found`, `gone` - the owner
 */
export function everything(open: OpenRepository, owner: RecordOwner, parameters: URLSearchParams): Promise<Bundle> {
  const { interact, bundle } = open;
  return interact('search', owner, async (facts, session) => {
    const request = readRequest(owner, session, parameters);
    await readResource(owner, session);
    const found = await collect(owner, request, session);
    const entry = [
      ...found.resources.map((one) => entryOf(one, 'match', session)),
      ...found.referenced.map((one) => entryOf(one, 'include', session)),
    ];
    facts.results = entry.length;
    for (const resource of [...found.resources, ...found.referenced]) session.trace?.show(resource);
    return bundle({
      resourceType: 'Bundle',
      type: 'searchset',
      link: linksOf(owner, request, found.next, session),
      ...(entry.length === 0 ? {} : { entry }),
    });
  });
}

interface EverythingRequest {
  readonly count: number;
  /** The types of the compartment to go through. */
  readonly types: readonly string[];
  /** The types to return (`_type`); undefined for all. */
  readonly asked: ReadonlySet<string> | undefined;
  /** ISO 8601 instant, UTC. */
  readonly since: string | undefined;
  readonly after: Position | undefined;
  /** The parameters as given, without the page. */
  readonly given: readonly (readonly [name: string, value: string])[];
}

/** The last resource of the page before. */
interface Position {
  readonly type: string;
  readonly id: string;
}

const DEFAULT_COUNT = 100;
const EVERYTHING_PARAMETERS = ['_type', '_since', '_count', '_cursor'];

function readRequest(
  owner: RecordOwner,
  { store: { model, caller } }: RepositorySession,
  parameters: URLSearchParams,
): EverythingRequest {
  const given: (readonly [string, string])[] = [];
  let count = DEFAULT_COUNT;
  const compartment = compartmentTypes(model, owner.type);
  let asked: ReadonlySet<string> | undefined;
  let since: string | undefined;
  let cursor: string | undefined;
  for (const [name, value] of parameters) {
    if (FORMAT_PARAMETERS.has(name)) continue;
    if (!EVERYTHING_PARAMETERS.includes(name)) {
      throw new FhirError('invalid', `Unknown parameter ${quote(name)} of $everything`);
    }
    if (value === '') continue;
    if (parameters.getAll(name).length > 1) throw new FhirError('invalid', `"${name.slice(0, 40)}" may be given once`);
    if (name === '_count') count = readCount(value);
    else if (name === '_cursor') cursor = value;
    else {
      given.push([name, value]);
      if (name === '_type') asked = readTypes(model, value);
      else since = readSince(value);
    }
  }
  // Resources outside the compartment are found by the references to them.
  const isInside = asked !== undefined && [...asked].every((type) => compartment.includes(type));
  const types = isInside ? compartment.filter((type) => asked!.has(type)) : compartment;
  const after =
    cursor === undefined ? undefined : readPosition(readCursor(cursor, caller, questionOf(owner, given)), compartment);
  return { count, types, asked, since, after, given };
}

/** The owner comes first, the others by name. */
function compartmentTypes(model: FhirModel, owner: RecordOwner['type']): readonly string[] {
  return [
    owner,
    ...model.resourceTypes.filter((type) => type !== owner && compartmentCodes(model, type, owner).length > 0),
  ];
}

/**
 * The parameters by which resources of a type are in the owner's compartment. That of Encounter has those with these names:
 * https://hl7.org/fhir/R4/compartmentdefinition-encounter.html.
 */
function compartmentCodes(model: FhirModel, type: string, owner: RecordOwner['type']): readonly string[] {
  if (owner === 'Patient') return model.patientCompartment(type);
  return ['encounter', 'context'].filter((code) => {
    const parameter = model.searchParameters(type).get(code);
    return parameter?.type === 'reference' && parameter.targets?.includes('Encounter') === true;
  });
}

function readCount(value: string): number {
  if (!/^\d{1,15}$/.test(value) || Number(value) === 0) {
    throw new FhirError('invalid', '"_count" of $everything takes a whole number from 1 up');
  }
  if (Number(value) <= MAX_COUNT) return Number(value);
  throw new FhirError('too-costly', `A page of ${value} is requested; at most ${MAX_COUNT} are allowed`);
}

function readTypes(model: FhirModel, value: string): ReadonlySet<string> {
  return new Set(value.split(',').map((type) => requireResourceType(model, type)));
}

function readPosition(content: unknown, types: readonly string[]): Position {
  if (!Array.isArray(content) || content.length !== 2) throw foreignCursor();
  const [type, id] = content as unknown[];
  if (typeof type === 'string' && types.includes(type) && isResourceId(id)) return { type, id };
  throw foreignCursor();
}

/** What a cursor belongs to. */
function questionOf({ type, id }: RecordOwner, given: EverythingRequest['given']): string {
  return JSON.stringify([type, id, '$everything', ...given]);
}

interface EverythingPage {
  readonly resources: readonly AnyResource[];
  readonly referenced: readonly AnyResource[];
  readonly next: Position | undefined;
}

async function collect(
  owner: RecordOwner,
  request: EverythingRequest,
  session: RepositorySession,
): Promise<EverythingPage> {
  const { count, asked, since = '' } = request;
  const { resources: found, isCut } = await compartmentFrom(owner, request, session);
  const targets = found.slice(0, count).map((resource) => targetsOf(resource, session));
  const affordable = countAffordable(targets);
  if (affordable === 0 && found.length > 0) assertAffordableAlone(found[0]!, targets[0]!);
  const page = found.slice(0, affordable);
  const known = new Set(page.map(nameOf));
  const isAsked = ({ resourceType }: AnyResource): boolean => asked?.has(resourceType) !== false;
  const referenced = (await readTargets(targets.slice(0, affordable), session)).filter(
    (one) =>
      isAsked(one) &&
      !known.has(nameOf(one)) &&
      (one.meta?.lastUpdated ?? '') >= since &&
      !isInCompartment(one, owner, session),
  );
  const last = page.at(-1);
  const next = found.length > page.length || isCut ? { type: last!.resourceType, id: last!.id! } : undefined;
  return { resources: page.filter(isAsked), referenced, next };
}

/** Resources of the compartment from a position on, with one more than the page holds if there are more; fewer if they are large. */
async function compartmentFrom(
  owner: RecordOwner,
  { count, types, since, after }: EverythingRequest,
  session: RepositorySession,
): Promise<{ readonly resources: readonly AnyResource[]; readonly isCut: boolean }> {
  const resources: AnyResource[] = [];
  const { model } = session.store;
  // The position may be in a type that `_type` leaves out.
  const all = compartmentTypes(model, owner.type);
  const begin = after === undefined ? undefined : all.indexOf(after.type);
  for (const type of types) {
    if (begin !== undefined && all.indexOf(type) < begin) continue;
    const compartment = criteriaOf(model, type, owner);
    const query: GuardedQuery = {
      type,
      criteria: since === undefined ? compartment : and([compartment, changedSince(since)]),
      // One extra resource shows whether there is a next page.
      limit: count - resources.length + 1,
      ...(after?.type === type ? { after: { values: [], id: after.id } } : {}),
    };
    const shortens = new ShortPage(resources.length > 0);
    const { matches } = await session.store.search({ ...query, shortens }, session.options);
    resources.push(...matches.map(({ resource }) => resource));
    if (resources.length > count || shortens.isCut) return { resources, isCut: shortens.isCut };
  }
  return { resources, isCut: false };
}

/**
 * The parameter by which a search of a type stays in the owner's compartment: `subject=Patient/1`.
 *
 * @throws FhirError `not-found` - the compartment has no resources of the type
 */
export function compartmentPair(model: FhirModel, owner: RecordOwner, type: string): readonly [string, string] {
  const reference = referenceTo(owner.type, owner.id);
  if (!isResourceId(owner.id)) throw notFound(owner);
  if (type === owner.type) return ['_id', owner.id];
  const codes = compartmentCodes(model, type, owner.type);
  if (codes.length === 0) throw new FhirError('not-found', `A ${type} is in no compartment of a ${owner.type}`);
  if (codes.length === 1) return [codes[0]!, reference];
  return ['_filter', codes.map((code) => `${code} re "${reference}"`).join(' or ')];
}

function criteriaOf(model: FhirModel, type: string, owner: RecordOwner): Criteria {
  if (owner.type === 'Patient') return compartmentCriteria(model, type, owner);
  if (type === owner.type) return { kind: 'id', ids: [owner.id] };
  return or(compartmentCodes(model, type, owner.type).map((code) => refersTo(code, owner)));
}

/** True for a resource that is itself a match, on this page or another. */
function isInCompartment(resource: AnyResource, owner: RecordOwner, { store }: RepositorySession): boolean {
  const { resourceType, id } = resource;
  if (resourceType === owner.type) return id === owner.id;
  const parameters = compartmentCodes(store.model, resourceType, owner.type);
  return indexEntries(store.model, resource).some(({ parameter, group, value }) => {
    if (group !== 0 || value.kind !== 'reference' || 'url' in value || !parameters.includes(parameter)) return false;
    return value.type === owner.type && value.id === owner.id;
  });
}

function nameOf({ resourceType, id }: AnyResource): string {
  return referenceTo(resourceType, id!);
}

function linksOf(
  owner: RecordOwner,
  { count, given, after }: EverythingRequest,
  next: Position | undefined,
  { baseUrl, store: { caller } }: RepositorySession,
): object[] {
  const url = (position: Position | undefined): string => {
    const parameters = new URLSearchParams(given.map(([...pair]) => pair));
    parameters.set('_count', String(count));
    if (position !== undefined) {
      parameters.set('_cursor', cursorText([position.type, position.id], caller, questionOf(owner, given)));
    }
    return urlBelow(baseUrl, `${owner.type}/${owner.id}/$everything?${parameters.toString()}`);
  };
  return [{ relation: 'self', url: url(after) }, ...(next === undefined ? [] : [{ relation: 'next', url: url(next) }])];
}

function entryOf(resource: AnyResource, mode: 'match' | 'include', { baseUrl }: RepositorySession): object {
  const { resourceType, id } = resource;
  return {
    ...(baseUrl === undefined ? {} : { fullUrl: `${baseUrl}/${resourceType}/${id!}` }),
    resource,
    search: { mode },
  };
}

/** The targets of a resource: by Reference, by canonical, by identifier if the host follows those, and Binaries. */
interface Targets {
  readonly keys: readonly GuardedKey[];
  readonly canonicals: readonly CanonicalTarget[];
  readonly logical: readonly LogicalTarget[];
}

/** Most resources that a page may contain in addition to its matches. */
const MAX_REFERENCED = 1000;

/** The number of the first resources that together refer to at most {@link MAX_REFERENCED} others. */
function countAffordable(targets: readonly Targets[]): number {
  const names = new Set<string>();
  for (const [index, one] of targets.entries()) {
    for (const name of namesOf(one)) names.add(name);
    if (names.size > MAX_REFERENCED) return index;
  }
  return targets.length;
}

/** The resources that the caller may see among these, each once. One read, and one search per type of canonicals. */
async function readTargets(targets: readonly Targets[], session: RepositorySession): Promise<readonly AnyResource[]> {
  const keys = new Map(targets.flatMap((one) => one.keys.map((key) => [keyText(key), key])));
  const read = keys.size === 0 ? [] : await session.store.read([...keys.values()], session.options);
  const canonicals = targets.flatMap((one) => one.canonicals);
  const logical = targets.flatMap((one) => one.logical);
  const found = [
    ...read.flatMap((one) => (one.status === 'found' ? [one.resource] : [])),
    ...(await findCanonicals(canonicals, MAX_REFERENCED, session)),
    ...(await findIdentified(logical, MAX_REFERENCED, session)),
  ];
  return [...new Map(found.map((one) => [keyText({ type: one.resourceType, id: one.id! }), one])).values()];
}

/** @throws FhirError `too-costly` - of one resource, which no smaller page can help */
function assertAffordableAlone({ resourceType, id }: AnyResource, targets: Targets): void {
  if (namesOf(targets).length <= MAX_REFERENCED) return;
  throw new FhirError(
    'too-costly',
    `${resourceType}/${id!} refers to more than ${MAX_REFERENCED} resources; leave its type out by "_type"`,
  );
}

/** @param resource as the caller sees it: hidden references lead nowhere */
function targetsOf(resource: AnyResource, session: RepositorySession): Targets {
  return {
    keys: literalTargets(resource, session),
    canonicals: canonicalTargets(resource, session),
    logical: session.resolveIdentifiers === true ? typedLogical(resource) : [],
  };
}

function namesOf({ keys, canonicals, logical }: Targets): string[] {
  return [...keys.map(keyText), ...canonicals.map(({ text }) => text), ...logical.map((one) => JSON.stringify(one))];
}

/** References anywhere, and attachments whose content is a Binary. */
function literalTargets(resource: AnyResource, { store }: RepositorySession): readonly GuardedKey[] {
  const keys = new Map<string, GuardedKey>();
  const add = (text: unknown, container: Container, only?: string): void => {
    const parsed = typeof text === 'string' ? container.resolve(text) : undefined;
    if (parsed?.kind !== 'local' || !store.model.isResourceType(parsed.type)) return;
    const key = { type: parsed.type, id: parsed.id };
    if (only === undefined || key.type === only) keys.set(keyText(key), key);
  };
  // `meta` names the author, who is not part of the record.
  const { meta: _, ...content } = elementsOf(resource);
  walkPlaces(content, Container.of(store.model, resource), (node, container) => {
    add(node['reference'], container);
    if ('contentType' in node) add(node['url'], container, 'Binary');
  });
  return [...keys.values()];
}

function canonicalTargets(resource: AnyResource, { store: { model } }: RepositorySession): readonly CanonicalTarget[] {
  const { resourceType } = resource;
  return indexEntries(model, resource).flatMap(({ parameter, group, value }) => {
    if (group !== 0 || value.kind !== 'reference' || !('url' in value)) return [];
    const definition = model.searchParameter(resourceType, parameter);
    if (definition === undefined || !valueTraits(model, resourceType, definition).canonicals) return [];
    return [{ text: value.url, types: definition.targets ?? [] }];
  });
}

/** Logical references with a known type only. */
function typedLogical(resource: AnyResource): readonly LogicalTarget[] {
  return logicalReferences(resource).flatMap(({ system, value, type }) =>
    type === undefined ? [] : [{ system, value, types: [type] }],
  );
}
