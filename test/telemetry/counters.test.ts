import { metrics } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { expect, test } from 'vitest';
import {
  createRepository,
  executeFhirGraphql,
  MemoryStore,
  type ResourceStore,
  systemCaller,
} from '../../src/index.js';
import { createCounters, withTelemetry } from '../../src/telemetry.js';

/** Two patients, a read of one, a query twice, a query that fails, a read of a missing patient. */
async function work(store: ResourceStore): Promise<void> {
  const context = { store, caller: systemCaller('clinic') };
  const repository = createRepository(context);
  const { id } = await repository.create({ resourceType: 'Patient' });
  await repository.create({ resourceType: 'Patient' });
  await repository.read('Patient', id);
  const query = `{ PatientList { id } } # ${Math.random()}`;
  await executeFhirGraphql(query, context);
  await executeFhirGraphql(query, context);
  await executeFhirGraphql('{ nonsense }', context);
  await repository.read('Patient', 'nobody').catch(() => undefined);
}

const interactions = (interaction: string, outcome: string): object => ({
  'fhirgraph.interaction': interaction,
  'fhirgraph.outcome': outcome,
});
const calls = (operation: string): object => ({ 'db.operation.name': operation, 'db.collection.name': 'Patient' });
const lookups = (cache: string, hit: boolean): object => ({ 'fhirgraph.cache': cache, 'fhirgraph.hit': hit });

const EXPECTED = [
  ['fhirgraph.interactions', interactions('create', 'success'), 2],
  ['fhirgraph.interactions', interactions('read', 'success'), 1],
  ['fhirgraph.interactions', interactions('graphql', 'success'), 2],
  ['fhirgraph.interactions', interactions('graphql', 'invalid'), 1],
  ['fhirgraph.interactions', interactions('read', 'not-found'), 1],
  ['fhirgraph.store.calls', calls('commit'), 2],
  ['fhirgraph.store.calls', calls('search'), 2],
  ['fhirgraph.store.rows', calls('commit'), 2],
  ['fhirgraph.store.rows', calls('search'), 4],
  ['fhirgraph.cache.lookups', lookups('documents', false), 2],
  ['fhirgraph.cache.lookups', lookups('documents', true), 1],
  ['fhirgraph.cache.lookups', lookups('plans', false), 1],
  ['fhirgraph.cache.lookups', lookups('plans', true), 1],
] as const;

test('counters count interactions, store calls, rows and cache lookups', async () => {
  const counters = createCounters();
  await work(withTelemetry(new MemoryStore(), { meter: counters }));
  const counts = counters.snapshot();
  for (const [name, attributes, value] of EXPECTED) {
    expect(counts, `${name} ${JSON.stringify(attributes)}`).toContainEqual(
      expect.objectContaining({ name, attributes, value }),
    );
  }
  const durations = counts.filter(({ name }) => name === 'fhirgraph.interaction.duration');
  expect(durations.reduce((sum, { times }) => sum + times, 0)).toBe(7);
  expect(durations.every(({ unit, value }) => unit === 's' && value > 0)).toBe(true);
  expect(counts.map(({ description }) => description)).not.toContain('');
});

test('snapshots are copies, and two stores can share counters', async () => {
  const counters = createCounters();
  const read = (store: ResourceStore): Promise<unknown> =>
    store.read([{ project: 'clinic', type: 'Patient', id: '1' }]);
  await read(withTelemetry(new MemoryStore(), { meter: counters }));
  const before = counters.snapshot();
  await read(withTelemetry(new MemoryStore(), { meter: counters }));
  const value = (counts: typeof before): number => counts.find(({ name }) => name === 'fhirgraph.store.calls')!.value;
  expect([value(before), value(counters.snapshot())]).toEqual([1, 2]);
});

test('a meter of OpenTelemetry gets the same counts', async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const provider = new MeterProvider({ readers: [reader] });
  await work(withTelemetry(new MemoryStore(), { meter: provider.getMeter('fhirgraph') }));
  await provider.forceFlush();
  const points = exporter
    .getMetrics()
    .flatMap(({ scopeMetrics }) => scopeMetrics)
    .flatMap(({ metrics: told }) => told)
    .flatMap(({ descriptor, dataPoints }) => dataPoints.map((point) => ({ name: descriptor.name, ...point })));
  for (const [name, attributes, value] of EXPECTED) {
    expect(points, `${name} ${JSON.stringify(attributes)}`).toContainEqual(
      expect.objectContaining({ name, attributes, value }),
    );
  }
  await provider.shutdown();
});

test('the default meter of OpenTelemetry without a setup is accepted too', async () => {
  await work(withTelemetry(new MemoryStore(), { meter: metrics.getMeter('fhirgraph') }));
});
