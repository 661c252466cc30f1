import { entityTag, isJsonObject } from '../fhir/resource.js';
import { FhirError } from '../fhir/error.js';

/**
 * An HTTP request, independent of any web framework. Header names are case-insensitive; the first value of a repeated
 * header counts.
 *
 * Express, Fastify and `node:http` requests are assignable; for Fetch's `Request` see the Hono example.
 */
export interface HttpRequest {
  readonly method?: string | undefined;
  /** Path and query, or an absolute URL. */
  readonly url?: string | undefined;
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined } | Headers;
  /** The body as text, bytes, or JSON already parsed by a body parser. */
  readonly body?: unknown;
}

/** The response for a web framework to send. */
export interface HttpResponse {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: { readonly [name: string]: string };
  /** JSON text; empty if there is no body. */
  readonly body: string;
}

/** @returns undefined if the header is missing */
export function headerOf({ headers }: Pick<HttpRequest, 'headers'>, name: string): string | undefined {
  if (typeof Headers === 'function' && headers instanceof Headers) return headers.get(name) ?? undefined;
  for (const [key, value] of Object.entries(headers)) {
    if (key.toLowerCase() === name) return typeof value === 'string' ? value : (value as readonly string[])[0];
  }
  return undefined;
}

/** The media type without its parameters, in lower case; undefined if absent. */
export function mediaTypeOf(header: string | undefined): string | undefined {
  const type = header?.split(';', 1)[0]!.trim().toLowerCase();
  return type === '' ? undefined : type;
}

/** The value of a preference in the header `Prefer` (RFC 7240); undefined if absent. */
export function preferenceOf({ headers }: Pick<Request, 'headers'>, name: string): string | undefined {
  return new RegExp(`(?:^|[,;\\s])${name}\\s*=\\s*"?([A-Za-z]+)`, 'i').exec(headers.get('prefer') ?? '')?.[1];
}

/**
 * True for text that means the same to every sender. Bytes beyond ASCII arrive as Latin-1, whatever the client meant; in
 * URLs and headers they are percent-encoded.
 */
export function isAscii(text: string): boolean {
  // eslint-disable-next-line no-control-regex -- control characters are refused elsewhere
  return /^[\x00-\x7f]*$/.test(text);
}

/** A request error with a specific HTTP status, such as 405 and 415. */
export class HttpRequestError extends FhirError {
  readonly #status: number;

  constructor(
    status: number,
    message: string,
    /** Lower-case names. */
    readonly headers: { readonly [name: string]: string } = {},
  ) {
    super('invalid', message);
    this.#status = status;
  }

  override get status(): number {
    return this.#status;
  }
}

/** Entity tag and date of a version, where the caller sees them. See https://hl7.org/fhir/R4/http.html#versioning. */
export function versionHeaders({ meta }: { readonly meta?: unknown }): { [name: string]: string } {
  const { versionId, lastUpdated } = isJsonObject(meta) ? meta : {};
  const updated = typeof lastUpdated === 'string' ? new Date(lastUpdated) : undefined;
  return {
    ...(typeof versionId === 'string' ? { etag: entityTag(versionId) } : {}),
    ...(updated === undefined || Number.isNaN(updated.getTime()) ? {} : { 'last-modified': updated.toUTCString() }),
  };
}

/** See https://httpwg.org/specs/rfc9110.html#field.retry-after. */
export function retryHeaders(details: { readonly retryAfter?: unknown } | undefined): {
  readonly [name: string]: string;
} {
  const { retryAfter } = details ?? {};
  return typeof retryAfter === 'number' ? { 'retry-after': String(retryAfter) } : {};
}
