import type { RestInteraction } from '../../audit/audit-record.js';
import type { AnyResource } from '../../fhir/resource.js';
import { repositoryOf } from '../../repository/create-repository.js';
import { historyParameters, typeHistoryParameters } from '../../repository/history-parameters.js';
import { readSubset } from '../../repository/search/result-parameters.js';
import { subsetOf } from '../../repository/search/subset.js';
import { type CallerExchange, type Exchange, repositoryFor } from '../exchange/exchange.js';
import type { Route } from '../exchange/route.js';
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
