import { parseConcurrency } from '../../access/limits/call-limits.js';
import { assertRoomInLine } from '../../access/turns/in-turn.js';
import { FhirError } from '../../fhir/error.js';
import { quote } from '../../fhir/messages.js';
import { parseReference } from '../../fhir/reference.js';
import { type AnyResource, DEFAULT_RESOURCE_VALUES, isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { encodeBase64 } from '../../platform/bytes.js';
import { FORMAT_PARAMETERS } from '../../search/parse/parse-search.js';
import { type HttpRequest, HttpRequestError, isAscii, mediaTypeOf } from '../http-types.js';
import { readBoundedBody, readBundleBody, readJsonBody, requireMediaType } from '../read-body.js';
import type { CallerExchange, Exchange } from './exchange.js';

/**
 * The body of the request. If the queue of its project is full, the request is refused before its body is read, and
 * again before the body is parsed, because parsing a long body takes as long as many short requests.
 *
 * @throws FhirError `throttled` - too many requests wait
 * @throws HttpRequestError 413, 415
 */
async function readBody({ request, settings, caller, time }: Exchange): Promise<Uint8Array> {
  const { store, limits, maxBodyBytes } = settings;
  const turn = { store, caller, concurrency: parseConcurrency(limits?.concurrency) };
  assertRoomInLine(turn);
  const body = await readBoundedBody(request, maxBodyBytes);
  assertRoomInLine(turn);
  // The time limit begins here: from now on the service works, not the sender.
  time.began = performance.now();
  return body;
}

const JSON_TYPES = ['application/fhir+json', 'application/json'];

/** The request with its body read, as the functions for any framework take it. */
export async function withBody(exchange: Exchange): Promise<HttpRequest> {
  const { method, url, headers } = exchange.request;
  return { method, url, headers, body: await readBody(exchange) };
}

/**
 * The JSON of the body. A media type is required: browsers send bodies without one to other origins without a
 * preflight.
 *
 * @throws HttpRequestError 413, 415
 * @throws FhirError `invalid` - not JSON; `too-costly` - more values than a resource may have
 */
export async function readJson(exchange: Exchange, types: readonly string[] = JSON_TYPES): Promise<unknown> {
  requireMediaType(exchange.request, types);
  return readJsonBody(await withBody(exchange), maxValuesOf(exchange));
}

/** {@link readJson} of a body that was read to see whether there is one. */
function parseBodyJson(exchange: Exchange, request: HttpRequest): unknown {
  requireMediaType(exchange.request, JSON_TYPES);
  return readJsonBody(request, maxValuesOf(exchange));
}

/** @throws FhirError `invalid` - not a JSON object */
export async function readJsonObject(exchange: Exchange): Promise<JsonObject> {
  return asJsonObject(await readJson(exchange));
}

/** A Bundle whose entries are resources of their own. @throws as {@link readJsonObject} */
export async function readBundle(exchange: Exchange): Promise<JsonObject> {
  requireMediaType(exchange.request, JSON_TYPES);
  return asJsonObject(await readBundleBody(await withBody(exchange), maxValuesOf(exchange)));
}

function asJsonObject(body: unknown): JsonObject {
  if (isJsonObject(body)) return body;
  throw new FhirError('invalid', 'The body must be a JSON object');
}

function maxValuesOf({ settings }: Exchange): number {
  return settings.store.maxResourceValues ?? DEFAULT_RESOURCE_VALUES;
}

/**
 * The resource in the body, or a Binary with the body as its content.
 *
 * @throws FhirError `invalid` - it is not of the type that the path names
 */
export async function readResourceBody(exchange: Exchange): Promise<AnyResource> {
  if (isRawBinary(exchange)) return readRawBinary(exchange);
  const { type, id } = exchange.path;
  const body = await readJsonObject(exchange);
  if (body['resourceType'] !== type) throw new FhirError('invalid', `The body must be a ${type}, as the URL says`);
  if (id !== '' && body['id'] !== id) {
    throw new FhirError('invalid', `The ${type} of the body must have the id of the URL`);
  }
  return body as unknown as AnyResource;
}

/**
 * Whether the body is the content of a Binary: any media type except FHIR's own, with which the body is the Binary
 * itself. See https://hl7.org/fhir/R4/binary.html#rest.
 */
export function isRawBinary({ path, request }: Exchange): boolean {
  const type = mediaTypeOf(request.headers.get('content-type') ?? undefined);
  return path.type === 'Binary' && type !== undefined && !/^application\/fhir\+(?:json|xml)$/.test(type);
}

/**
 * The Binary with the body as its content.
 *
 * @throws HttpRequestError 400 - `X-Security-Context` is not a reference
 * @throws HttpRequestError 413 - the body is too long
 * @throws HttpRequestError 415 - the media type is malformed, or browsers may have sent the body for another site
 */
async function readRawBinary(exchange: Exchange): Promise<AnyResource> {
  const { request, path } = exchange;
  const contentType = request.headers.get('content-type')!.trim();
  if (!isMediaType(contentType)) throw new HttpRequestError(415, 'The media type of the body is malformed');
  if (SIMPLE_TYPES.has(mediaTypeOf(contentType)!) && !isOfClient(request.headers)) {
    throw new HttpRequestError(
      415,
      'A body of this type needs a header that browsers never send unasked: a bearer token, or X-Requested-With',
    );
  }
  const context = request.headers.get('x-security-context')?.trim();
  if (context !== undefined && !isContext(context)) {
    throw new HttpRequestError(400, 'X-Security-Context must be a reference such as Patient/1');
  }
  const bytes = await readBody(exchange);
  return {
    resourceType: 'Binary',
    ...(path.id === '' ? {} : { id: path.id }),
    contentType,
    ...(context === undefined ? {} : { securityContext: { reference: context } }),
    ...(bytes.length === 0 ? {} : { data: encodeBase64(bytes) }),
  } as AnyResource;
}

/** True for a well-formed media type. */
export function isMediaType(text: string): boolean {
  return text.length <= MAX_TYPE_LENGTH && /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+ *(?:;[\x20-\x7e]*)?$/.test(text);
}

const MAX_TYPE_LENGTH = 256;

/** Media types that browsers send to other origins without a preflight. See docs/how-to/csrf-and-cors.md. */
const SIMPLE_TYPES: ReadonlySet<string> = new Set([
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
]);

/**
 * True for a request with a header that a page of another site cannot send without a preflight. Browsers attach Basic
 * credentials by themselves.
 */
function isOfClient(headers: Headers): boolean {
  const isBearer = /^bearer /i.test(headers.get('authorization') ?? '');
  return isBearer || ['x-requested-with', 'x-medplum', 'x-security-context'].some((name) => headers.has(name));
}

function isContext(text: string): boolean {
  const parsed = parseReference(text);
  return (
    parsed !== undefined &&
    isAscii(text) &&
    (parsed.kind === 'local' || (parsed.kind === 'foreign' && URL.canParse(text)))
  );
}

/**
 * The parameters of an operation with simple values: those of the URL, and those in the body of a POST, in the form of a
 * query. A repeated `_type`, `id` or `status` is a list. See https://hl7.org/fhir/R4/operations.html#request.
 *
 * @param names the parameters of the operation; undefined: it checks them itself
 * @throws FhirError `invalid` - an unknown parameter, one that is given twice, or a body that is not Parameters with
 * simple values
 */
export async function readOperation(exchange: CallerExchange, names?: readonly string[]): Promise<URLSearchParams> {
  const parameters = new URLSearchParams([...exchange.url.searchParams, ...(await inBody(exchange))]);
  if (names === undefined) return parameters;
  for (const name of parameters.keys()) {
    if (FORMAT_PARAMETERS.has(name)) continue;
    if (!names.includes(name)) throw new FhirError('invalid', `Unknown parameter ${quote(name)} of the operation`);
    if (parameters.getAll(name).length > 1) throw givenTwice(name);
  }
  return parameters;
}

async function inBody(exchange: CallerExchange): Promise<Map<string, string>> {
  const values = new Map<string, string>();
  if (exchange.request.method !== 'POST') return values;
  const request = await withBody(exchange);
  if ((request.body as Uint8Array).length === 0) return values;
  const body = parseBodyJson(exchange, request);
  if (!isJsonObject(body) || body['resourceType'] !== 'Parameters') throw notParameters();
  const { parameter = [] } = body;
  if (!Array.isArray(parameter)) throw notParameters();
  for (const one of parameter as unknown[]) {
    if (!isJsonObject(one)) throw notParameters();
    for (const [name, value] of simpleValues(one)) {
      const before = values.get(name);
      if (before !== undefined && !LISTS.has(name)) throw givenTwice(name);
      values.set(name, before === undefined ? value : `${before},${value}`);
    }
  }
  return values;
}

/** The parameters that an operation can have several times. */
const LISTS: ReadonlySet<string> = new Set(['_type', 'id', 'status']);

/** A Coding counts as its system, code and display. */
function simpleValues({ name, ...rest }: { readonly [name: string]: unknown }): readonly (readonly [string, string])[] {
  const [value, ...others] = Object.entries(rest).filter(([key]) => key.startsWith('value'));
  if (typeof name !== 'string' || value === undefined || others.length > 0) throw notParameters();
  const [key, content] = value;
  if (key === 'valueCoding' && name === 'coding' && isJsonObject(content)) {
    return Object.entries(content).flatMap(([part, text]) => (typeof text === 'string' ? [[part, text] as const] : []));
  }
  if (!['string', 'number', 'boolean'].includes(typeof content)) throw notParameters();
  return [[name, String(content)]];
}

function givenTwice(name: string): FhirError {
  return new FhirError('invalid', `${quote(name)} may be given once`);
}

function notParameters(): FhirError {
  return new FhirError(
    'invalid',
    'The body of the operation must be Parameters, each with a name and one simple value',
  );
}
