import type { RestInteraction } from '../../audit/audit-record.js';
import { FhirError } from '../../fhir/error.js';
import { trimBaseUrl } from '../../fhir/reference.js';
import { type AnyResource, isJsonObject } from '../../fhir/resource.js';
import { searchMembers } from '../../projects/members/search-members.js';
import { repositoryOf } from '../../repository/create-repository.js';
import { historyParameters, typeHistoryParameters } from '../../repository/history-parameters.js';
import { patientEverything } from '../../repository/patient-everything.js';
import { readSubset } from '../../repository/search/result-parameters.js';
import { subsetOf } from '../../repository/search/subset.js';
import { FORMAT_PARAMETERS } from '../../search/parse/parse-search.js';
import { parseQueryString } from '../../search/parse/search-pairs.js';
import type { Answer } from '../exchange/answer.js';
import {
  boundedContextOf,
  type CallerExchange,
  type Exchange,
  memberUrl,
  repositoryFor,
  type Route,
  withAddresses,
} from '../exchange/exchange.js';
import { parseBodyJson, withBody } from '../exchange/read-body.js';
import { bodyText, requireMediaType } from '../read-body.js';
import { answerResource, answerUnlessCurrent } from './answer-resource.js';

export const READ_ROUTES: readonly Route[] = [
  {
    group: 'read',
    method: 'GET',
    root: 'fhir',
    path: ':type/:id',
    parameters: 'any',
    async answer(exchange) {
      const { type, id } = exchange.path;
      const subset = await parametersOf(exchange, 'read', () => subsetFor(exchange));
      const resource = (await repositoryOf(repositoryFor(exchange)).read(type as never, id)) as AnyResource;
      return answerUnlessCurrent(exchange, subset === undefined ? resource : subset(resource));
    },
  },
  {
    group: 'read',
    method: 'GET',
    root: 'fhir',
    path: ':type/:id/_history/:version',
    parameters: 'any',
    async answer(exchange) {
      const { type, id, version } = exchange.path;
      const repository = repositoryOf(repositoryFor(exchange));
      return answerUnlessCurrent(exchange, await repository.vread(type as never, id, version));
    },
  },
  {
    group: 'history',
    method: 'GET',
    root: 'fhir',
    path: ':type/:id/_history',
    parameters: 'checked',
    async answer(exchange) {
      const { type, id } = exchange.path;
      const page = await parametersOf(exchange, 'history', () => historyParameters(exchange.url.searchParams));
      return answerResource(await repositoryOf(repositoryFor(exchange)).history(type as never, id, page));
    },
  },
  {
    group: 'history',
    method: 'GET',
    root: 'fhir',
    path: ':type/_history',
    parameters: 'checked',
    async answer(exchange) {
      const { type } = exchange.path;
      const page = await parametersOf(exchange, 'history', () => typeHistoryParameters(exchange.url.searchParams));
      return answerResource(await repositoryOf(repositoryFor(exchange)).typeHistory(type as never, page));
    },
  },
  {
    group: 'search',
    method: 'GET',
    root: 'fhir',
    path: ':type',
    parameters: 'checked',
    answer: (exchange) => search(exchange, exchange.url.searchParams),
  },
  {
    group: 'search',
    method: 'POST',
    root: 'fhir',
    path: ':type/_search',
    parameters: 'checked',
    async answer(exchange) {
      const body = bodyText(await withBody(exchange)) ?? '';
      // Without a body, all parameters are in the URL.
      if (body !== '') requireMediaType(exchange.request, ['application/x-www-form-urlencoded']);
      return search(exchange, new URLSearchParams([...exchange.url.searchParams, ...parseQueryString(body)]));
    },
  },
  {
    group: 'operations',
    method: 'GET',
    root: 'fhir',
    path: 'Patient/:id/$everything',
    parameters: 'checked',
    answer: (exchange) => everything(exchange, exchange.url.searchParams),
  },
  {
    group: 'operations',
    method: 'POST',
    root: 'fhir',
    path: 'Patient/:id/$everything',
    parameters: 'checked',
    async answer(exchange) {
      return everything(exchange, new URLSearchParams([...exchange.url.searchParams, ...(await inBody(exchange))]));
    },
  },
];

