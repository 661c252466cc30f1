import { trimBaseUrl } from '../../fhir/reference.js';
import { searchMembers } from '../../projects/members/search-members.js';
import { repositoryOf } from '../../repository/create-repository.js';
import { FORMAT_PARAMETERS } from '../../search/parse/parse-search.js';
import { parseQueryString } from '../../search/parse/search-pairs.js';
import type { Answer } from '../exchange/answer.js';
import { memberUrl, withAddresses } from '../exchange/addresses.js';
import { boundedContextOf, type CallerExchange, repositoryFor } from '../exchange/exchange.js';
import { withBody } from '../exchange/read-request-body.js';
import type { Route } from '../exchange/route.js';
import { bodyText, requireMediaType } from '../read-body.js';
import { answerResource } from './answer-resource.js';

export const SEARCH_ROUTES: readonly Route[] = [
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
];

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
