import { expect, test } from 'vitest';
import type { ResourceStore } from '../../src/store/store.js';
import { withTelemetry } from '../../src/telemetry/with-telemetry.js';
import { createCounters } from '../../src/telemetry/counters.js';
import { importBundle } from '../../src/import/bundle/import-bundle.js';
import { systemCaller } from '../../src/access/caller.js';
import { MemoryStore } from '../../src/stores/memory/store.js';
import { SqliteStore } from '../../src/stores/sqlite/store.js';
import { faultOf, repositoryOf, signedIn, system } from './harness.js';

const binary = (bytes: number): { resourceType: 'Binary'; contentType: string; data: string } => {
  const empty = { resourceType: 'Binary', contentType: 'a/b', data: '' } as const;
  return { ...empty, data: 'A'.repeat(bytes - JSON.stringify(empty).length) };
};

const OPEN: readonly (readonly [string, (maxResourceBytes?: number) => ResourceStore])[] = [
  ['memory', (maxResourceBytes) => new MemoryStore({ maxResourceBytes })],
  ['SQLite', (maxResourceBytes) => new SqliteStore(':memory:', { maxResourceBytes })],
  [
    'an observed store',
    (maxResourceBytes) => withTelemetry(new MemoryStore({ maxResourceBytes }), { meter: createCounters() }),
  ],
];

test.each(OPEN)('%s accepts resources up to the size that it was opened with', async (_, open) => {
  const store = open(2_000);
  const trusted = await system(store);
  expect((await trusted.create(binary(1_900))).data).toBe(binary(1_900).data);
  const member = repositoryOf(store, await signedIn(store));
  const based = repositoryOf(store, systemCaller('clinic'), { baseUrl: 'https://own.base' });
  for (const repository of [trusted, member, based]) {
    const { code, status, issues, message } = await faultOf(repository.create(binary(2_001)));
    expect([code, status, issues[0]!.code]).toEqual(['too-costly', expect.any(Number), 'too-costly']);
    expect(message).toContain('longer than 2000 bytes');
  }
  const bundle = {
    resourceType: 'Bundle',
    type: 'batch',
    entry: [{ resource: binary(2_001), request: { method: 'POST', url: 'Binary' } }],
  };
  const { bundle: answer } = await importBundle(bundle, { store, caller: systemCaller('clinic') });
  expect(answer.entry![0]!.response!.outcome).toMatchObject({ issue: [{ code: 'too-costly' }] });
  await store.close();
});

test('16 MiB are the default, and 128 MiB the maximum', async () => {
  const store = new MemoryStore();
  const trusted = await system(store);
  expect((await trusted.create(binary(16 * 1024 * 1024 - 100))).id).toBeDefined();
  expect((await faultOf(trusted.create(binary(16 * 1024 * 1024 + 1)))).code).toBe('too-costly');
  for (const maxResourceBytes of [0, 1.5, 128 * 1024 * 1024 + 1]) {
    expect(() => new MemoryStore({ maxResourceBytes })).toThrow('maxResourceBytes must be a whole number');
    expect(() => new SqliteStore(':memory:', { maxResourceBytes })).toThrow('maxResourceBytes must be a whole number');
  }
});