/** Reads what a request states. A refusal of it has an audit record, like each other one of its interaction. */
export async function parametersOf<Parameters>(
  exchange: CallerExchange,
  interaction: RestInteraction,
  read: () => Parameters | Promise<Parameters>,
): Promise<Parameters> {
  try {
    return await read();
  } catch (error) {
    const { type, id } = exchange.path;
    return repositoryFor(exchange).interact(interaction, id === '' ? { type } : { type, id }, () => {
      throw error;
    });
  }
}

/**
 * How `_elements` and `_summary` reduce a resource; undefined if the request has neither.
 *
 * @throws FhirError `invalid` - an unknown element or summary
 */
export function subsetFor({ settings, path, url }: Exchange): ((resource: AnyResource) => object) | undefined {
  const { model } = settings.store;
  const subset = readSubset(model, path.type, url.searchParams);
  return subset && ((resource) => subsetOf(model, resource, subset));
}

async function search(exchange: CallerExchange, parameters: URLSearchParams): Promise<Answer> {
  const { type } = exchange.path;
  if (type === 'ProjectMembership') {
    const address = `${trimBaseUrl(exchange.settings.baseUrl)}/ProjectMembership`;
    return answerMembers(exchange, exchange.caller.project, parameters, address);
  }
  return answerResource(await repositoryOf(repositoryFor(exchange)).search(type as never, parameters));
}

/**
 * The members of a project.
 *
 * @param address the URL of the search, without parameters
 */
export async function answerMembers(
  exchange: CallerExchange,
  project: string,
  parameters: URLSearchParams,
  address: string,
): Promise<Answer> {
  const pairs = [...parameters].filter(([name]) => !FORMAT_PARAMETERS.has(name));
  const found = await searchMembers(project, new URLSearchParams(pairs), boundedContextOf(exchange));
  return answerResource(withAddresses(found, address, (id) => memberUrl(exchange, project, id)));
}

async function everything(exchange: CallerExchange, parameters: URLSearchParams): Promise<Answer> {
  return answerResource(await patientEverything(repositoryFor(exchange), exchange.path.id, parameters));
}

/**
 * The parameters in the body of the operation, in the form of a query; a repeated `_type` is a list. See
 * https://hl7.org/fhir/R4/operations.html#request.
 *
 * @throws FhirError `invalid` - the body is not Parameters with simple values
 */
async function inBody(exchange: CallerExchange): Promise<Map<string, string>> {
  const request = await withBody(exchange);
  const values = new Map<string, string>();
  if ((request.body as Uint8Array).length === 0) return values;
  const body = parseBodyJson(exchange, request);
  if (!isJsonObject(body) || body['resourceType'] !== 'Parameters') throw notParameters();
  const { parameter = [] } = body;
  if (!Array.isArray(parameter)) throw notParameters();
  for (const one of parameter as unknown[]) {
    if (!isJsonObject(one)) throw notParameters();
    const { name, ...rest } = one;
    const [value, ...others] = Object.entries(rest).filter(([key]) => key.startsWith('value'));
    const isSimple = typeof value?.[1] === 'string' || typeof value?.[1] === 'number';
    if (typeof name !== 'string' || !isSimple || others.length > 0) throw notParameters();
    const before = values.get(name);
    if (before !== undefined && name !== '_type') {
      throw new FhirError('invalid', `"${name.slice(0, 40)}" may be given once`);
    }
    values.set(name, before === undefined ? String(value[1]) : `${before},${String(value[1])}`);
  }
  return values;
}

function notParameters(): FhirError {
  return new FhirError('invalid', 'The body of $everything must be Parameters, each with a name and one simple value');
}
