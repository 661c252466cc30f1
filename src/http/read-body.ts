import { FhirError } from '../fhir/error.js';
import { assertFewValues } from '../fhir/json/json-values.js';
import { parseWithDecimals } from '../fhir/json/note-decimals.js';
import { parseBundle } from '../fhir/json/parse-bundle.js';
import { Pace } from '../platform/pace.js';
import { headerOf, type HttpRequest, mediaTypeOf } from './http-types.js';
import { HttpRequestError } from './http-request-error.js';

/** The body as text, from text or bytes; undefined for a parsed or missing body. */
export function bodyText({ body }: HttpRequest): string | undefined {
  if (typeof body === 'string') return body;
  if (!(body instanceof Uint8Array)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch (cause) {
    throw new FhirError('invalid', 'The body is not UTF-8', { cause });
  }
}

/**
 * Returns the JSON of a body. For text and bytes, decimals keep their digits as with `parseJson`; a body that a body
 * parser has parsed has only numbers.
 *
 * @param maxValues maximum number of values in text or bytes, default any
 * @throws FhirError `invalid` - the body is missing or not JSON
 * @throws FhirError `too-costly` - there are more
 */
export function readJsonBody(request: HttpRequest, maxValues = Infinity): unknown {
  const text = bodyText(request);
  if (text === undefined) return parsedBody(request);
  assertFewValues(text, maxValues, 'The body');
  try {
    return parseWithDecimals(text);
  } catch (cause) {
    throw notJson(cause);
  }
}

/** {@link readJsonBody} for a Bundle, with at most `maxValues` values in each entry. Other work runs between entries. */
export async function readBundleBody(request: HttpRequest, maxValues: number): Promise<unknown> {
  const text = bodyText(request);
  if (text === undefined) return parsedBody(request);
  try {
    return await parseBundle(text, maxValues, new Pace());
  } catch (cause) {
    throw cause instanceof FhirError ? cause : notJson(cause);
  }
}

function parsedBody({ body }: HttpRequest): unknown {
  if (body !== undefined && body !== null) return body;
  throw new FhirError('invalid', 'The request has no body');
}

/** The parser's message quotes the body. */
function notJson(cause: unknown): FhirError {
  return new FhirError('invalid', 'The body is not JSON', { cause });
}

/**
 * Asserts that the media type of the body is an expected one.
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
