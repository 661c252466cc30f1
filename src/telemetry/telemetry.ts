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
