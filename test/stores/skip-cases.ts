import { expect } from 'vitest';
import type { AnyResource } from '../../src/fhir/resource.js';
import type { Criteria, SortKey } from '../../src/search/criteria/criteria.js';
import type { SearchQuery } from '../../src/store/search-query.js';
import type { ResourceStore } from '../../src/store/store.js';
import { PROJECT, put } from '../../src/testing/conformance-case.js';

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

/** Asserts that resources of which the code is only a text come after the codes, and that those without a code are left out. */
export async function assertTextsAfterCodes(store: ResourceStore): Promise<void> {
  const ids = Array.from({ length: 6 }, (_, n) => `o${n}`);
  const codeOf = (n: number): object => (n % 2 === 0 ? { text: 'x' } : { coding: [{ code: `c${n}` }] });
  const resources = ids.map((id, n) => ({ resourceType: 'Observation', id, status: 'final', code: codeOf(n) }));
  await write(store, [...resources, { resourceType: 'Observation', id: 'none' }]);
  const criteria: Criteria = { kind: 'missing', parameter: 'code', missing: false };
  for (const limit of [undefined, 20]) {
    const query = { project: PROJECT, type: 'Observation', criteria, sort: [by('code')], limit };
    const { matches } = await store.search(query);
    expect(matches.map(({ resource }) => resource.id)).toEqual(['o1', 'o3', 'o5', 'o0', 'o2', 'o4']);
  }
}

/** The answer of a store to a query. */
export async function answerOf(store: ResourceStore, query: SearchQuery): Promise<unknown> {
  const { matches, total } = await store.search(query);
  return [query.criteria, total, matches.map(({ resource }) => resource.id)];
}
