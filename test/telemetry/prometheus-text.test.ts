import { spawnSync } from 'node:child_process';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { describe, expect, test } from 'vitest';
import { executeFhirGraphql, MemoryStore, systemCaller } from '../../src/index.js';
import { createCounters, prometheusText, withTelemetry } from '../../src/telemetry.js';

/** A checker of the format, a part of Prometheus itself. */
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
if (!hasPromtool) console.warn('No promtool here: the text for Prometheus is held against expected lines only');

describe('the text for Prometheus', () => {
  test('has counters and histograms, one family after the other', () => {
    const counters = createCounters();
    const calls = counters.createCounter('store.calls', { description: 'Calls \\ to\nthe "store"', unit: '{call}' });
    const options = { description: 'How long', unit: 's', advice: { explicitBucketBoundaries: [0.1, 1] } };
    const duration = counters.createHistogram('duration', options);
    calls.add(2, { 'db.operation.name': 'read' });
    duration.record(0.1);
    calls.add(1, { text: 'a "quoted"\\\nline' });
    duration.record(0.5);
    duration.record(3);
    expect(prometheusText(counters)).toBe(
      [
        String.raw`# HELP store_calls_total Calls \\ to\nthe "store"`,
        '# TYPE store_calls_total counter',
        'store_calls_total{db_operation_name="read"} 2',
        String.raw`store_calls_total{text="a \"quoted\"\\\nline"} 1`,
        '# HELP duration_seconds How long',
        '# TYPE duration_seconds histogram',
        'duration_seconds_bucket{le="0.1"} 1',
        'duration_seconds_bucket{le="1"} 2',
        'duration_seconds_bucket{le="+Inf"} 3',
        'duration_seconds_sum 3.6',
        'duration_seconds_count 3',
        '',
      ].join('\n'),
    );
  });

  test.skipIf(!hasPromtool)('is accepted by Prometheus', async () => {
    const counters = createCounters();
    await work(counters);
    const { status, stderr } = spawnSync('promtool', ['check', 'metrics'], {
      input: prometheusText(counters),
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });
});

test("OpenTelemetry's default collector spreads durations over the advised buckets", async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const provider = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })],
  });
  await work(provider.getMeter('test'));
  await provider.forceFlush();
  const all = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));
  const duration = all.find(({ descriptor }) => descriptor.name === 'fhirgraph.interaction.duration')!;
  const { boundaries } = (duration.dataPoints[0]!.value as { readonly buckets: { readonly boundaries: number[] } })
    .buckets;
  expect([boundaries[0], boundaries.at(-1)]).toEqual([0.000_25, 10]);
  await provider.shutdown();
});

async function work(meter: NonNullable<Parameters<typeof withTelemetry>[1]['meter']>): Promise<void> {
  const store = withTelemetry(new MemoryStore(), { meter });
  await executeFhirGraphql('{ PatientList { id } }', { store, caller: systemCaller('clinic') });
}
