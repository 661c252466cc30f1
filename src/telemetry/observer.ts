import { oncePer } from '../platform/collections.js';
import { ERROR_CODES, type ErrorCode } from '../fhir/error.js';

/**
 * The destinations of spans and metrics. The types match OpenTelemetry's, so that its tracers and meters are
 * assignable, but nothing is imported from it: https://opentelemetry.io/docs/specs/otel/.
 *
 * Spans and metrics never contain ids, contents of resources, search values or the text of queries.
 */
export interface Telemetry {
  /** Receives a span per interaction, step and store call: `trace.getTracer('fhirgraph')`. */
  readonly tracer?: Tracer | undefined;
  /** Receives the metrics: `metrics.getMeter('fhirgraph')`, or {@link createCounters} without OpenTelemetry. */
  readonly meter?: Meter | undefined;
  /** The database system, such as `sqlite`; `db.system.name` in the spans of store calls. */
  readonly system?: string | undefined;
}

/** Attributes of a span or a count. */
export interface Attributes {
  readonly [name: string]: string | number | boolean;
}

/** The part of an OpenTelemetry tracer that is used. */
export interface Tracer {
  startActiveSpan<Result>(name: string, options: SpanOptions, work: (span: Span) => Result): Result;
}

/** Options of a span. */
export interface SpanOptions {
  /** 0 internal, 2 client, as in OpenTelemetry's `SpanKind`. */
  readonly kind?: number;
  readonly attributes?: { [name: string]: string | number | boolean };
}

/** The part of an OpenTelemetry span that is used. */
export interface Span {
  setAttribute(name: string, value: string | number | boolean): unknown;
  setStatus(status: { readonly code: number }): unknown;
  end(): void;
}

/** The part of an OpenTelemetry meter that is used. */
export interface Meter {
  createCounter(name: string, options: InstrumentOptions): Counter;
  createHistogram(name: string, options: InstrumentOptions): Histogram;
}

/** Options of a counter or histogram. */
export interface InstrumentOptions {
  readonly description?: string;
  /** In UCUM: `s`, `{call}`. */
  readonly unit?: string;
  /** For histograms: suitable upper bounds of the buckets, which the host's collector may override. */
  readonly advice?: { readonly explicitBucketBoundaries?: number[] };
}

/** The part of an OpenTelemetry counter that is used. */
export interface Counter {
  add(value: number, attributes?: { [name: string]: string | number | boolean }): void;
}

/** The part of an OpenTelemetry histogram that is used. */
export interface Histogram {
  record(value: number, attributes?: { [name: string]: string | number | boolean }): void;
}

/** The metrics. Names and units follow https://opentelemetry.io/docs/specs/semconv/general/metrics/. */
interface Instruments {
  /** By `fhirgraph.interaction` and `fhirgraph.outcome`: `success` or the code of an error. */
  readonly interactions: Counter;
  /** In seconds, with the same attributes. */
  readonly duration: Histogram;
  /** By `db.operation.name`, `db.collection.name` (a resource type) and, for failed calls, `error.type`. */
  readonly storeCalls: Counter;
  /** Resources returned by the store, with the same attributes. */
  readonly storeRows: Counter;
  /** By `fhirgraph.cache` (`documents`, `plans`) and `fhirgraph.hit`. */
  readonly lookups: Counter;
}

/** The instruments of a meter; the same object for the same meter. */
const createInstruments = oncePer((meter: Meter): Instruments => ({
  interactions: meter.createCounter('fhirgraph.interactions', {
    description: 'Interactions that ended',
    unit: '{interaction}',
  }),
  duration: meter.createHistogram('fhirgraph.interaction.duration', {
    description: 'How long interactions took',
    unit: 's',
    // The default buckets of collectors are for milliseconds: all of ours would fall into the first.
    advice: { explicitBucketBoundaries: [...SECONDS] },
  }),
  storeCalls: meter.createCounter('fhirgraph.store.calls', {
    description: 'Calls to the store that ended',
    unit: '{call}',
  }),
  storeRows: meter.createCounter('fhirgraph.store.rows', {
    description: 'Resources that the store answered with',
    unit: '{resource}',
  }),
  lookups: meter.createCounter('fhirgraph.cache.lookups', {
    description: 'Documents and plans looked for in the caches',
    unit: '{lookup}',
  }),
}));

/** From the read of a cached resource to a limit of time. */
const SECONDS = [0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

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
