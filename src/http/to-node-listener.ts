import { stringifyJson } from '../fhir/json/stringify-json.js';
import { FhirError } from '../fhir/error.js';
import { byteLength } from '../platform/bytes.js';
import type { FhirHandler } from './exchange/handler-config.js';
import { EVENT_STREAM } from './exchange/event-stream.js';
import {
  byteLengthInTurns,
  isList,
  SEND_TUNING,
  textEncoder,
  type WireAnswer,
  wireHandlerOf,
} from './exchange/answer.js';
import { readDirectly } from './read-body.js';
import { HttpRequestError } from './http-types.js';
import { toHttpResponse } from './to-http-response.js';

/** The part of `node:http`'s IncomingMessage that is used; requests of Express have it too. */
export interface NodeRequest extends AsyncIterable<Uint8Array> {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: { readonly [name: string]: string | string[] | undefined };
  /** Express: the URL before routers remove their prefix. */
  readonly originalUrl?: string | undefined;
  /** The result of a body parser; undefined if the body was not read yet. */
  readonly body?: unknown;
}

/** The part of `node:http`'s ServerResponse that is used. */
export interface NodeResponse {
  writeHead(status: number, headers: { readonly [name: string]: string | string[] }): unknown;
  end(body?: string | Uint8Array): unknown;
  /** @returns false if the client reads more slowly; the event `drain` follows when it has caught up */
  write(chunk: Uint8Array): boolean;
  on(event: 'close' | 'drain', listener: () => void): unknown;
  readonly writableFinished: boolean;
  destroy(): unknown;
}

/**
 * A listener for `node:http`, Express and Fastify. The work ends when the client goes away.
 *
 * Mount it before body parsers, which would ignore the handler's size limit. An already parsed body is used as it is,
 * so its decimals are plain JavaScript numbers.
 *
 * @example
 * createServer(toNodeListener(handler)).listen(8080);
 * express().use(toNodeListener(handler)).listen(8080);
 */
export function toNodeListener(handler: FhirHandler): (request: NodeRequest, response: NodeResponse) => void {
  return (request, response) => {
    void respond(handler, request, response).catch(() => response.destroy());
  };
}

async function respond(handler: FhirHandler, incoming: NodeRequest, outgoing: NodeResponse): Promise<void> {
  const gone = new AbortController();
  // Abort only if the answer was not sent, because every abort creates an error with a stack.
  outgoing.on('close', () => {
    if (!outgoing.writableFinished) gone.abort();
  });
  const request = toRequest(incoming, gone.signal);
  if (request instanceof FhirError) {
    const { status, headers, body } = toHttpResponse(request);
    outgoing.writeHead(status, headers);
    outgoing.end(body);
    return;
  }
  const answer = await (wireHandlerOf(handler)?.(request) ?? handler(request).then(wireAnswerOf));
  await send(outgoing, answer, gone.signal);
  // The connection of a 413 closes.
  if (answer.status !== 413) await discardBody(request);
}

/** Reads the unread rest of a body, because the connection's next request follows it. */
async function discardBody({ body, bodyUsed }: Request): Promise<void> {
  if (body === null || bodyUsed || body.locked) return;
  const reader = body.getReader();
  while (!(await reader.read()).done);
}

function wireAnswerOf({ status, headers, body }: Response): WireAnswer {
  return { status, headers: Object.fromEntries(headers), body: body ?? undefined };
}

async function send(outgoing: NodeResponse, answer: WireAnswer, gone: AbortSignal): Promise<void> {
  const { body } = answer;
  if (body instanceof ReadableStream) return sendStream(outgoing, answer, gone, body.getReader());
  if (isList(body) || (typeof body === 'string' && body.length > SEND_TUNING.longText)) {
    writeHead(outgoing, answer, await byteLengthInTurns(body));
    await writeChunks(outgoing, gone, textEncoder(body));
    outgoing.end();
    return;
  }
  writeHead(outgoing, answer, body === undefined ? undefined : lengthOf(body));
  outgoing.end(body);
}

/** @param length in bytes; undefined: there is no body, or it is produced while the client reads */
function writeHead(outgoing: NodeResponse, { status, headers }: WireAnswer, length: number | undefined): void {
  outgoing.writeHead(status, {
    ...headers,
    ...(length === undefined ? {} : { 'content-length': String(length) }),
    // The rest of a body that is too long is not read.
    ...(status === 413 ? { connection: 'close' } : {}),
  });
}

