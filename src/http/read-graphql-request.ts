import { FhirError } from '../fhir/error.js';
import { parseWithDecimals } from '../fhir/json/parse-json.js';
import { isJsonObject } from '../fhir/resource.js';
import type { PersistedDocument } from '../graphql/documents/documents.js';
import { documentFromRequest, getOperationType } from '../graphql/documents/document-from-request.js';
import { DEFAULT_LIMITS, type Limits, SIZE_PER_VALUE } from '../graphql/limits.js';
import { type HttpRequest, HttpRequestError, isAscii } from './http-types.js';
import { assertReadableQuery } from '../search/parse/search-pairs.js';
import { bodyText, MAX_BODY_BYTES, readBoundedBody, readJsonBody, requireMediaType } from './read-body.js';

/** A parsed GraphQL request, ready for `executeFhirGraphql(request.query, { ...request, store, caller })`. */
export interface GraphqlRequest {
  /** The query text, or the id of a persisted document. */
  readonly query: string | PersistedDocument;
  readonly variables: { readonly [name: string]: unknown } | undefined;
  readonly operationName: string | undefined;
  /** `Patient/123` for a request to `/Patient/123/$graphql`. */
  readonly focus: string | undefined;
  /** True for a GET, which must not change data: mutations are rejected, including persisted ones. */
  readonly readonly: boolean;
}

const JSON_TYPES = ['application/json', 'application/fhir+json', 'application/graphql-response+json'];
const TEXT_TYPE = 'application/graphql';

/**
 * Reads a GraphQL request: `POST` with JSON (`query`, `variables`, `operationName`, `extensions`) or with the query as
 * `application/graphql`, `GET` with these as parameters. See https://hl7.org/fhir/R4/graphql.html and
 * https://graphql.github.io/graphql-over-http/draft/. The wire names of persisted documents are those of
 * `documentFromRequest`.
 *
 * Limit the body size in the framework's body parser; 5 MB are plenty. For a web `Request`, the result is a promise,
 * and at most 16 MiB are read. Text and bytes have at most 51,000 values; `createFhirHandler` takes as many as its
 * `limits.variablesSize` allows.
 *
 * @throws FhirError `invalid` - the URL, the body or a parameter is malformed, or there is no query
 * @throws HttpRequestError 405 for other methods, and for a mutation by `GET`; 415 for other bodies; 413 for a `Request`
 * with a longer body
 * @throws FhirError `too-costly` - too many values
 *
 * @example
 * app.post('/fhir/R4/$graphql', async (req, res) => {
 *   const request = readGraphqlRequest(req);
 *   const result = await executeFhirGraphql(request.query, { ...request, store, caller });
 *   const { status, headers, body } = toHttpResponse(result, { request: req });
 *   res.status(status).set(headers).send(body);
 * });
 */
export function readGraphqlRequest(request: Request): Promise<GraphqlRequest>;
export function readGraphqlRequest(request: HttpRequest): GraphqlRequest;
export function readGraphqlRequest(request: HttpRequest | Request): GraphqlRequest | Promise<GraphqlRequest> {
  return isWebRequest(request) ? readWebRequest(request) : readHttpRequest(request);
}

/** A `Request` of this or another realm, with a stream as its body. */
function isWebRequest(request: HttpRequest | Request): request is Request {
  return typeof (request as Partial<Request>).arrayBuffer === 'function';
}

async function readWebRequest(request: Request): Promise<GraphqlRequest> {
  const { method, url, headers } = request;
  const body = method === 'POST' ? await readBoundedBody(request, MAX_BODY_BYTES) : undefined;
  return readHttpRequest({ method, url, headers, body });
}

/** {@link readGraphqlRequest} of a request with its body. @param limits of the variables */
export function readHttpRequest(request: HttpRequest, limits = DEFAULT_LIMITS): GraphqlRequest {
  const method = (request.method ?? 'POST').toUpperCase();
  if (method !== 'POST' && method !== 'GET') {
    throw new HttpRequestError(405, 'GraphQL takes POST and GET', { allow: 'GET, POST' });
  }
  const url = isAscii(request.url ?? '') ? URL.parse(request.url ?? '', 'http://localhost') : null;
  if (url === null) throw new FhirError('invalid', 'The URL of the request is malformed');
  assertReadableQuery(url.search);
  const parameters = method === 'GET' ? fromQuery(url.searchParams) : fromBody(request, url.searchParams, limits);
  assertObject(parameters, 'extensions');
  const query = documentFromRequest(parameters);
  if (query === undefined || query === '') {
    throw new FhirError('invalid', 'The request holds no "query", nor the id of a persisted document');
  }
  const operationName = textOf(parameters, 'operationName');
  const readonly = method === 'GET';
  if (readonly && typeof query === 'string' && getOperationType(query, operationName) === 'mutation') {
    throw new HttpRequestError(405, 'A mutation must be sent by POST', { allow: 'POST' });
  }
  return { query, variables: variablesOf(parameters), operationName, focus: focusOf(url.pathname), readonly };
}

type Parameters = { readonly [name: string]: unknown };

function fromQuery(search: URLSearchParams): Parameters {
  const parameters: { [name: string]: unknown } = Object.fromEntries(search);
  for (const name of ['variables', 'extensions']) {
    const text = parameters[name];
    if (typeof text !== 'string') continue;
    try {
      parameters[name] = text === '' ? undefined : parseWithDecimals(text);
    } catch (cause) {
      throw new FhirError('invalid', `Parameter "${name}" is not JSON`, { cause });
    }
  }
  return parameters;
}

function fromBody(request: HttpRequest, search: URLSearchParams, limits: Limits): Parameters {
  if (bodyTypeOf(request) === TEXT_TYPE) {
    return { ...fromQuery(search), query: bodyText(request) ?? request.body };
  }
  const body = readJsonBody(request, maxBodyValues(limits));
  if (isJsonObject(body)) return body;
  throw new FhirError('invalid', 'The body must be a JSON object with a "query"; batches are not taken');
}

/** The most values of a body: those of the variables, and of the query, the operation's name and extensions. */
export function maxBodyValues({ variablesSize }: Limits): number {
  return variablesSize / SIZE_PER_VALUE + 1_000;
}

function bodyTypeOf(request: HttpRequest): string {
  return requireMediaType(request, [...JSON_TYPES, TEXT_TYPE]);
}

function textOf(parameters: Parameters, name: string): string | undefined {
  const value = parameters[name] ?? undefined;
  if (value === undefined || typeof value === 'string') return value;
  throw new FhirError('invalid', `"${name}" must be a string`);
}

function variablesOf(parameters: Parameters): GraphqlRequest['variables'] {
  assertObject(parameters, 'variables');
  return (parameters['variables'] ?? undefined) as GraphqlRequest['variables'];
}

function assertObject(parameters: Parameters, name: string): void {
  const value = parameters[name] ?? undefined;
  if (value !== undefined && !isJsonObject(value)) throw new FhirError('invalid', `"${name}" must be an object`);
}

function focusOf(pathname: string): string | undefined {
  const match = /\/([A-Z][A-Za-z]+)\/([A-Za-z0-9.-]{1,64})\/(?:\$|%24)graphql\/?$/.exec(pathname);
  return match === null ? undefined : `${match[1]!}/${match[2]!}`;
}
