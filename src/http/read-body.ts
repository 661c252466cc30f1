import { FhirError } from '../fhir/error.js';
import { assertFewValues } from '../fhir/json/json-values.js';
import { parseBundle, parseWithDecimals } from '../fhir/json/parse-json.js';
import { concatBytes } from '../platform/bytes.js';
import { Pace } from '../platform/pace.js';
import { headerOf, type HttpRequest, HttpRequestError, mediaTypeOf } from './http-types.js';

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

/** Default maximum size of a body: 16 MiB, the default maximum size of a resource in stores. */
export const MAX_BODY_BYTES = 16 * 1024 * 1024;

/**
 * Reads the body of a request up to a maximum number of bytes.
 *
 * @throws HttpRequestError 413 - it is longer; 415 - it is compressed
 * @throws FhirError `aborted` - the client went away
 */
export async function readBoundedBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  const encoding = request.headers.get('content-encoding') ?? 'identity';
  if (encoding.trim().toLowerCase() !== 'identity') {
    throw new HttpRequestError(415, 'The body must not be compressed', { 'accept-encoding': 'identity' });
  }
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLong(maxBytes);
  if (request.bodyUsed) throw new TypeError('The body of the request was read before the handler got it');
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  const isWhole = await readChunks(request.body, (chunk) => {
    size += chunk.byteLength;
    chunks.push(chunk);
    return size <= maxBytes;
  });
  if (!isWhole) throw tooLong(maxBytes);
  return chunks.length === 1 ? chunks[0]! : concatBytes(chunks, size);
}

/** @returns false if `take` wanted no more */
async function readChunks(body: ReadableStream<Uint8Array>, take: TakeChunk): Promise<boolean> {
  const reader = body.getReader();
  const direct = directReaderOf(body);
  try {
    if (direct !== undefined) return await direct(take);
    for (;;) {
      const { value } = await reader.read();
      if (value === undefined) return true;
      if (take(value)) continue;
      void reader.cancel().catch(() => undefined);
      return false;
    }
  } catch (cause) {
    throw new FhirError('aborted', 'The request ended before its body did', { cause });
  }
}

function tooLong(maxBytes: number): HttpRequestError {
  return new HttpRequestError(413, `The body may be ${maxBytes} bytes long`);
}

/** Receives a part of a body. @returns false to stop reading */
type TakeChunk = (chunk: Uint8Array) => boolean;

/** Reads a body without its stream. @returns false if `take` stopped reading */
type DirectReader = (take: TakeChunk) => Promise<boolean>;

/** The part of `node:http`'s IncomingMessage that emits its body as events. */
interface EmittedBody {
  readonly readableFlowing: boolean | null;
  readonly readableEnded: boolean;
  readonly destroyed: boolean;
  on(event: 'data' | 'end' | 'error' | 'close', listener: (value: never) => void): unknown;
  pause(): unknown;
}

/** The body of a request of `node:http`, with that request. */
interface NodeBody extends ReadableStream<Uint8Array> {
  [INCOMING]?: EmittedBody;
}

const INCOMING = Symbol('the request of node:http');

/**
 * Lets the body of a request of `node:http` be read without the web stream of its Request, as long as nobody has begun
 * to read it.
 *
 * PERF (load): a stream of the web over one of Node.js takes 20 µs. A WeakMap instead of the property would take half of that.
 */
export function readDirectly(stream: ReadableStream<Uint8Array>, incoming: object): void {
  if (emitsBody(incoming)) (stream as NodeBody)[INCOMING] = incoming;
}

/** Undefined for other bodies. The caller has locked the stream. */
function directReaderOf(stream: NodeBody): DirectReader | undefined {
  const incoming = stream[INCOMING];
  if (incoming === undefined || incoming.readableFlowing !== null) return undefined;
  return incoming.readableEnded || incoming.destroyed ? undefined : (take) => readEvents(incoming, take);
}

function emitsBody(incoming: object): incoming is EmittedBody {
  return 'readableFlowing' in incoming && 'on' in incoming;
}

/** @throws the error of the body, which closes early if the client goes away */
function readEvents(incoming: EmittedBody, take: TakeChunk): Promise<boolean> {
  return new Promise((resolve, reject) => {
    incoming.on('data', (chunk: Uint8Array) => {
      if (take(chunk)) return;
      incoming.pause();
      resolve(false);
    });
    incoming.on('end', () => resolve(true));
    incoming.on('error', reject);
    incoming.on('close', () => {
      // Creating an error captures its stack.
      if (!incoming.readableEnded) reject(new Error('The connection was closed'));
    });
  });
}
