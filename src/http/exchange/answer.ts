import { stringifyInTurns, stringifyResultInTurns, type Texts } from '../../fhir/json/stringify-json.js';
import { byteLength } from '../../platform/bytes.js';
import { Pace } from '../../platform/pace.js';
import { cutsCharacter } from '../../platform/texts.js';
import type { HttpResponse } from '../http-types.js';
import type { Format } from '../negotiate.js';
import type { FhirHandler, FhirHandlerOptions } from './handler-config.js';

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

/** A serialized answer. */
export interface WireAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: { readonly [name: string]: string };
  /** Undefined: the answer has no body. */
  readonly body: Texts | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>> | undefined;
}

/** Answers requests without a `Response`. It never rejects. */
type WireHandler = (request: Request, options?: FhirHandlerOptions) => Promise<WireAnswer>;

/** Makes a handler of Requests and Responses. */
export function fromWireHandler(answer: WireHandler): FhirHandler {
  const handler: FhirHandler = async (request, options) => {
    const { body, ...init } = await answer(request, options);
    return new Response(isList(body) ? streamOfTexts(body) : (body ?? null), init);
  };
  WIRE_HANDLERS.set(handler, answer);
  return handler;
}

/**
 * The wire handler inside a handler; undefined for functions that wrap one. PERF (load): `node:http` needs no `Response`,
 * which copies the headers and makes a stream of the body.
 */
export function wireHandlerOf(handler: FhirHandler): WireHandler | undefined {
  return WIRE_HANDLERS.get(handler);
}

const WIRE_HANDLERS = new WeakMap<FhirHandler, WireHandler>();

/** Only tests change it. */
export const SEND_TUNING = {
  /** In UTF-16 code units. Encoding this many takes less than a millisecond. */
  longText: 512 * 1024,
};

/** Whether a body is several texts. */
export function isList(body: unknown): body is readonly string[] {
  return Array.isArray(body);
}

/** Encodes a long body in parts: each call returns the next one, undefined after the last. Other work runs between them. */
export function textEncoder(body: Texts): () => Promise<Uint8Array<ArrayBuffer> | undefined> {
  const pace = new Pace();
  const encoder = new TextEncoder();
  const parts = partsOf(body);
  return async () => {
    if (pace.isSpent) await pace.next();
    const { value } = parts.next();
    return value === undefined ? undefined : encoder.encode(value);
  };
}

/** The number of bytes of a long body. Other work runs between its parts. */
export async function byteLengthInTurns(body: Texts): Promise<number> {
  const pace = new Pace();
  let length = 0;
  for (const part of partsOf(body)) {
    if (pace.isSpent) await pace.next();
    length += byteLength(part);
  }
  return length;
}

/** A long body as a stream, which encodes a part when the client is ready for it. */
function streamOfTexts(body: Texts): ReadableStream<Uint8Array<ArrayBuffer>> {
  const next = textEncoder(body);
  return new ReadableStream(
    {
      async pull(controller) {
        const part = await next();
        if (part === undefined) controller.close();
        else controller.enqueue(part);
      },
    },
    { highWaterMark: 0 },
  );
}

function* partsOf(body: Texts): Generator<string, undefined> {
  for (const text of typeof body === 'string' ? [body] : body) {
    for (let start = 0; start < text.length;) {
      const end = start + SEND_TUNING.longText;
      // A surrogate pair must be encoded together.
      yield text.slice(start, (start = cutsCharacter(text, end) ? end + 1 : end));
    }
  }
}

/** Headers of every response: caches must not keep answers, and browsers must not guess another type. */
const COMMON = {
  'cache-control': 'no-store',
  vary: 'accept, authorization, prefer',
  'x-content-type-options': 'nosniff',
} as const;

export async function toWireAnswer(answer: Answer, format: Format, isHead: boolean): Promise<WireAnswer> {
  const { status, headers, json, type, stream } = answer;
  const body = await bodyOf(answer, format);
  const contentType = json === undefined ? {} : { 'content-type': `${type ?? format.type}; charset=utf-8` };
  if (isHead) stream?.cancel().catch(() => undefined);
  return {
    status,
    headers: { ...COMMON, ...contentType, ...headers },
    body: isHead || body === '' ? undefined : body,
  };
}

async function bodyOf({ json, result, text, bytes, stream }: Answer, { pretty }: Format): Promise<WireAnswer['body']> {
  if (result !== undefined) return stringifyResultInTurns(result);
  return json === undefined ? (bytes ?? stream ?? text) : stringifyInTurns(json, pretty ? 2 : 0);
}

/** Converts the answer of a framework-independent function. */
export function fromHttpResponse({ status, headers, body: text }: HttpResponse): Answer {
  return { status, headers, text };
}
