import { ERROR_CODES, maskError } from '../fhir/error.js';
import { stringifyJson, stringifyResult } from '../fhir/json/stringify-json.js';
import { isJsonObject } from '../fhir/resource.js';
import { errorCodeOf } from '../graphql/documents/documents.js';
import type { FhirGraphqlResult } from '../graphql/execute-fhir-graphql.js';
import {
  headerOf,
  type HttpRequest,
  HttpRequestError,
  type HttpResponse,
  retryHeaders,
  versionHeaders,
} from './http-types.js';
import { acceptedTypes, preferredJson } from './negotiate.js';

/** Options of a response. */
export interface ResponseOptions {
  /** The request; its `Accept` chooses the media type of a GraphQL response. */
  readonly request?: Pick<HttpRequest, 'headers'> | undefined;
  /** Status of a successful result. Default 200; 204 for undefined and null. */
  readonly status?: number | undefined;
  /** Additional headers, such as `location`, in lower case. */
  readonly headers?: { readonly [name: string]: string } | undefined;
}

const GRAPHQL_RESPONSE = 'application/graphql-response+json';
const FHIR_JSON = 'application/fhir+json';

/**
 * Creates the HTTP response for the result or error of a call: a GraphQL result, a resource or Bundle, another result
 * as JSON, an error. It writes the body at once, which takes about 10 ms per megabyte; `createFhirHandler` lets other
 * work run between the parts of a long body. Decimals keep the digits they arrived with (`1.00`); see `stringifyJson`.
 *
 * | given | status | body |
 * |---|---|---|
 * | GraphQL result, accepted as `application/json` | 200; 401, 429 and 5xx if such an error prevented any data | the result |
 * | GraphQL result, accepted as `application/graphql-response+json` | 200 with data, else that of the error | the result |
 * | GraphQL result of a mutation that was sent by GET | 405 with `allow: POST` | the result |
 * | resource | 200 | the resource, with `etag` and `last-modified` of its version |
 * | undefined, null | 204 | none |
 * | `FhirError` | its own | its OperationOutcome |
 * | any other error | 500 | an OperationOutcome without its details |
 *
 * See https://hl7.org/fhir/R4/http.html and https://graphql.github.io/graphql-over-http/draft/.
 *
 * @param result an `Error`, or any successful result
 */
export function toHttpResponse(result: unknown, options: ResponseOptions = {}): HttpResponse {
  if (result instanceof Error) return errorResponse(result, options);
  if (result === undefined || result === null)
    return { status: options.status ?? 204, headers: { ...options.headers }, body: '' };
  if (isResource(result)) {
    return send(options.status ?? 200, FHIR_JSON, stringifyJson(result), {
      ...versionHeaders(result),
      ...options.headers,
    });
  }
  if (isGraphqlResult(result)) return { ...graphqlAnswer(result, options), body: stringifyResult(result) };
  return send(options.status ?? 200, 'application/json', stringifyJson(result), options.headers);
}

function errorResponse(error: Error, { request, headers }: ResponseOptions): HttpResponse {
  const known = maskError(error);
  const more =
    known instanceof HttpRequestError
      ? known.headers
      : known.status === 401
        ? CHALLENGE
        : retryHeaders(known.detailsOf('throttled'));
  if (request !== undefined && acceptsOnlyGraphql(request)) {
    const { code, details, message, outcome } = known;
    const extensions = { code, ...(details === undefined ? {} : { details }), resource: outcome };
    const body = { errors: [{ message, extensions }] };
    return send(known.status, GRAPHQL_RESPONSE, JSON.stringify(body), { ...more, ...headers });
  }
  return send(known.status, FHIR_JSON, JSON.stringify(known.outcome), { ...more, ...headers });
}

/** Of a request without a token: it says no more than the scheme. See https://www.rfc-editor.org/rfc/rfc6750#section-3. */
const CHALLENGE = { 'www-authenticate': 'Bearer' };

