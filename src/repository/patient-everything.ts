import type { Bundle } from '@medplum/fhirtypes';
import type { GuardedQuery } from '../access/contract.js';
import { compartmentCriteria } from '../access/policy/compartment.js';
import { quote } from '../fhir/messages/quote.js';
import { FhirError } from '../fhir/error.js';
import type { FhirModel } from '../fhir/model/fhir-model.js';
import { isResourceId, type AnyResource } from '../fhir/resource.js';
import { and, type Criteria } from '../search/criteria/criteria.js';
import { FORMAT_PARAMETERS } from '../search/parse/parse-search.js';
import { parseParameter } from '../search/parse/parse-parameter.js';
import type { OpenRepository } from './open-repository.js';
import { MAX_COUNT } from './page-links.js';
import { readResource } from './read-resource.js';
import type { RepositorySession } from './repository-context.js';

/**
 * A page of a patient's record: the Patient and the resources of its compartment that the caller may read, by type and
 * id. See https://hl7.org/fhir/R4/patient-operation-everything.html.
 *
 * Each page makes at most one search per type of the compartment. Links lead on by position, so that pages neither
 * overlap nor leave out what others write meanwhile before it.
 *
 * @param parameters `_count`, `_type`, `_since`, and `_cursor` of the next link
 * @throws FhirError `not-found`, `gone` - the Patient
 */
export function patientEverything(open: OpenRepository, id: string, parameters: URLSearchParams): Promise<Bundle> {
  const { interact, bundle } = open;
  return interact('search', { type: 'Patient', id }, async (facts, session) => {
    const request = readRequest(session.store.model, parameters);
    await readResource({ type: 'Patient', id }, session);
    const found = await collect(id, request, session);
    facts.results = found.resources.length;
    for (const resource of found.resources) session.trace?.show(resource);
    return bundle({
      resourceType: 'Bundle',
      type: 'searchset',
      link: linksOf(id, request, found.next, session),
      ...(found.resources.length === 0 ? {} : { entry: found.resources.map((one) => entryOf(one, session)) }),
    });
  });
}

interface EverythingRequest {
  readonly count: number;
  readonly types: readonly string[];
  readonly since: Criteria | undefined;
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

function readRequest(model: FhirModel, parameters: URLSearchParams): EverythingRequest {
  const given: (readonly [string, string])[] = [];
  let count = DEFAULT_COUNT;
  let types = compartmentTypes(model);
  let since: Criteria | undefined;
  let after: Position | undefined;
  for (const [name, value] of parameters) {
    if (FORMAT_PARAMETERS.has(name)) continue;
    if (parameters.getAll(name).length > 1) throw new FhirError('invalid', `"${name.slice(0, 40)}" may be given once`);
    if (name === '_count') count = readCount(value);
    else if (name === '_cursor') after = readPosition(value, types);
    else {
      given.push([name, value]);
      if (name === '_type') types = readTypes(value, types);
      else if (name === '_since') since = parseParameter(model, 'Patient', '_lastUpdated', [`ge${value}`]);
      else throw new FhirError('invalid', `Unknown parameter ${quote(name)} of $everything`);
    }
  }
  return { count, types, since, after, given };
}

/** The Patient comes first, the others by name. */
function compartmentTypes(model: FhirModel): readonly string[] {
  return [
    'Patient',
    ...model.resourceTypes.filter((type) => type !== 'Patient' && model.patientCompartment(type).length > 0),
  ];
}

function readCount(value: string): number {
  if (!/^\d{1,15}$/.test(value) || Number(value) === 0) {
    throw new FhirError('invalid', '"_count" of $everything takes a whole number from 1 up');
  }
  if (Number(value) <= MAX_COUNT) return Number(value);
  throw new FhirError('too-costly', `A page of ${value} is asked for, at most ${MAX_COUNT} are allowed`);
}

function readTypes(value: string, types: readonly string[]): readonly string[] {
  const asked = new Set(value.split(','));
  const unknown = [...asked].find((type) => !types.includes(type));
  if (unknown === undefined) return types.filter((type) => asked.has(type));
  throw new FhirError('invalid', `"_type" names ${quote(unknown)}, which is no type of the patient compartment`);
}

function readPosition(cursor: string, types: readonly string[]): Position {
  const [type = '', id, ...rest] = cursor.split('/');
  if (types.includes(type) && isResourceId(id) && rest.length === 0) return { type, id };
  throw new FhirError('invalid', 'The "_cursor" is not one that a link of this service holds');
}

/** Fills a page type by type. */
async function collect(
  patient: string,
  { count, types, since, after }: EverythingRequest,
  session: RepositorySession,
): Promise<{ readonly resources: readonly AnyResource[]; readonly next: Position | undefined }> {
  const resources: AnyResource[] = [];
  const { model } = session.store;
  // The position may lie in a type that `_type` leaves out.
  const begin = after === undefined ? undefined : compartmentTypes(model).indexOf(after.type);
  for (const type of types) {
    if (begin !== undefined && compartmentTypes(model).indexOf(type) < begin) continue;
    const compartment = compartmentCriteria(model, type, { type: 'Patient', id: patient });
    const query: GuardedQuery = {
      type,
      criteria: since === undefined ? compartment : and([compartment, since]),
      // One extra resource shows whether there is a next page.
      limit: count - resources.length + 1,
      ...(after?.type === type ? { after: { values: [], id: after.id } } : {}),
    };
    const { matches } = await session.store.search(query, session.options);
    resources.push(...matches.map(({ resource }) => resource));
    if (resources.length > count) {
      const { resourceType, id } = resources[count - 1]!;
      return { resources: resources.slice(0, count), next: { type: resourceType, id: id! } };
    }
  }
  return { resources, next: undefined };
}

function linksOf(
  id: string,
  { count, given, after }: EverythingRequest,
  next: Position | undefined,
  { baseUrl }: RepositorySession,
): object[] {
  const url = (position: Position | undefined): string => {
    const parameters = new URLSearchParams(given.map(([...pair]) => pair));
    parameters.set('_count', String(count));
    if (position !== undefined) parameters.set('_cursor', `${position.type}/${position.id}`);
    return `${baseUrl === undefined ? '' : `${baseUrl}/`}Patient/${id}/$everything?${parameters.toString()}`;
  };
  return [{ relation: 'self', url: url(after) }, ...(next === undefined ? [] : [{ relation: 'next', url: url(next) }])];
}

function entryOf(resource: AnyResource, { baseUrl }: RepositorySession): object {
  const { resourceType, id } = resource;
  return {
    ...(baseUrl === undefined ? {} : { fullUrl: `${baseUrl}/${resourceType}/${id!}` }),
    resource,
    search: { mode: 'match' },
  };
}
