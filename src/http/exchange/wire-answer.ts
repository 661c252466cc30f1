import type { Texts } from '../../fhir/json/stringify-in-turns.js';
import { isList, streamOfTexts } from './encode-texts.js';
import type { FhirHandler, FhirHandlerOptions } from './handler-config.js';

/** A serialized answer. */
export interface WireAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: { readonly [name: string]: string };
  /** Undefined: the answer has no body. */
  readonly body: Texts | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>> | undefined;
}

/** Answers requests without a `Response`. It never rejects. */
export type WireHandler = (request: Request, options?: FhirHandlerOptions) => Promise<WireAnswer>;

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
 * The wire handler inside a handler; undefined for functions that wrap one. PERF: `node:http` needs no `Response`,
 * which copies the headers and makes a stream of the body.
 */
export function wireHandlerOf(handler: FhirHandler): WireHandler | undefined {
  return WIRE_HANDLERS.get(handler);
}

const WIRE_HANDLERS = new WeakMap<FhirHandler, WireHandler>();
