import assert from 'node:assert/strict';
import { FhirError } from '../../fhir/error.js';
import { ALL, type Criteria } from '../../search/criteria/criteria.js';
import type { StoreRemoval } from '../../store/removal.js';
import type { ResourceStore } from '../../store/store.js';
import type { EraseWrite } from '../../store/write.js';
import { type ConformanceCase, idsOf, keyOf, PROJECT, put, putAll, queryOf, resourceOf } from '../conformance-case.js';

/** Erasing single resources: the cases of the removal suite about writes of kind `erase`. */
export const erasureCases: readonly ConformanceCase[] = [
  {
    name: 'leaves of an erased resource one version without content',
    run: withRemoval(async (store) => {
      for (const gender of ['male', 'female']) await putAll(store, resourceOf('Patient', 'a', { gender }));
      const [result] = await store.commit([erase('Patient', 'a')]);
      assert.deepEqual({ ...result, versionId: '' }, { kind: 'erase', versionId: '', versions: 2 });
      const versionId = (result as { versionId: string }).versionId;
      assert.ok(!['1', '2'].includes(versionId));
      const [found, ...versions] = await store.read([
        keyOf('Patient', 'a'),
        { ...keyOf('Patient', 'a'), version: versionId },
        { ...keyOf('Patient', 'a'), version: '1' },
        { ...keyOf('Patient', 'a'), version: '2' },
      ]);
      assert.ok(found?.status === 'gone');
      assert.deepEqual([found.versionId, found.erased], [versionId, { reason: 'test-data' }]);
      assert.deepEqual(versions, [found, { status: 'missing' }, { status: 'missing' }]);
      const { lastUpdated, erased } = found;
      assert.deepEqual(await store.history(keyOf('Patient', 'a'), { offset: 0, limit: 9 }), {
        entries: [{ kind: 'delete', versionId, lastUpdated, erased }],
        total: 1,
      });
      if (store.typeHistory !== undefined) {
        assert.deepEqual(await timeline(store), [['delete', 'a', versionId, { reason: 'test-data' }]]);
      }
    }),
  },
  {
    name: 'says of a deletion that is not an erasure nothing else',
    run: withRemoval(async (store) => {
      await putAll(store, resourceOf('Patient', 'a'));
      await store.commit([{ kind: 'delete', key: keyOf('Patient', 'a') }]);
      const [found] = await store.read([keyOf('Patient', 'a')]);
      assert.deepEqual(Object.keys(found!).toSorted(), ['lastUpdated', 'status', 'versionId']);
    }),
  },
  {
    name: 'finds nothing of an erased resource, and everything else',
    run: withRemoval(async (store) => {
      await putAll(
        store,
        resourceOf('Patient', 'a', { name: [{ family: 'Erased' }] }),
        resourceOf('Patient', 'b', { name: [{ family: 'Kept' }] }),
        resourceOf('Observation', 'a', { subject: { reference: 'Patient/a' } }),
        resourceOf('Observation', 'b', { subject: { reference: 'Patient/b' } }),
      );
      await store.commit([put(resourceOf('Patient', 'c'), { unique: ['text'] })]);
      await store.commit([erase('Patient', 'a'), erase('Patient', 'c'), erase('Observation', 'b')]);
      const { matches, total } = await store.search(queryOf('Patient', ALL, { total: true }));
      assert.deepEqual([matches.map(({ resource }) => resource.id), total], [['b'], 1]);
      const named = (value: string): Criteria => ({
        kind: 'match',
        parameter: 'family',
        test: { kind: 'string', comparator: 'starts-with', text: value },
      });
      assert.deepEqual(await idsOf(store, queryOf('Patient', named('erased'))), []);
      assert.deepEqual(await idsOf(store, queryOf('Patient', named('kept'))), ['b']);
      const subject = (of: Criteria): Criteria => ({ kind: 'chain', parameter: 'subject', type: 'Patient', of });
      assert.deepEqual(await idsOf(store, queryOf('Observation', subject(named('erased')))), []);
      const targets = ['a', 'b'].map((id) => ({ type: 'Patient', id }));
      const pages = await store.searchByReference(queryOf('Observation', ALL, { total: true }), 'subject', targets);
      assert.deepEqual(
        pages.map((page) => [page.matches.map(({ resource }) => resource.id), page.total]),
        [
          [['a'], 1],
          [[], 0],
        ],
      );
      // The text is free again.
      await store.commit([put(resourceOf('Patient', 'd'), { unique: ['text'] })]);
    }),
  },
  {
    name: 'never uses the id of an erased resource again',
    run: withRemoval(async (store) => {
      await putAll(store, resourceOf('Patient', 'a'), resourceOf('Patient', 'b'));
      await store.commit([erase('Patient', 'a')]);
      const [before] = await store.read([keyOf('Patient', 'a')]);
      const writes = [put(resourceOf('Patient', 'new')), put(resourceOf('Patient', 'a'))];
      await assert.rejects(store.commit(writes), (error) => {
        assert.ok(error instanceof FhirError);
        assert.deepEqual([error.code, error.details?.['index']], ['gone', 1]);
        return true;
      });
      await assert.rejects(store.commit([erase('Patient', 'b'), put(resourceOf('Patient', 'b'))]), { code: 'gone' });
      assert.deepEqual(await idsOf(store, queryOf('Patient')), ['b']);
      await store.commit([{ kind: 'delete', key: keyOf('Patient', 'a') }]);
      assert.deepEqual(await store.read([keyOf('Patient', 'a')]), [before]);
    }),
  },
  {
    name: 'erases deleted resources too, and nothing twice',
    run: withRemoval(async (store) => {
      await putAll(store, resourceOf('Patient', 'a', { gender: 'male' }));
      await store.commit([{ kind: 'delete', key: keyOf('Patient', 'a') }]);
      const [first] = await store.commit([erase('Patient', 'a')]);
      assert.equal(first?.kind === 'erase' && first.versions, 2);
      const [before] = await store.read([keyOf('Patient', 'a')]);
      const [again, never] = await store.commit([erase('Patient', 'a', 'other'), erase('Patient', 'never')]);
      assert.deepEqual(again, { ...first, versions: 0 });
      assert.deepEqual(never, { kind: 'erase', versionId: null, versions: 0 });
      assert.deepEqual(await store.read([keyOf('Patient', 'a'), keyOf('Patient', 'never')]), [
        before,
        { status: 'missing' },
      ]);
    }),
  },
  {
    name: 'erases nothing with a commit that fails',
    run: withRemoval(async (store) => {
      const [written] = await putAll(store, resourceOf('Patient', 'a', { gender: 'male' }));
      const writes = [erase('Patient', 'a'), put(resourceOf('Patient', 'b'), { expect: { version: '7' } })];
      await assert.rejects(store.commit(writes), { code: 'precondition-failed' });
      const stale = { ...erase('Patient', 'a'), expect: { version: '7' } };
      await assert.rejects(store.commit([stale]), { code: 'precondition-failed' });
      const [found] = await store.read([keyOf('Patient', 'a')]);
      assert.ok(written?.kind === 'put' && found?.status === 'found');
      assert.deepEqual(found.resource, written.resource);
      const male: Criteria = { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'male' } };
      assert.deepEqual(await idsOf(store, queryOf('Patient', male)), ['a']);
    }),
  },
  {
    name: 'takes codes as reasons, and nothing else',
    run: withRemoval(async (store) => {
      await putAll(store, resourceOf('Patient', 'a'));
      for (const reason of ['', 'Has Diabetes', 'x'.repeat(65), null]) {
        const write = erase('Patient', 'a', reason as string);
        await assert.rejects(store.commit([write]), { name: 'FhirError', code: 'invalid' });
      }
      assert.deepEqual(await idsOf(store, queryOf('Patient')), ['a']);
    }),
  },
];

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
