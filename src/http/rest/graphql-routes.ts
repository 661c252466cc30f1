import { isOver, limitsSince } from '../../access/limits/call-limits.js';
import { FhirError } from '../../fhir/error.js';
import { executeFhirGraphql, type FhirGraphqlResult } from '../../graphql/execute-fhir-graphql.js';
import { getOperationType } from '../../graphql/documents/document-from-request.js';
import { type Limits, withDefaults } from '../../graphql/limits.js';
import { subscribeFhirGraphql } from '../../graphql/subscribe-fhir-graphql.js';
import { acceptedTypes, preferredJson } from '../negotiate.js';
import type { Answer } from '../exchange/answer.js';
import { EVENT_STREAM, eventStreamAnswer } from '../exchange/event-stream.js';
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
  const { profiles, audit, requireAudit, fields, types, graphqlOverHttp: draft } = settings;
  const { headers } = exchange.request;
  // HEAD is GET without the body of its answer.
  const method = exchange.request.method === 'HEAD' ? 'GET' : exchange.request.method;
  const accept = headers.get('accept');
  if (draft !== undefined && accept?.includes(EVENT_STREAM) !== true) graphqlFormat(accept);
  const http = method === 'GET' ? { method, headers, url: exchange.request.url } : await withBody(exchange);
  const bounds = withDefaults(settings.limits);
  const request = draft === undefined ? readHttpRequest(http, bounds) : readByDraft(http, bounds);
  const limits = isOver(1, time) ? limitsSince(settings.limits ?? {}, time) : settings.limits;
  const focus = path.type === '' ? undefined : `${path.type}/${path.id}`;
  const context = {
    ...{ store, dialect, limits, documents, introspection, resolveIdentifiers, resolveReference },
    ...{ profiles, audit, requireAudit, fields, types },
    ...request,
    ...stated,
    ...{ focus, caller, signal, onError: report },
  };
  const kind = typeof request.query === 'string' ? getOperationType(request.query, request.operationName) : undefined;
  const isStream = asksForStream(accept, kind);
  if (isStream && kind !== 'query' && kind !== 'mutation') {
    const after = headers.get('last-event-id') ?? undefined;
    const results = await subscribeFhirGraphql(request.query, { ...context, after });
    if (Symbol.asyncIterator in results) return eventStreamAnswer(results);
    // Before the first event, failures have their status, by which EventSource does not try again.
    return { ...draftAnswer(results, null), result: results };
  }
  const result = await executeFhirGraphql(request.query, context);
  if (isStream) return eventStreamAnswer(once(result));
  const answer = draft === undefined ? graphqlAnswer(result, { request: http }) : draftAnswer(result, accept);
  return { ...answer, result };
}

/**
 * Whether the answer is a stream of events. Clients also name it beside JSON, for the case of a subscription.
 *
 * @param kind undefined: a persisted document, or a text that does not parse
 */
function asksForStream(accept: string | null, kind: ReturnType<typeof getOperationType>): boolean {
  const weights = acceptedTypes(accept ?? '');
  if ((weights.get(EVENT_STREAM) ?? 0) === 0) return false;
  return kind === 'subscription' || preferredJson(accept, 'application/graphql-response+json') === undefined;
}

/** One result as a stream. */
async function* once(result: FhirGraphqlResult): AsyncGenerator<FhirGraphqlResult> {
  yield await Promise.resolve(result);
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
