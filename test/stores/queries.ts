import type { AnyResource, ResourceStore } from '../../src/index.js';
import type { Criteria, SortKey } from '../../src/store.js';
import { put } from '../support/kit.js';

/** Writes resources in one commit. @returns the stored resources */
export async function write(store: ResourceStore, resources: readonly AnyResource[]): Promise<readonly AnyResource[]> {
  const results = await store.commit(resources.map((resource) => put(resource)));
  return results.map((result) => (result as unknown as { readonly resource: AnyResource }).resource);
}

export const by = (parameter: string, descending = false): SortKey => ({ parameter, descending });

export const match = (parameter: string, code: string): Criteria => ({
  kind: 'match',
  parameter,
  test: { kind: 'token', code },
});

export const above = (value: number): Criteria => ({
  kind: 'match',
  parameter: 'value-quantity',
  test: { kind: 'quantity', prefix: 'gt', low: value, high: value },
});
