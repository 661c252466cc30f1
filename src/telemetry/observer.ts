import { ERROR_CODES, type ErrorCode } from '../fhir/error.js';
import { createInstruments, type Instruments } from './instruments.js';
import type { Attributes, Span, Telemetry, Tracer } from './telemetry.js';

/** A piece of work, for its span and its metrics. */
interface Work {
  readonly name: string;
  /** OpenTelemetry's SpanKind; default internal. */
  readonly kind?: number;
  readonly attributes?: Attributes;
}

/** Reports the work done on a store to the host's tracer and meter. */
export class Observer {
  readonly instruments: Instruments | undefined;
  /** Attributes of every store call. */
  readonly storeAttributes: Attributes;
  readonly #tracer: Tracer | undefined;

  constructor({ tracer, meter, system }: Telemetry) {
    this.#tracer = tracer;
    this.instruments = meter === undefined ? undefined : createInstruments(meter);
    this.storeAttributes = system === undefined ? {} : { 'db.system.name': system };
  }

  /** Runs work inside its own span, which ends with it. */
  span<Result>({ name, kind = INTERNAL, attributes = {} }: Work, work: (span: Span) => Result): Result {
    if (this.#tracer === undefined) return work(NO_SPAN);
    return this.#tracer.startActiveSpan(name, { kind, attributes: { ...attributes } }, (span) => {
      const ended = <Value>(value: Value): Value => {
        span.end();
        return value;
      };
      const failed = (error: unknown): never => {
        markFailed(span, codeOf(error));
        span.end();
        throw error;
      };
      try {
        const result = work(span);
        return result instanceof Promise ? (result.then(ended, failed) as Result) : ended(result);
      } catch (error) {
        return failed(error);
      }
    });
  }
}

/** Runs work inside a span if there is an observer; otherwise only runs it. */
export function inSpan<Result>(observer: Observer | undefined, name: string, work: (span: Span) => Result): Result {
  return observer === undefined ? work(NO_SPAN) : observer.span({ name }, work);
}

/** Error messages stay out of spans; the code describes the kind of failure. */
export function markFailed(span: Span, code: ErrorCode): void {
  span.setAttribute('error.type', code);
  span.setStatus({ code: FAILED });
}

/** The code of an error; `internal` for foreign errors. */
export function codeOf(error: unknown): ErrorCode {
  const code: unknown = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === 'string' && Object.hasOwn(ERROR_CODES, code) ? (code as ErrorCode) : 'internal';
}

/** Numbers of OpenTelemetry's `SpanKind` and `SpanStatusCode`. */
const INTERNAL = 0;
export const CLIENT = 2;
const FAILED = 2;

const NO_SPAN: Span = {
  setAttribute: () => undefined,
  setStatus: () => undefined,
  end: () => undefined,
};
