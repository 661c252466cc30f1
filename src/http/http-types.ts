/**
 * A request as any web framework has it. Header names in any case; of a repeated header the first value counts.
 *
 * Express, Fastify and `node:http` requests fit as they are; for Fetch's `Request` see the Hono example.
 */
export interface HttpRequest {
  readonly method?: string | undefined;
  /** Path and query, or a whole URL. */
  readonly url?: string | undefined;
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined } | Headers;
  /** The text of the body, its bytes, or what a body parser made of its JSON. */
  readonly body?: unknown;
}

/** What a web framework is to send. */
export interface HttpResponse {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: { readonly [name: string]: string };
  /** JSON text; empty where there is nothing to send. */
  readonly body: string;
}

/** @returns undefined where the header is missing */
export function headerOf({ headers }: Pick<HttpRequest, 'headers'>, name: string): string | undefined {
  if (typeof Headers === 'function' && headers instanceof Headers) return headers.get(name) ?? undefined;
  for (const [key, value] of Object.entries(headers)) {
    if (key.toLowerCase() === name) return typeof value === 'string' ? value : (value as readonly string[])[0];
  }
  return undefined;
}

/** The media type without its parameters, in lower case; undefined where there is none. */
export function mediaTypeOf(header: string | undefined): string | undefined {
  const type = header?.split(';', 1)[0]!.trim().toLowerCase();
  return type === '' ? undefined : type;
}
