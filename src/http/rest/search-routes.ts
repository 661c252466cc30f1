import { trimBaseUrl } from '../../fhir/reference.js';
import { searchMembers } from '../../projects/members/search-members.js';
import { repositoryOf } from '../../repository/create-repository.js';
import { FORMAT_PARAMETERS } from '../../search/parse/parse-search.js';
import { parseQueryString } from '../../search/parse/search-pairs.js';
import type { Answer } from '../exchange/answer.js';
import { type CallerExchange, boundedContextOf, repositoryFor } from '../exchange/exchange.js';
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
      requireMediaType(exchange.request, ['application/x-www-form-urlencoded']);
      const body = bodyText(await withBody(exchange)) ?? '';
      return search(exchange, new URLSearchParams([...exchange.url.searchParams, ...parseQueryString(body)]));
    },
  },
];

async function search(exchange: CallerExchange, parameters: URLSearchParams): Promise<Answer> {
  const { type } = exchange.path;
  if (type === 'ProjectMembership') return answerMembers(exchange, exchange.caller.project, parameters);
  return answerResource(await repositoryOf(repositoryFor(exchange)).search(type as never, parameters));
}

/** The members of a project, with links that clients can follow as they are. */
export async function answerMembers(
  exchange: CallerExchange,
  project: string,
  parameters: URLSearchParams,
): Promise<Answer> {
  const pairs = [...parameters].filter(([name]) => !FORMAT_PARAMETERS.has(name));
  const found = await searchMembers(project, new URLSearchParams(pairs), boundedContextOf(exchange));
  const base = trimBaseUrl(exchange.settings.baseUrl);
  const link = found.link?.map(({ relation, url }) => ({ relation, url: `${base}/${url}` }));
  const entry = found.entry?.map((one) =>
    one.resource?.resourceType === 'ProjectMembership'
      ? { fullUrl: `${base}/ProjectMembership/${one.resource.id}`, ...one }
      : one,
  );
  return answerResource({ ...found, ...(link && { link }), ...(entry && { entry }) });
}
