import { ERROR_CODES, type ErrorCode } from '../fhir/error.js';
import { createInstruments, type Instruments } from './instruments.js';
import type { Attributes, Span, Telemetry, Tracer } from './telemetry.js';

/** What is known of a piece of work, for its span and its counts. */
export interface Work {
  readonly name: string;
  /** Of OpenTelemetry's kinds; default internal. */
  readonly kind?: number;
  readonly attributes?: Attributes;
}

/** Tells a host's tracer and meter of the work done on a store. */
export class Observer {
  readonly instruments: Instruments | undefined;
  /** Told with every call of the store. */
  readonly storeAttributes: Attributes;
  readonly #tracer: Tracer | undefined;

  constructor({ tracer, meter, system }: Telemetry) {
    this.#tracer = tracer;
    this.instruments = meter === undefined ? undefined : createInstruments(meter);
    this.storeAttributes = system === undefined ? {} : { 'db.system.name': system };
  }

  /** Carries work out inside a span of its own, which ends with it. */
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

/** Carries work out inside a span, where somebody looks; else just carries it out. */
export function inSpan<Result>(observer: Observer | undefined, name: string, work: (span: Span) => Result): Result {
  return observer === undefined ? work(NO_SPAN) : observer.span({ name }, work);
}

/** Messages of errors stay out of spans: the code says what kind of failure it was. */
export function markFailed(span: Span, code: ErrorCode): void {
  span.setAttribute('error.type', code);
  span.setStatus({ code: FAILED });
}

/** The code of an error; `internal` for everything that has none of ours. */
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
