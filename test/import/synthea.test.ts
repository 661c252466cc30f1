import { describe, expect, test } from 'vitest';
import { importBundle } from '../../src/index.js';
import { sharedJson, syntheaBundles, type TransactionBundle } from '../support/shared.js';
import { contents, memoryContext } from './harness.js';

describe('real Bundles', () => {
  test('of Synthea keep all resources, their ids and their links', async () => {
    const context = memoryContext();
    const wanted = new Set<string>();
    let imported = 0;
    for (const bundle of syntheaBundles(6)) {
      for (const { resource } of bundle.entry) wanted.add(`${resource.resourceType}/${resource.id!}`);
      const { created, updated, unchanged } = await importBundle(bundle, context);
      expect(updated).toBe(0);
      imported += created;
      expect(created + unchanged).toBe(bundle.entry.length);
      expect(await importBundle(bundle, context)).toMatchObject({
        created: 0,
        updated: 0,
        unchanged: bundle.entry.length,
      });
    }
    const found = await contents(context.store);
    expect(Object.keys(found).sort()).toEqual([...wanted].sort());
    expect(imported).toBe(wanted.size);
    const references = Object.values(found).flatMap(referencesIn);
    expect(references.length).toBeGreaterThan(1000);
    for (const reference of references)
      expect(reference.startsWith('#') || wanted.has(reference), reference).toBe(true);
  });

  test('with http fullUrls keep their content', async () => {
    const context = memoryContext();
    const bundle = sharedJson<TransactionBundle>('corpus/supplement.json');
    expect(await importBundle(bundle, context)).toMatchObject({ created: bundle.entry.length });
    const found = await contents(context.store);
    for (const { resource } of bundle.entry) {
      const { meta: _meta, ...elements } = resource;
      expect(found[`${resource.resourceType}/${resource.id!}`]).toMatchObject(elements);
    }
  });
});

function referencesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === 'reference' && typeof inner === 'string' ? [inner] : referencesIn(inner),
  );
}
