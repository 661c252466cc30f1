import { FhirError } from '../../fhir/error.js';
import { type AnyResource, DEFAULT_RESOURCE_VALUES, isJsonObject, type JsonObject } from '../../fhir/resource.js';
import type { HttpRequest } from '../http-types.js';
import { readBundleBody, readJsonBody, requireMediaType } from '../read-body.js';
import type { Exchange } from './exchange.js';
import { readBody } from './read-body.js';
import { isRawBinary, readRawBinary } from './raw-binary.js';

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
export function parseBodyJson(exchange: Exchange, request: HttpRequest): unknown {
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
