/**
 * Where spans and counts go. The shapes are OpenTelemetry's own, so that its tracers and meters fit as they are, and
 * nothing of it is imported: https://opentelemetry.io/docs/specs/otel/.
 *
 * Neither spans nor counts ever hold ids, content of resources, values that were searched for, or texts of requests.
 */
export interface Telemetry {
  /** Gets a span per interaction, step and store call: `trace.getTracer('fhirgraph')`. */
  readonly tracer?: Tracer | undefined;
  /** Gets the counts: `metrics.getMeter('fhirgraph')`, or {@link createCounters} without OpenTelemetry. */
  readonly meter?: Meter | undefined;
  /** What the store runs on, `sqlite`, told as `db.system.name` in the spans of its calls. */
  readonly system?: string | undefined;
}

export interface Attributes {
  readonly [name: string]: string | number | boolean;
}

/** The part of an OpenTelemetry tracer that is used. */
export interface Tracer {
  startActiveSpan<Result>(name: string, options: SpanOptions, work: (span: Span) => Result): Result;
}

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

export interface InstrumentOptions {
  readonly description?: string;
  /** In UCUM: `s`, `{call}`. */
  readonly unit?: string;
}

export interface Counter {
  add(value: number, attributes?: { [name: string]: string | number | boolean }): void;
}

export interface Histogram {
  record(value: number, attributes?: { [name: string]: string | number | boolean }): void;
}
