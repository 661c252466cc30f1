import assert from 'node:assert/strict';
import type { TypeHistoryEntry, TypeHistoryQuery } from '../../store/history.js';
import type { ResourceStore } from '../../store/store.js';
import type { Write } from '../../store/write.js';
import { type ConformanceSuite, keyOf, PROJECT, put, putAll, resourceOf } from '../conformance-case.js';

/** `typeHistory`, for stores that have it. */
export const typeHistorySuite: ConformanceSuite = {
  name: 'type history',
  cases: [
    {
      name: 'lists the versions of all resources of a type, deletions included, newest first',
      async run(store) {
        if (store.typeHistory === undefined) return;
        await putAll(store, resourceOf('Patient', 'a', { gender: 'male' }));
        await store.commit([put(resourceOf('Patient', 'a'), {}, 'other')]);
        await putAll(store, resourceOf('Patient', 'a', { gender: 'female' }), resourceOf('Group', 'a'));
        await store.commit([remove('a')]);
        await putAll(store, resourceOf('Patient', 'a', { gender: 'other' }));
        const entries = await store.typeHistory(queryOf({ limit: 9 }));
        assert.deepEqual(entries.map(describe), ['put a new other', 'delete a', 'put a next female', 'put a new male']);
        const { entries: versions } = await store.history(keyOf('Patient', 'a'), { offset: 0, limit: 9 });
        assert.deepEqual(entries.map(versionOf), versions.map(versionOf));
        assert.deepEqual(await store.typeHistory(queryOf({ limit: 9, type: 'Device' })), []);
      },
    },
    {
      name: 'pages hold every version once, in one order, also of one instant',
      async run(store, random) {
        if (store.typeHistory === undefined) return;
        await writeRandomly(store, random);
        const all = await store.typeHistory(queryOf({ limit: 1000 }));
        for (let index = 1; index < all.length; index++) {
          assert.ok(all[index]!.lastUpdated <= all[index - 1]!.lastUpdated, 'newest first');
        }
        const paged: TypeHistoryEntry[] = [];
        for (;;) {
          const page = await store.typeHistory(queryOf({ limit: 3, after: paged.at(-1) }));
          assert.ok(page.length <= 3);
          if (page.length === 0) break;
          paged.push(...page);
        }
        assert.deepEqual(paged, all);
      },
    },
    {
      name: 'holds what the histories of the resources hold, in their order',
      async run(store, random) {
        if (store.typeHistory === undefined) return;
        const ids = await writeRandomly(store, random);
        const all = await store.typeHistory(queryOf({ limit: 1000 }));
        let count = 0;
        for (const id of ids) {
          const { entries, total } = await store.history(keyOf('Patient', id), { offset: 0, limit: 1000 });
          assert.deepEqual(all.filter((one) => one.id === id).map(versionOf), entries.map(versionOf));
          for (const [index, entry] of entries.entries()) {
            const listed = all.find((one) => one.id === id && one.versionId === entry.versionId)!;
            const before = entries[index + 1];
            const created = before === undefined || before.kind === 'delete';
            if (listed.kind === 'put') assert.equal(listed.created, created);
          }
          count += total;
        }
        assert.equal(all.length, count);
      },
    },
    {
      name: 'lists only versions that are not current, of all resources and of some',
      async run(store, random) {
        if (store.typeHistory === undefined) return;
        const ids = await writeRandomly(store, random);
        const states = await store.read(ids.map((id) => keyOf('Patient', id)));
        const current = new Map(
          states.map((state, index) => [ids[index], state.status === 'found' ? state.versionId : undefined]),
        );
        const all = await store.typeHistory(queryOf({ limit: 1000 }));
        const past = all.filter(({ id, versionId }) => current.get(id) !== versionId);
        assert.deepEqual(await store.typeHistory(queryOf({ limit: 1000, past: true })), past);
        const page = await store.typeHistory(queryOf({ limit: 2, past: true, after: past[0] }));
        assert.deepEqual(page, past.slice(1, 3));
        const some = ids.slice(0, 2);
        const ofSome = past.filter(({ id }) => some.includes(id));
        assert.deepEqual(await store.typeHistory(queryOf({ limit: 1000, past: true, ids: some })), ofSome);
      },
    },
    {
      name: 'lists the versions of some resources only',
      async run(store, random) {
        if (store.typeHistory === undefined) return;
        const [first, , third] = (await writeRandomly(store, random)) as [string, string, string];
        const all = await store.typeHistory(queryOf({ limit: 1000 }));
        const chosen = all.filter(({ id }) => id === first || id === third);
        const ids = [third, 'unknown', first, third];
        assert.deepEqual(await store.typeHistory(queryOf({ limit: 1000, ids })), chosen);
        const paged = await store.typeHistory(queryOf({ limit: 2, ids, after: chosen[0] }));
        assert.deepEqual(paged, chosen.slice(1, 3));
        assert.deepEqual(await store.typeHistory(queryOf({ limit: 9, ids: [] })), []);
      },
    },
    {
      name: 'begins with an instant, and after a version',
      async run(store, random) {
        if (store.typeHistory === undefined) return;
        await writeRandomly(store, random);
        const all = await store.typeHistory(queryOf({ limit: 1000 }));
        for (const [index, entry] of all.entries()) {
          const since = entry.lastUpdated;
          assert.deepEqual(
            await store.typeHistory(queryOf({ limit: 1000, since })),
            all.filter(({ lastUpdated }) => lastUpdated >= since),
          );
          assert.deepEqual(
            await store.typeHistory(queryOf({ limit: 2, after: entry })),
            all.slice(index + 1, index + 3),
          );
        }
        const later = new Date(Date.parse(all[0]!.lastUpdated) + 1).toISOString();
        assert.deepEqual(await store.typeHistory(queryOf({ limit: 9, since: later })), []);
        assert.deepEqual(await store.typeHistory(queryOf({ limit: 0 })), []);
      },
    },
    {
      name: 'takes any position: versions that are not there have a place too',
      async run(store) {
        if (store.typeHistory === undefined) return;
        await putAll(store, resourceOf('Patient', 'a'));
        const [entry] = await store.typeHistory(queryOf({ limit: 1 }));
        for (const versionId of ['', '0', 'x', '99999999999999999999', '1.0', "'"]) {
          const after = { lastUpdated: '2999-01-01T00:00:00.000Z', id: "it's", versionId };
          assert.deepEqual(await store.typeHistory(queryOf({ limit: 9, after })), [entry]);
          const before = { ...after, lastUpdated: '1999-01-01T00:00:00.000Z' };
          assert.deepEqual(await store.typeHistory(queryOf({ limit: 9, after: before })), []);
        }
      },
    },
    {
      name: 'a commit that fails leaves nothing in it',
      async run(store) {
        if (store.typeHistory === undefined) return;
        await putAll(store, resourceOf('Patient', 'a'));
        const before = await store.typeHistory(queryOf({ limit: 9 }));
        const writes = [
          put(resourceOf('Patient', 'a', { active: true })),
          put(resourceOf('Patient', 'b')),
          remove('a'),
          put(resourceOf('Patient', 'c'), { expect: { version: '7' } }),
        ];
        await assert.rejects(store.commit(writes), { code: 'precondition-failed' });
        assert.deepEqual(await store.typeHistory(queryOf({ limit: 9 })), before);
      },
    },
  ],
};

function queryOf(query: Partial<TypeHistoryQuery> & { readonly limit: number }): TypeHistoryQuery {
  return { project: PROJECT, type: 'Patient', ...query };
}

function remove(id: string): Write {
  return { kind: 'delete', key: keyOf('Patient', id) };
}

/** 30 versions of six resources, more or less, some of them of one instant. @returns the ids */
async function writeRandomly(store: ResourceStore, random: () => number): Promise<readonly string[]> {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  for (let commit = 0; commit < 8; commit++) {
    const writes = Array.from({ length: 1 + Math.floor(random() * 6) }, (): Write => {
      const id = ids[Math.floor(random() * ids.length)]!;
      return random() < 0.25 ? remove(id) : put(resourceOf('Patient', id, { active: random() < 0.5 }));
    });
    await store.commit(commit === 0 ? ids.map((id) => put(resourceOf('Patient', id))) : writes);
  }
  return ids;
}

function describe(entry: TypeHistoryEntry): string {
  if (entry.kind === 'delete') return `delete ${entry.id}`;
  return `put ${entry.id} ${entry.created ? 'new' : 'next'} ${(entry.resource as { gender?: string }).gender}`;
}

function versionOf({ versionId }: { readonly versionId: string }): string {
  return versionId;
}
