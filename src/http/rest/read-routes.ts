import type { RestInteraction } from '../../audit/audit-record.js';
import type { AnyResource } from '../../fhir/resource.js';
import { searchMembers } from '../../projects/members/search-members.js';
import { repositoryOf } from '../../repository/create-repository.js';
import { historyParameters, typeHistoryParameters } from '../../repository/history-parameters.js';
import { compartmentPair, everything, type RecordOwner } from '../../repository/everything.js';
import { readSubset } from '../../repository/search/result-parameters.js';
import { searchTypes } from '../../repository/search-types.js';
import { subsetOf } from '../../repository/search/subset.js';
import { subscriptionStatus } from '../../repository/subscription-status.js';
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
import { readOperation, withBody } from '../exchange/read-body.js';
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
    group: 'history',
    method: 'GET',
    root: 'fhir',
    path: '_history',
    parameters: 'checked',
    async answer(exchange) {
      const page = await parametersOf(exchange, 'history', () => typeHistoryParameters(exchange.url.searchParams));
      return answerResource(await repositoryOf(repositoryFor(exchange)).systemHistory(page));
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
    answer: async (exchange) => search(exchange, await posted(exchange)),
  },
  inCompartment('Patient'),
  inCompartment('Encounter'),
  {
    group: 'search',
    method: 'GET',
    root: 'fhir',
    path: '',
    parameters: 'checked',
    answer: (exchange) => inTypes(exchange, exchange.url.searchParams),
  },
  {
    group: 'search',
    method: 'POST',
    root: 'fhir',
    path: '_search',
    parameters: 'checked',
    answer: async (exchange) => inTypes(exchange, await posted(exchange)),
  },
  ...['Subscription/$status', 'Subscription/:id/$status'].flatMap((path) =>
    (['GET', 'POST'] as const).map((method): Route => ({
      group: 'operations',
      method,
      root: 'fhir',
      path,
      parameters: 'checked',
      async answer(exchange) {
        const { id } = exchange.path;
        const parameters = await readOperation(exchange);
        return answerResource(
          await subscriptionStatus(repositoryFor(exchange), id === '' ? undefined : id, parameters),
        );
      },
    })),
  ),
  // See https://hl7.org/fhir/R4/patient-operation-everything.html and encounter-operation-everything.html.
  ...(['Patient', 'Encounter'] as const).flatMap((type) =>
    (['GET', 'POST'] as const).map((method): Route => ({
      group: 'operations',
      method,
      root: 'fhir',
      path: `${type}/:id/$everything`,
      parameters: 'checked',
      async answer(exchange) {
        const parameters = await readOperation(exchange);
        return answerResource(await everything(repositoryFor(exchange), { type, id: exchange.path.id }, parameters));
      },
    })),
  ),
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

/** The compartments that `$everything` has. */
function inCompartment(owner: RecordOwner['type']): Route {
  return {
    group: 'search',
    method: 'GET',
    root: 'fhir',
    path: `${owner}/:id/:type`,
    parameters: 'checked',
    answer(exchange) {
      const { type, id } = exchange.path;
      const pair = compartmentPair(exchange.settings.store.model, { type: owner, id }, type);
      return search(exchange, new URLSearchParams([[...pair], ...exchange.url.searchParams]));
    },
  };
}

async function inTypes(exchange: CallerExchange, parameters: URLSearchParams): Promise<Answer> {
  const pairs = [...parameters].filter(([name]) => !FORMAT_PARAMETERS.has(name));
  return answerResource(await searchTypes(repositoryFor(exchange), new URLSearchParams(pairs)));
}

/** The parameters in the URL and the body. */
async function posted(exchange: CallerExchange): Promise<URLSearchParams> {
  const body = bodyText(await withBody(exchange)) ?? '';
  // Without a body, all parameters are in the URL.
  if (body !== '') requireMediaType(exchange.request, ['application/x-www-form-urlencoded']);
  return new URLSearchParams([...exchange.url.searchParams, ...parseQueryString(body)]);
}

async function search(exchange: CallerExchange, parameters: URLSearchParams): Promise<Answer> {
  const { type } = exchange.path;
  if (type === 'ProjectMembership') {
    const address = `${exchange.settings.baseUrl}/ProjectMembership`;
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
