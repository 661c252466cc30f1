import assert from 'node:assert/strict';
import type { StoreRemoval } from '../../store/removal.js';
import type { ResourceStore } from '../../store/store.js';
import type { EraseWrite } from '../../store/write.js';
import { idsOf, keyOf, PROJECT, putAll, queryOf, resourceOf } from '../conformance-case.js';

/** The history of Patients by id; empty if the store does not list it. */
export async function timeline(store: ResourceStore): Promise<readonly unknown[]> {
  const entries = (await store.typeHistory?.({ project: PROJECT, type: 'Patient', limit: 99 })) ?? [];
  return entries
    .map((entry) =>
      entry.kind === 'delete'
        ? ['delete', entry.id, entry.versionId, entry.erased]
        : [entry.created ? 'create' : 'update', entry.id, entry.versionId, undefined],
    )
    .toSorted(([, one], [, other]) => (String(one) > String(other) ? -1 : 1));
}

type RemovalCase = (store: ResourceStore, removal: StoreRemoval) => Promise<void>;

/** Wraps a case about removal. A store without `removal` is only asked to refuse erasures and to change nothing. */
export function withRemoval(run: RemovalCase): (store: ResourceStore) => Promise<void> {
  return async (store) => {
    if (store.removal !== undefined) {
      await run(store, store.removal);
      return;
    }
    await putAll(store, resourceOf('Patient', 'a'));
    await assert.rejects(store.commit([erase('Patient', 'a')]), { name: 'FhirError', code: 'unsupported' });
    assert.deepEqual(await idsOf(store, queryOf('Patient')), ['a']);
  };
}

/** The write that erases a resource of {@link PROJECT}. */
export function erase(type: string, id: string, reason = 'test-data'): EraseWrite {
  return { kind: 'erase', key: keyOf(type, id), reason };
}
