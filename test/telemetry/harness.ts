import { context, type Tracer } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';

/** A tracer that keeps its spans. */
export interface TestTracer {
  readonly tracer: Tracer;
  /** The spans that have ended since the last call, in the order of their start. */
  take(): Promise<readonly ReadableSpan[]>;
}

export function openTracer(): TestTracer {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const exporter = new InMemorySpanExporter();
  const begun: string[] = [];
  const order = {
    onStart: (span: ReadableSpan) => void begun.push(span.spanContext().spanId),
    onEnd: () => undefined,
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  };
  const provider = new TracerProvider({ spanProcessors: [order, new SimpleSpanProcessor({ exporter })] });
  return {
    tracer: provider.getTracer('fhirgraph'),
    async take() {
      await provider.forceFlush();
      const spans = [...exporter.getFinishedSpans()];
      exporter.reset();
      return spans.sort((a, b) => begun.indexOf(a.spanContext().spanId) - begun.indexOf(b.spanContext().spanId));
    },
  };
}

/** Spans as lines, below their parents: name and attributes. */
export function treeOf(spans: readonly ReadableSpan[]): readonly string[] {
  const linesBelow = (parent: string | undefined, indent: string): string[] =>
    spans
      .filter((span) => span.parentSpanContext?.spanId === parent)
      .flatMap((span) => [indent + line(span), ...linesBelow(span.spanContext().spanId, `${indent}  `)]);
  return linesBelow(undefined, '');
}

function line({ name, attributes }: ReadableSpan): string {
  return [name, ...Object.entries(attributes).map(([key, value]) => `${key}=${String(value)}`)].join(' ');
}
