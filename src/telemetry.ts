// Spans and counts of everything done on a store, in the shapes of OpenTelemetry.

export { type Bucket, createCounters, type Count, type Counters } from './telemetry/counters.js';
export type {
  Attributes,
  Counter,
  Histogram,
  InstrumentOptions,
  Meter,
  Span,
  SpanOptions,
  Telemetry,
  Tracer,
} from './telemetry/observer.js';
export { withTelemetry } from './telemetry/with-telemetry.js';
