import { parseReference } from '../../fhir/reference.js';
import type { AnyResource } from '../../fhir/resource.js';
import { encodeBase64 } from '../../platform/base64.js';
import { isAscii, mediaTypeOf } from '../http-types.js';
import { HttpRequestError } from '../http-request-error.js';
import type { Exchange } from './exchange.js';
import { readBody } from './read-body.js';

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
export async function readRawBinary(exchange: Exchange): Promise<AnyResource> {
  const { request, settings, path } = exchange;
  const contentType = request.headers.get('content-type')!.trim();
  if (!isMediaType(contentType)) throw new HttpRequestError(415, 'The media type of the body is malformed');
  if (SIMPLE_TYPES.has(mediaTypeOf(contentType)!) && !isOfClient(request.headers)) {
    throw new HttpRequestError(
      415,
      'A body of this type needs a header that browsers never send unasked: a bearer token, or X-Requested-With',
    );
  }
  const context = request.headers.get('x-security-context')?.trim();
  if (context !== undefined && !isContext(context, settings.baseUrl)) {
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

function isContext(text: string, baseUrl: string): boolean {
  const parsed = parseReference(text, baseUrl);
  return (
    parsed !== undefined &&
    isAscii(text) &&
    (parsed.kind === 'local' || (parsed.kind === 'foreign' && URL.canParse(text)))
  );
}