/** A short text is sent in one piece with the headers. */
function lengthOf(body: string | Uint8Array): number {
  return typeof body === 'string' ? byteLength(body) : body.byteLength;
}

/** @throws the error of the body, so that the connection is aborted */
async function sendStream(
  outgoing: NodeResponse,
  answer: WireAnswer,
  gone: AbortSignal,
  reader: ReadableStreamDefaultReader<Uint8Array>,
): Promise<void> {
  const first = (await reader.read()).value;
  // A body of one chunk is complete and has a length, unless it is a stream of events, which come one by one.
  const isLive = answer.headers['content-type']?.startsWith(EVENT_STREAM) === true;
  const second = first === undefined || isLive ? undefined : (await reader.read()).value;
  writeHead(outgoing, answer, first === undefined || second !== undefined || isLive ? undefined : lengthOf(first));
  if (second === undefined && !isLive) {
    outgoing.end(first);
    return;
  }
  const begun = [first, second];
  const isWhole = await writeChunks(outgoing, gone, async () => begun.shift() ?? (await reader.read()).value);
  if (!isWhole) await reader.cancel();
  outgoing.end();
}

/** Writes chunks as fast as the client reads them. @returns false if the client went away before the last chunk */
async function writeChunks(
  outgoing: NodeResponse,
  gone: AbortSignal,
  next: () => Promise<Uint8Array | undefined>,
): Promise<boolean> {
  let wake = (): void => undefined;
  for (const event of ['drain', 'close'] as const) outgoing.on(event, () => wake());
  while (!gone.aborted) {
    const chunk = await next();
    if (chunk === undefined) return true;
    const drained = new Promise<void>((resolve) => (wake = resolve));
    if (!outgoing.write(chunk) && !gone.aborted) await drained;
  }
  return false;
}

/** @returns the error of a request that a `Request` cannot express */
function toRequest(incoming: NodeRequest, signal: AbortSignal): Request | FhirError {
  const { method = 'GET', originalUrl, url = originalUrl ?? '/' } = incoming;
  if (FORBIDDEN_METHODS.has(method)) {
    return new HttpRequestError(405, 'The method is not supported', { allow: 'GET, HEAD, POST, PUT, PATCH, DELETE' });
  }
  const target = originalUrl ?? url;
  // The client controls the host name, so only the path counts. A path may begin with two slashes.
  const parsed = URL.parse(target.startsWith('/') ? `http://localhost${target}` : target);
  if (parsed === null || parsed.username !== '' || parsed.password !== '') {
    return new FhirError('invalid', 'The URL of the request is malformed');
  }
  // A proxy in front may have decided by the unnormalized path.
  if (DOT_SEGMENT.test(target.split(/[?#]/, 1)[0]!)) {
    return new FhirError('invalid', 'The path of the request must not contain "." and ".." segments or backslashes');
  }
  const body = method === 'GET' || method === 'HEAD' ? undefined : bodyOf(incoming);
  return new Request(parsed, {
    method,
    headers: headersOf(incoming),
    signal,
    ...(body === undefined ? {} : { body, duplex: 'half' }),
  });
}

/** Methods that a `Request` cannot have: https://fetch.spec.whatwg.org/#forbidden-method. */
const FORBIDDEN_METHODS: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK']);

/** Segments that URL parsing removes from the path, and characters that it treats as a slash. */
const DOT_SEGMENT = /\\|\/(?:\.|%2e){1,2}(?:\/|$)/i;

function headersOf({ headers }: NodeRequest): Headers {
  const copy = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (name.startsWith(':')) continue;
    for (const one of typeof value === 'string' ? [value] : (value ?? [])) copy.append(name, one);
  }
  return copy;
}

function bodyOf(incoming: NodeRequest): string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> {
  const { body } = incoming;
  if (body === undefined) return streamOf(incoming);
  return typeof body === 'string' || body instanceof Uint8Array
    ? (body as string | Uint8Array<ArrayBuffer>)
    : stringifyJson(body);
}

/** The body as it arrives, read on demand. Leaving it unread must not destroy the connection, over which the answer goes. */
function streamOf(incoming: NodeRequest): ReadableStream<Uint8Array> {
  let chunks: AsyncIterator<Uint8Array> | undefined;
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    chunks ??= incoming[Symbol.asyncIterator]();
    const { done, value } = await chunks.next();
    if (done === true) controller.close();
    else controller.enqueue(value);
  };
  const stream = new ReadableStream({ pull }, { highWaterMark: 0 });
  readDirectly(stream, incoming);
  return stream;
}
