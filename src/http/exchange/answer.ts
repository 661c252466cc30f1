/** The answer of a route, which `toResponse` turns into a response. */
export interface Answer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers?: { readonly [name: string]: string } | undefined;
  /** A JSON value; undefined for no JSON body. */
  readonly json?: unknown;
  /** A GraphQL result; its type is among the headers. */
  readonly result?: { readonly data?: unknown } | undefined;
  /** The media type of `json`. Default: FHIR's, as the client accepts it. */
  readonly type?: string | undefined;
  /** A body of bytes; its type is among the headers. */
  readonly bytes?: Uint8Array<ArrayBuffer> | undefined;
  /** A body that is produced while it is read; its type is among the headers. */
  readonly stream?: ReadableStream<Uint8Array<ArrayBuffer>> | undefined;
  /** A body of text; its type is among the headers. */
  readonly text?: string | undefined;
}
