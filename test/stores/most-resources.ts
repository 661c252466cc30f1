import { expect } from 'vitest';
import type { ResourceStore } from '../../src/index.js';
import { putAll, queryOf, resourceOf } from '../support/kit.js';

/** A store of this library refuses a search by reference that finds more than `maxResources`. */
export async function expectFewResources(store: ResourceStore): Promise<void> {
  await putAll(
    store,
    ...['a', 'b', 'c'].map((id) =>
      resourceOf('Observation', id, { subject: { reference: `Patient/${id === 'c' ? 'q' : 'p'}` } }),
    ),
  );
  const targets = ['p', 'q', 'r'].map((id) => ({ type: 'Patient', id }));
  const found = async (maxResources: number, page: object = {}): Promise<readonly number[]> => {
    const query = queryOf('Observation', undefined, page);
    const pages = await store.searchByReference(query, 'subject', targets, { maxResources });
    return pages.map(({ matches }) => matches.length);
  };
  expect(await found(3)).toEqual([2, 1, 0]);
  expect(await found(3, { total: true, limit: 5 })).toEqual([2, 1, 0]);
  expect(await found(2, { limit: 1 })).toEqual([1, 1, 0]);
  for (const page of [{}, { total: true, limit: 5 }]) {
    await expect(found(2, page)).rejects.toMatchObject({
      code: 'too-costly',
      details: { limit: 'maxResources', max: 2 },
    });
  }
  await expect(found(0)).rejects.toMatchObject({ code: 'too-costly' });
  expect(await found(0, { total: true, limit: 0 })).toEqual([0, 0, 0]);
}
