import assert from 'node:assert/strict';
import { ALL, type Criteria } from '../../search/criteria/criteria.js';
import type { StoreRemoval } from '../../store/removal.js';
import { type ConformanceSuite, idsOf, keyOf, PROJECT, put, putAll, queryOf, resourceOf } from '../conformance-case.js';
import { erase, erasureCases, timeline, withRemoval } from './erasure.js';

/**
 * Erasing, purging and removing projects. A store without `removal` is only asked to refuse erasures with `unsupported`
 * and to change nothing.
 */
export const removalSuite: ConformanceSuite = {
  name: 'removal',
  cases: [
    ...erasureCases,
    {
      name: 'purges versions that were replaced early enough, but not the newest',
      run: withRemoval(async (store, removal) => {
        for (const gender of ['male', 'female', 'other', 'unknown']) {
          await putAll(store, resourceOf('Patient', 'a', { gender }));
        }
        await putAll(store, resourceOf('Patient', 'b'));
        await putAll(store, resourceOf('Patient', 'deleted'));
        await store.commit([{ kind: 'delete', key: keyOf('Patient', 'deleted') }]);
        assert.equal(await purge(removal, { replacedBefore: '2000-01-01T00:00:00Z' }), 0);
        const replacedBefore = '9999-01-01T00:00:00Z';
        assert.equal(await purge(removal, { replacedBefore, keep: 3 }), 1);
        assert.equal(await purge(removal, { replacedBefore, type: 'Observation' }), 0);
        const { entries, total } = await store.history(keyOf('Patient', 'a'), { offset: 0, limit: 9 });
        assert.deepEqual([entries.map(({ versionId }) => versionId), total], [['4', '3', '2'], 3]);
        const second = await store.history(keyOf('Patient', 'a'), { offset: 1, limit: 1 });
        assert.deepEqual([second.entries, second.total], [[entries[1]], 3]);
        assert.equal(await purge(removal, { replacedBefore }), 3);
        const kept = await store.read(['1', '2', '3', '4'].map((version) => ({ ...keyOf('Patient', 'a'), version })));
        assert.deepEqual(
          kept.map(({ status }) => status),
          ['missing', 'missing', 'missing', 'found'],
        );
        assert.deepEqual(await idsOf(store, queryOf('Patient')), ['a', 'b']);
        const gone = await store.history(keyOf('Patient', 'deleted'), { offset: 0, limit: 9 });
        assert.deepEqual([gone.entries.map(({ kind }) => kind), gone.total], [['delete'], 1]);
        if (store.typeHistory !== undefined) {
          assert.deepEqual(await timeline(store), [
            ['delete', 'deleted', '2', undefined],
            ['create', 'b', '1', undefined],
            ['update', 'a', '4', undefined],
          ]);
        }
        const [next] = await putAll(store, resourceOf('Patient', 'a'));
        assert.equal(next?.kind === 'put' && next.versionId, '5');
        assert.equal((await store.history(keyOf('Patient', 'a'), { offset: 0, limit: 9 })).total, 2);
        assert.equal(await purge(removal, { replacedBefore }), 1);
      }),
    },
    {
      name: 'refuses to purge current versions',
      run: withRemoval(async (_, removal) => {
        const request = { project: PROJECT, replacedBefore: '9999-01-01T00:00:00Z', keep: 0 };
        await assert.rejects(removal.purgeHistory(request), { name: 'FhirError', code: 'invalid' });
        await assert.rejects(removal.purgeHistory({ ...request, keep: 1, replacedBefore: 'soon' }), {
          code: 'invalid',
        });
      }),
    },
    {
      name: 'removes a project with everything, and nothing of others',
      run: withRemoval(async (store, removal) => {
        const elements = { gender: 'male', identifier: [{ system: 'urn:a', value: '1' }] };
        for (const project of [PROJECT, 'elsewhere']) {
          await store.commit([
            put(resourceOf('Patient', 'a', elements), { unique: ['text'] }, project),
            put(resourceOf('Observation', 'a', { subject: { reference: 'Patient/a' } }), {}, project),
          ]);
        }
        await putAll(store, resourceOf('Patient', 'a', elements), resourceOf('Patient', 'b'));
        await store.commit([{ kind: 'delete', key: keyOf('Patient', 'b') }, erase('Patient', 'never')]);
        assert.deepEqual(await removeAll(removal, PROJECT), { resources: 3, versions: 5 });
        assert.deepEqual(await removeAll(removal, PROJECT), { resources: 0, versions: 0 });
        const keys = [keyOf('Patient', 'a'), keyOf('Patient', 'b'), keyOf('Observation', 'a')];
        assert.deepEqual(
          (await store.read(keys)).map(({ status }) => status),
          ['missing', 'missing', 'missing'],
        );
        assert.deepEqual(await store.history(keyOf('Patient', 'a'), { offset: 0, limit: 9 }), {
          entries: [],
          total: 0,
        });
        if (store.typeHistory !== undefined) {
          assert.deepEqual(await timeline(store), []);
        }
        for (const type of ['Patient', 'Observation']) {
          const { matches, total } = await store.search(queryOf(type, ALL, { total: true }));
          assert.deepEqual([matches, total], [[], 0]);
        }
        const male: Criteria = { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'male' } };
        assert.deepEqual(await idsOf(store, { ...queryOf('Patient', male), project: 'elsewhere' }), ['a']);
        // The project can be filled again.
        await store.commit([put(resourceOf('Patient', 'a', elements), { unique: ['text'] })]);
        const coded: Criteria = {
          kind: 'match',
          parameter: 'identifier',
          test: { kind: 'token', system: 'urn:a', code: '1' },
        };
        assert.deepEqual(await idsOf(store, queryOf('Patient', coded)), ['a']);
      }),
    },
    {
      name: 'answers as before after scrubbing',
      run: withRemoval(async (store, removal) => {
        const elements = { identifier: [{ system: 'urn:erased', value: '1' }] };
        await putAll(
          store,
          resourceOf('Patient', 'a', elements),
          resourceOf('Patient', 'b', { identifier: [{ system: 'urn:kept', value: '1' }] }),
          resourceOf('Observation', 'a', { subject: { reference: 'Patient/a' } }),
        );
        await store.commit([erase('Patient', 'a')]);
        await removal.scrub();
        const coded = (system: string): Criteria => ({
          kind: 'match',
          parameter: 'identifier',
          test: { kind: 'token', system, code: '1' },
        });
        assert.deepEqual(await idsOf(store, queryOf('Patient', coded('urn:kept'))), ['b']);
        await putAll(store, resourceOf('Patient', 'c', elements));
        assert.deepEqual(await idsOf(store, queryOf('Patient', coded('urn:erased'))), ['c']);
        const [page] = await store.searchByReference(queryOf('Observation'), 'subject', [{ type: 'Patient', id: 'a' }]);
        assert.deepEqual(
          page?.matches.map(({ resource }) => resource.id),
          ['a'],
        );
      }),
    },
  ],
};

/** Purges in steps until nothing is left. @returns the number of versions removed */
async function purge(
  removal: StoreRemoval,
  request: { readonly replacedBefore: string; readonly keep?: number; readonly type?: string },
): Promise<number> {
  let versions = 0;
  let after: string | undefined;
  do {
    const step = await removal.purgeHistory({ project: PROJECT, keep: 1, ...request, after });
    versions += step.versions;
    after = step.next;
  } while (after !== undefined);
  return versions;
}

async function removeAll(
  removal: StoreRemoval,
  project: string,
): Promise<{ readonly resources: number; readonly versions: number }> {
  const all = { resources: 0, versions: 0 };
  for (;;) {
    const step = await removal.removeProject(project);
    all.resources += step.resources;
    all.versions += step.versions;
    if (step.done) return all;
  }
}