/** The response to a GraphQL result, except its body. */
export function graphqlAnswer(
  result: FhirGraphqlResult,
  { request, headers, status }: ResponseOptions,
): Pick<HttpResponse, 'status' | 'headers'> {
  const wantsGraphql = request !== undefined && prefersGraphql(headerOf(request, 'accept') ?? '');
  const failed = result.data === undefined || result.data === null ? result.errors?.[0] : undefined;
  const code = failed === undefined ? undefined : errorCodeOf(failed.extensions.code);
  // A mutation by GET: https://graphql.github.io/graphql-over-http/draft/#sec-GET.
  if (code === 'forbidden' && failed?.extensions.details?.['readonly'] === true) {
    const type = wantsGraphql ? GRAPHQL_RESPONSE : 'application/json';
    return head(status ?? 405, type, { allow: 'POST', ...headers });
  }
  const own = code === undefined ? 200 : ERROR_CODES[code].status;
  // Older clients treat any other status as a network failure and never read the errors.
  const sent = wantsGraphql || own === 401 || own === 429 || own >= 500 ? own : 200;
  const more = own === 401 ? CHALLENGE : own === 429 ? retryHeaders(failed?.extensions.details) : {};
  return head(status ?? sent, wantsGraphql ? GRAPHQL_RESPONSE : 'application/json', { ...more, ...headers });
}

/** Whether the newer media type has at least the weight of plain JSON. */
function prefersGraphql(accept: string): boolean {
  const weights = acceptedTypes(accept);
  const graphql = weights.get(GRAPHQL_RESPONSE) ?? 0;
  return graphql > 0 && graphql >= (weights.get('application/json') ?? 0);
}

function acceptsOnlyGraphql(request: Pick<HttpRequest, 'headers'>): boolean {
  return headerOf(request, 'accept')?.trim().toLowerCase().startsWith(GRAPHQL_RESPONSE) === true;
}

function isResource(value: unknown): value is { readonly resourceType: string; readonly meta?: unknown } {
  return isJsonObject(value) && typeof value['resourceType'] === 'string';
}

function isGraphqlResult(value: unknown): value is FhirGraphqlResult {
  if (!isJsonObject(value)) return false;
  const names = Object.keys(value);
  return ('data' in value || 'errors' in value) && names.every((name) => RESULT_MEMBERS.has(name));
}

const RESULT_MEMBERS: ReadonlySet<string> = new Set(['data', 'errors', 'extensions']);

function send(status: number, type: string, body: string, headers: ResponseOptions['headers']): HttpResponse {
  return { ...head(status, type, headers), body };
}

function head(
  status: number,
  type: string,
  headers: ResponseOptions['headers'],
): Pick<HttpResponse, 'status' | 'headers'> {
  return { status, headers: { 'content-type': `${type}; charset=utf-8`, ...headers } };
}

// GraphQL over HTTP as its draft of 2026-08-06 says: https://graphql.github.io/graphql-over-http/draft/.

/** The media type of a response with status 2xx. All others are GraphQL's own. @throws HttpRequestError 406 */
export function graphqlFormat(accept: string | null): 'application/graphql-response+json' | 'application/json' {
  const type = preferredJson(accept, GRAPHQL_RESPONSE);
  if (type === undefined) throw new HttpRequestError(406, `GraphQL answers ${GRAPHQL_RESPONSE} or application/json`);
  return type;
}

/** The response to a result, except its body. @throws HttpRequestError 406 */
export function draftAnswer(
  result: FhirGraphqlResult,
  accept: string | null,
): Pick<HttpResponse, 'status' | 'headers'> {
  const status = statusOf(result);
  const type = status < 300 ? graphqlFormat(accept) : GRAPHQL_RESPONSE;
  const headers = {
    'content-type': `${type}; charset=utf-8`,
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    ...(status === 405 ? { allow: 'POST' } : {}),
    ...(status === 429 ? retryHeaders(result.errors?.[0]?.extensions.details) : {}),
  };
  return { status, headers };
}

function statusOf({ data, errors }: FhirGraphqlResult): number {
  const [first] = errors ?? [];
  if (first === undefined) return 200;
  if (data !== undefined) return 294;
  const { code, details } = first.extensions;
  if (code === 'forbidden' && details?.['readonly'] === true) return 405;
  const known = errorCodeOf(code);
  if (known !== 'invalid') return ERROR_CODES[known].status;
  // A syntax error is 400; all other errors of a document are 422. The prefix is that of graphql-js.
  return first.message.startsWith('Syntax Error') ? 400 : 422;
}
