import { FhirError } from '../fhir/error.js';
import { headerOf, type HttpRequest, mediaTypeOf } from './http-types.js';
import { HttpRequestError } from './http-request-error.js';

/** The text of a body that is text or bytes; undefined for one that a parser has read already, or that is missing. */
export function bodyText({ body }: HttpRequest): string | undefined {
  if (typeof body === 'string') return body;
  if (!(body instanceof Uint8Array)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch (cause) {
    throw new FhirError('invalid', 'The body is no UTF-8', { cause });
  }
}

/**
 * The JSON of a body.
 *
 * @throws FhirError `invalid` - it is missing or no JSON
 */
export function readJsonBody(request: HttpRequest): unknown {
  const text = bodyText(request);
  if (text === undefined) {
    if (request.body !== undefined && request.body !== null) return request.body;
    throw new FhirError('invalid', 'The request has no body');
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    // What the parser says quotes the body.
    throw new FhirError('invalid', 'The body is no JSON', { cause });
  }
}

/**
 * The media type of a body, one of those expected.
 *
 * @throws HttpRequestError 415
 */
export function requireMediaType(request: HttpRequest, expected: readonly string[]): string {
  const header = headerOf(request, 'content-type');
  const type = mediaTypeOf(header);
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(header ?? '')?.[1]?.toLowerCase();
  if (type !== undefined && expected.includes(type) && (charset === undefined || /^utf-?8$/.test(charset))) return type;
  throw new HttpRequestError(415, `The body must be ${expected.join(' or ')}, in UTF-8`, {
    accept: expected.join(', '),
  });
}
