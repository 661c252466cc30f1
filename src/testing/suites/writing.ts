import assert from 'node:assert/strict';
import type { WriteResult } from '../../store/write.js';
import { type ConformanceSuite, idsOf, keyOf, put, putAll, queryOf, resourceOf } from '../conformance-case.js';

/** `commit` without conditions, versions and `history`. */
export const writingSuite: ConformanceSuite = {
  name: 'writing',
  cases: [
    {
      name: 'answers each write in order',
      async run(store) {
        const results = await store.commit([
          put(resourceOf('Patient', 'a')),
          { kind: 'assert-no-match', query: queryOf('Group') },
          put(resourceOf('Patient', 'a', { active: true })),
          { kind: 'delete', key: keyOf('Patient', 'b') },
          { kind: 'delete', key: keyOf('Patient', 'a') },
        ]);
        assert.deepEqual(
          results.map((one) => (one.kind === 'put' ? `put ${one.created}` : one.kind)),
          ['put true', 'assert-no-match', 'put false', 'delete', 'delete'],
        );
        assert.equal((results[3] as { versionId?: unknown }).versionId, null);
        assert.equal(typeof (results[4] as { versionId?: unknown }).versionId, 'string');
      },
    },
    {
      name: 'answers no writes with no results',
      async run(store) {
        assert.deepEqual(await store.commit([]), []);
      },
    },
    {
      name: 'returns what it keeps',
      async run(store) {
        const [result] = await putAll(store, resourceOf('Patient', 'a', { gender: 'other' }));
        const [found] = await store.read([keyOf('Patient', 'a')]);
        assert.ok(result?.kind === 'put' && found?.status === 'found');
        assert.deepEqual(
          [result.versionId, result.lastUpdated, result.resource],
          [found.versionId, found.lastUpdated, found.resource],
        );
      },
    },
    {
      name: 'gives every version an id of its own, deletions and revivals included',
      async run(store) {
        const ids: unknown[] = [];
        for (let round = 0; round < 3; round++) {
          ids.push(versionOf(await putAll(store, resourceOf('Patient', 'a'))));
          ids.push(versionOf(await putAll(store, resourceOf('Patient', 'a'))));
          ids.push(versionOf(await store.commit([{ kind: 'delete', key: keyOf('Patient', 'a') }])));
        }
        assert.equal(new Set(ids).size, 9);
        const { entries, total } = await store.history(keyOf('Patient', 'a'), { offset: 0, limit: 20 });
        assert.equal(total, 9);
        assert.deepEqual(
          entries.map(({ versionId }) => versionId),
          ids.toReversed(),
        );
        const kinds = entries.map(({ kind }) => kind);
        assert.deepEqual(kinds.slice(0, 3), ['delete', 'put', 'put']);
      },
    },
    {
      name: 'gives each version of a resource a later instant than the one before',
      async run(store) {
        for (let round = 0; round < 10; round++) {
          const key = keyOf('Patient', 'a');
          await store.commit([put(resourceOf('Patient', 'a')), { kind: 'delete', key }]);
        }
        const { entries } = await store.history(keyOf('Patient', 'a'), { offset: 0, limit: 20 });
        const instants = entries.map(({ lastUpdated }) => lastUpdated).toReversed();
        assert.equal(instants.length, 20);
        assert.deepEqual(instants, [...new Set(instants)].toSorted());
      },
    },
    {
      name: 'gives history in pages, newest first',
      async run(store) {
        for (const gender of ['male', 'female', 'other', 'unknown'])
          await putAll(store, resourceOf('Patient', 'a', { gender }));
        const page = await store.history(keyOf('Patient', 'a'), { offset: 1, limit: 2 });
        assert.equal(page.total, 4);
        assert.deepEqual(
          page.entries.map((one) => one.kind === 'put' && (one.resource as { gender?: string }).gender),
          ['other', 'female'],
        );
        assert.deepEqual((await store.history(keyOf('Patient', 'a'), { offset: 9, limit: 2 })).entries, []);
        assert.deepEqual((await store.history(keyOf('Patient', 'a'), { offset: 0, limit: 0 })).entries, []);
      },
    },
    {
      name: 'finds a resource by what it says now, and no longer by what it said',
      async run(store) {
        const male = queryOf('Patient', { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'male' } });
        await putAll(
          store,
          resourceOf('Patient', 'a', { gender: 'male' }),
          resourceOf('Patient', 'b', { gender: 'male' }),
        );
        assert.deepEqual(await idsOf(store, male), ['a', 'b']);
        await putAll(store, resourceOf('Patient', 'a', { gender: 'female' }));
        assert.deepEqual(await idsOf(store, male), ['b']);
        await store.commit([{ kind: 'delete', key: keyOf('Patient', 'b') }]);
        assert.deepEqual(await idsOf(store, male), []);
        await putAll(store, resourceOf('Patient', 'b', { gender: 'male' }));
        assert.deepEqual(await idsOf(store, male), ['b']);
      },
    },
    {
      name: 'finds the last of several writes of one commit',
      async run(store) {
        await putAll(
          store,
          resourceOf('Patient', 'a', { gender: 'male' }),
          resourceOf('Patient', 'a', { gender: 'female' }),
          resourceOf('Patient', 'a', { gender: 'other' }),
        );
        for (const [code, ids] of [
          ['male', []],
          ['female', []],
          ['other', ['a']],
        ] as const) {
          const criteria = { kind: 'match', parameter: 'gender', test: { kind: 'token', code } } as const;
          assert.deepEqual(await idsOf(store, queryOf('Patient', criteria)), ids);
        }
      },
    },
    {
      name: 'changes nothing by deleting what is absent',
      async run(store) {
        await store.commit([{ kind: 'delete', key: keyOf('Patient', 'a') }]);
        assert.deepEqual(await store.read([keyOf('Patient', 'a')]), [{ status: 'missing' }]);
        const [result] = await putAll(store, resourceOf('Patient', 'a'));
        assert.equal(result?.kind === 'put' && result.created, true);
      },
    },
    {
      name: 'refuses a resource that is not the one of its key, and keeps nothing',
      async run(store) {
        for (const resource of [resourceOf('Patient', 'b'), resourceOf('Group', 'a')]) {
          const writes = [
            put(resourceOf('Patient', 'c')),
            { kind: 'put', key: keyOf('Patient', 'a'), resource } as const,
          ];
          await assert.rejects(store.commit(writes), { name: 'FhirError', code: 'invalid' });
        }
        assert.deepEqual(await idsOf(store, queryOf('Patient')), []);
      },
    },
    {
      name: 'keeps a resource of a megabyte whole',
      async run(store) {
        const text = 'é'.repeat(500_000);
        await putAll(store, resourceOf('Patient', 'a', { text: { div: text } }));
        const [found] = await store.read([keyOf('Patient', 'a')]);
        assert.equal(found?.status === 'found' && (found.resource as { text?: { div?: string } }).text?.div, text);
      },
    },
  ],
};

function versionOf([result]: readonly WriteResult[]): unknown {
  return result !== undefined && 'versionId' in result ? result.versionId : undefined;
}
