// Spans and counts of everything done on a store, in the shapes of OpenTelemetry.

export { createCounters, type Count, type Counters } from './telemetry/counters.js';
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
} from './telemetry/telemetry.js';
export { withTelemetry } from './telemetry/with-telemetry.js';
