import { expect, test } from 'vitest';
import {
  importBundle,
  MemoryStore,
  type MemoryStoreOptions,
  type ResourceStore,
  systemCaller,
} from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { createCounters, withTelemetry } from '../../src/telemetry.js';
import { viewOf } from '../../src/store/store-view.js';
import { faultOf, repositoryOf, signedIn, system } from './harness.js';

const binary = (bytes: number): { resourceType: 'Binary'; contentType: string; data: string } => {
  const empty = { resourceType: 'Binary', contentType: 'a/b', data: '' } as const;
  return { ...empty, data: 'A'.repeat(bytes - JSON.stringify(empty).length) };
};

type Sizes = Pick<MemoryStoreOptions, 'maxResourceBytes' | 'maxResourceValues'>;

const OPEN: readonly (readonly [string, (sizes: Sizes) => ResourceStore])[] = [
  ['memory', (sizes) => new MemoryStore(sizes)],
  ['SQLite', (sizes) => new SqliteStore(':memory:', sizes)],
  ['an observed store', (sizes) => withTelemetry(new MemoryStore(sizes), { meter: createCounters() })],
];

test.each(OPEN)('%s accepts resources up to the size that it was opened with', async (_, open) => {
  const store = open({ maxResourceBytes: 2_000 });
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

const names = (count: number): { resourceType: 'Patient'; name: object[] } => ({
  resourceType: 'Patient',
  name: Array.from({ length: count }, (_, index) => ({ family: `F${index}` })),
});

test.each(OPEN)('%s accepts resources with as many values as it was opened with', async (_, open) => {
  const store = open({ maxResourceValues: 40 });
  const trusted = await system(store);
  const member = repositoryOf(store, await signedIn(store));
  // The Patient, its type, id and list, and an object and a text for each name.
  for (const repository of [trusted, member]) {
    const { id } = await repository.create(names(10));
    const refused = [
      () => repository.create(names(20)),
      () => repository.update({ ...names(20), id: id }),
      () => repository.patch('Patient', id, [{ op: 'replace', path: '/name', value: names(20).name }]),
      () =>
        repository.transaction({
          resourceType: 'Bundle',
          type: 'transaction',
          entry: [{ resource: names(20), request: { method: 'POST', url: 'Patient' } }],
        }),
    ];
    for (const [index, refusal] of refused.entries()) {
      const { code, issues, message } = await faultOf(refusal());
      const place = index < 3 ? 'Patient' : 'Bundle.entry[0].resource';
      expect([code, issues[0]]).toMatchObject(['too-costly', { code: 'too-costly', expression: [place] }]);
      expect(message).toContain('more than 40 values');
    }
  }
  await store.close();
});

test('a text counts as several values, unless it is base64', async () => {
  const trusted = await system(new MemoryStore({ maxResourceValues: 30 }));
  const text = (family: string): object => ({ resourceType: 'Patient', name: [{ family }] });
  // The Patient, its type, id, the list and its item, and the text with one more for each 64 characters.
  expect(await trusted.create(text('F '.repeat(32 * 24)) as never)).toBeDefined();
  expect((await faultOf(trusted.create(text('F '.repeat(32 * 25)) as never))).code).toBe('too-costly');
  expect(await trusted.create(binary(1_000_000))).toBeDefined();
});

test('a resource that was stored under a higher bound can be read, but is written only smaller', async () => {
  const store = new MemoryStore();
  const { id } = await (await system(store)).create(names(100));
  const bounded = repositoryOf({ ...viewOf(store, {}), maxResourceValues: 50 }, systemCaller('clinic'));
  expect((await bounded.read('Patient', id)).name).toHaveLength(100);
  expect((await bounded.search('Patient', 'family=F99')).entry).toHaveLength(1);
  const add = { op: 'add', path: '/active', value: true } as const;
  expect((await faultOf(bounded.patch('Patient', id, [add]))).code).toBe('too-costly');
  const patched = await bounded.patch('Patient', id, [{ op: 'replace', path: '/name', value: [{ text: 'x' }] }]);
  expect(patched.name).toEqual([{ text: 'x' }]);
});

test('16 MiB and 20,000 values are the default, and 128 MiB and 10,000,000 values the maximum', async () => {
  const store = new MemoryStore();
  const trusted = await system(store);
  expect((await trusted.create(binary(16 * 1024 * 1024 - 100))).id).toBeDefined();
  expect((await faultOf(trusted.create(binary(16 * 1024 * 1024 + 1)))).code).toBe('too-costly');
  for (const maxResourceBytes of [0, 1.5, 128 * 1024 * 1024 + 1]) {
    expect(() => new MemoryStore({ maxResourceBytes })).toThrow('maxResourceBytes must be a whole number');
    expect(() => new SqliteStore(':memory:', { maxResourceBytes })).toThrow('maxResourceBytes must be a whole number');
  }
  expect((await trusted.create(names(9_998))).id).toBeDefined();
  expect((await faultOf(trusted.create(names(9_999)))).code).toBe('too-costly');
  for (const maxResourceValues of [0, 1.5, 10_000_001]) {
    const message = 'maxResourceValues must be a whole number';
    expect(() => new MemoryStore({ maxResourceValues })).toThrow(message);
    expect(() => new SqliteStore(':memory:', { maxResourceValues })).toThrow(message);
  }
});
