import assert from 'node:assert/strict';
import { FhirError } from '../../fhir/error.js';
import { ALL, type Criteria } from '../../search/criteria/criteria.js';
import type { StoreRemoval } from '../../store/removal.js';
import type { ResourceStore } from '../../store/store.js';
import type { Change, EraseWrite } from '../../store/write.js';
import { type ConformanceSuite, idsOf, keyOf, put, PROJECT, putAll, queryOf, resourceOf } from '../conformance-case.js';

/**
 * Erasing, purging and removing projects. Of a store without `removal` the cases only ask that it refuses erasures with
 * `unsupported` and changes nothing.
 */
export const removalSuite: ConformanceSuite = {
  name: 'removal',
  cases: [
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
    {
      name: 'reports to listeners what was erased',
      run: withRemoval(async (store) => {
        await putAll(store, resourceOf('Patient', 'a'));
        const heard: Change[] = [];
        store.subscribe((changes) => heard.push(...changes));
        const [result] = await store.commit([erase('Patient', 'a'), erase('Patient', 'never')]);
        await store.commit([erase('Patient', 'a')]);
        const { versionId } = result as { versionId: string };
        assert.deepEqual(heard, [{ kind: 'erase', key: keyOf('Patient', 'a'), versionId }]);
      }),
    },
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
        const heard: Change[] = [];
        store.subscribe((changes) => heard.push(...changes));
        assert.deepEqual(await removeAll(removal, PROJECT), { resources: 3, versions: 5 });
        assert.deepEqual(heard.map(({ kind, key }) => `${kind} ${key.project} ${key.type}/${key.id}`).toSorted(), [
          `erase ${PROJECT} Observation/a`,
          `erase ${PROJECT} Patient/a`,
          `erase ${PROJECT} Patient/b`,
        ]);
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

/** The history of Patients by id, if the store lists it; else the expected result. */
async function timeline(store: ResourceStore): Promise<readonly unknown[]> {
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

function withRemoval(run: RemovalCase): (store: ResourceStore) => Promise<void> {
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

function erase(type: string, id: string, reason = 'test-data'): EraseWrite {
  return { kind: 'erase', key: keyOf(type, id), reason };
}

/** All steps. @returns the number of versions removed */
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
