import { isOver, limitsSince } from '../../access/limits/call-limits.js';
import { FhirError } from '../../fhir/error.js';
import { executeFhirGraphql } from '../../graphql/execute-fhir-graphql.js';
import { type Limits, withDefaults } from '../../graphql/limits.js';
import type { Answer } from '../exchange/answer.js';
import type { CallerExchange, Route } from '../exchange/exchange.js';
import { withBody } from '../exchange/read-body.js';
import { draftAnswer, graphqlAnswer, graphqlFormat } from '../to-http-response.js';
import { headerOf, type HttpRequest, HttpRequestError, mediaTypeOf } from '../http-types.js';
import { readJsonBody } from '../read-body.js';
import { type GraphqlRequest, maxBodyValues, readHttpRequest } from '../read-graphql-request.js';

/** The members of a GraphQL request, which a POST of `application/graphql` sends as parameters. */
const GRAPHQL_PARAMETERS = ['query', 'variables', 'operationName', 'extensions', 'documentId', 'id', 'doc_id'];

/** See https://hl7.org/fhir/R4/graphql.html. */
export const GRAPHQL_ROUTES: readonly Route[] = (['$graphql', ':type/:id/$graphql'] as const).flatMap((path) =>
  (['GET', 'POST'] as const).map((method): Route => ({
    group: 'graphql',
    method,
    root: 'fhir',
    path,
    // A POST may write.
    parameters: method === 'GET' ? 'any' : GRAPHQL_PARAMETERS,
    isGraphql: true,
    answer: answerGraphql,
  })),
);

async function answerGraphql(exchange: CallerExchange): Promise<Answer> {
  const { settings, caller, signal, path, stated, time, report } = exchange;
  const { store, dialect, documents, introspection, resolveIdentifiers, resolveReference } = settings;
  const { baseUrl, profiles, audit, requireAudit, fields, types, graphqlOverHttp: draft } = settings;
  const { headers } = exchange.request;
  // HEAD is GET without the body of its answer.
  const method = exchange.request.method === 'HEAD' ? 'GET' : exchange.request.method;
  if (draft !== undefined) graphqlFormat(headers.get('accept'));
  const http = method === 'GET' ? { method, headers, url: exchange.request.url } : await withBody(exchange);
  const bounds = withDefaults(settings.limits);
  const request = draft === undefined ? readHttpRequest(http, bounds) : readByDraft(http, bounds);
  const limits = isOver(1, time) ? limitsSince(settings.limits ?? {}, time) : settings.limits;
  const focus = path.type === '' ? undefined : `${path.type}/${path.id}`;
  const result = await executeFhirGraphql(request.query, {
    ...{ store, dialect, limits, documents, introspection, resolveIdentifiers, resolveReference, baseUrl },
    ...{ profiles, audit, requireAudit, fields, types },
    ...request,
    ...stated,
    ...{ focus, caller, signal, onError: report },
  });
  const answer =
    draft === undefined ? graphqlAnswer(result, { request: http }) : draftAnswer(result, headers.get('accept'));
  return { ...answer, result };
}

/** In the draft, a JSON body that is not a GraphQL request is 422. */
function readByDraft(http: HttpRequest, limits: Limits): GraphqlRequest {
  const isJson = http.method === 'POST' && mediaTypeOf(headerOf(http, 'content-type'))?.endsWith('json') === true;
  const request = isJson ? { ...http, body: readJsonBody(http, maxBodyValues(limits)) } : http;
  try {
    return readHttpRequest(request, limits);
  } catch (error) {
    if (error instanceof HttpRequestError || !(error instanceof FhirError)) throw error;
    throw new HttpRequestError(422, error.message);
  }
}
