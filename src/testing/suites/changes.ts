import assert from 'node:assert/strict';
import type { ChangePage, ChangesQuery, CommittedChange } from '../../store/changes.js';
import type { ResourceStore } from '../../store/store.js';
import type { Write } from '../../store/write.js';
import { type ConformanceSuite, keyOf, PROJECT, put, putAll, resourceOf } from '../conformance-case.js';
import { erase } from './erasure.js';

/** `changes` and `watch`, for stores that have them. */
export const changeSuite: ConformanceSuite = {
  name: 'changes',
  cases: [
    {
      name: 'reports what was committed since a position, in the order of the commits, with both versions',
      run: withChanges(async (store, changesAfter) => {
        await putAll(store, resourceOf('Patient', 'before'));
        const start = await changesAfter(undefined);
        assert.deepEqual([start.changes, start.isReset], [[], false]);
        await putAll(store, resourceOf('Patient', 'a'), resourceOf('Group', 'g'));
        await store.commit([put(resourceOf('Patient', 'x'), {}, 'elsewhere')]);
        await putAll(store, resourceOf('Patient', 'a', { active: true }));
        await store.commit([remove('a'), remove('never')]);
        await putAll(store, resourceOf('Patient', 'a'));
        const page = await changesAfter(start.position);
        assert.equal(page.isReset, false);
        const [first, ...later] = groupsOf(page.changes);
        assert.deepEqual(first!.toSorted(), ['put Group/g null 1', 'put Patient/a null 1']);
        assert.deepEqual(later, [['put Patient/a 1 2'], ['delete Patient/a 2 3'], ['put Patient/a 3 4']]);
        assert.ok(page.changes.every(({ key }) => key.project === PROJECT));
        const versions = await store.read(
          page.changes.slice(2).flatMap(({ key, before, versionId }) => [
            { ...key, version: before! },
            { ...key, version: versionId },
          ]),
        );
        assert.deepEqual(
          versions.map(({ status }) => status),
          ['found', 'found', 'found', 'gone', 'gone', 'found'],
        );
        const end = await changesAfter(page.position);
        assert.deepEqual(end, { changes: [], position: page.position, isReset: false });
      }),
    },
    {
      name: 'continues after the position of any change, and after that of any page',
      run: withChanges(async (store, changesAfter, random) => {
        const { position } = await changesAfter(undefined);
        await writeRandomly(store, random);
        const all = await allAfter(store, position, 1000);
        for (const limit of [1, 3, 1000]) assert.deepEqual(await allAfter(store, position, limit), all);
        for (const { position: middle } of all) {
          const rest = all.slice(all.findLastIndex((one) => one.position === middle) + 1);
          assert.deepEqual(await allAfter(store, middle, 2), rest);
        }
      }),
    },
    {
      name: 'gives all changes of a commit together, whatever the limit',
      run: withChanges(async (store) => {
        const { position } = await store.changes!({ project: PROJECT });
        const many = Array.from({ length: 40 }, (_, index) => resourceOf('Patient', `p${index}`));
        await putAll(store, ...many);
        await putAll(store, ...many.slice(0, 3));
        const [first, second] = [await pageAfter(store, position, 1), await allAfter(store, position, 1)];
        assert.equal(first.changes.length, 40);
        assert.deepEqual(new Set(first.changes.map((one) => one.position)).size, 1);
        assert.equal(second.length, 43);
      }),
    },
    {
      name: 'reports changes of some types only',
      run: withChanges(async (store) => {
        const { position } = await store.changes!({ project: PROJECT });
        await putAll(store, resourceOf('Patient', 'a'), resourceOf('Group', 'g'), resourceOf('Device', 'd'));
        await putAll(store, resourceOf('Group', 'g', { active: true }));
        const some = await allAfter(store, position, 1000, ['Patient', 'Device', 'Unheard']);
        assert.deepEqual(groupsOf(some)[0]!.toSorted(), ['put Device/d null 1', 'put Patient/a null 1']);
        assert.equal(some.length, 2);
        assert.deepEqual(await allAfter(store, position, 1000, []), []);
      }),
    },
    {
      name: 'reports nothing of commits that failed or changed nothing',
      run: withChanges(async (store, changesAfter) => {
        const { position } = await changesAfter(undefined);
        await assert.rejects(
          store.commit([
            put(resourceOf('Patient', 'a')),
            put(resourceOf('Patient', 'b'), { expect: { version: '1' } }),
          ]),
        );
        await store.commit([remove('a')]);
        await store.commit([]);
        assert.deepEqual(await changesAfter(position), { changes: [], position, isReset: false });
      }),
    },
    {
      name: 'resets after a position that it never gave for the project, and takes any text',
      run: withChanges(async (store, changesAfter) => {
        await putAll(store, resourceOf('Patient', 'a'));
        await store.commit([put(resourceOf('Patient', 'a'), {}, 'elsewhere')]);
        const { position } = await changesAfter(undefined);
        const elsewhere = await store.changes!({ project: 'elsewhere' });
        const hostile = ['', '0', '-1', "'; --", 'A'.repeat(10_000), '\u0000', `${position} `, `${position}0`];
        for (const after of [...hostile, elsewhere.position, 5 as unknown as string, {} as unknown as string]) {
          const page = await changesAfter(after);
          assert.deepEqual(page, { changes: [], position, isReset: true }, JSON.stringify(after));
        }
        for (const limit of [0, -1, 1.5, NaN]) {
          await assert.rejects(store.changes!({ project: PROJECT, limit }), { name: 'FhirError', code: 'invalid' });
        }
      }),
    },
    {
      name: 'reports an erasure, and no longer of what it erased',
      run: withChanges(async (store, changesAfter) => {
        if (store.removal === undefined) return;
        await putAll(store, resourceOf('Patient', 'b'));
        const { position } = await changesAfter(undefined);
        await putAll(store, resourceOf('Patient', 'a'), resourceOf('Patient', 'c'));
        await store.commit([remove('a')]);
        await store.commit([erase('Patient', 'a')]);
        const { changes } = await changesAfter(position);
        assert.deepEqual(groupsOf(changes), [['put Patient/c null 1'], ['erase Patient/a 2 3']]);
      }),
    },
    {
      name: 'resets the positions of a project that was removed, and of no other',
      run: withChanges(async (store, changesAfter) => {
        if (store.removal === undefined) return;
        const never = await changesAfter(undefined);
        await putAll(store, resourceOf('Patient', 'a'));
        const { position } = await changesAfter(undefined);
        await store.commit([put(resourceOf('Patient', 'a'), {}, 'elsewhere')]);
        const elsewhere = await store.changes!({ project: 'elsewhere' });
        while (!(await store.removal.removeProject(PROJECT)).done);
        assert.equal((await changesAfter(position)).isReset, true);
        await putAll(store, resourceOf('Patient', 'a'));
        assert.equal((await changesAfter(position)).isReset, true);
        assert.equal((await store.changes!({ project: 'elsewhere', after: elsewhere.position })).isReset, false);
        // One from before the first write may still be right.
        const page = await changesAfter(never.position);
        assert.deepEqual(page.isReset ? [] : groupsOf(page.changes), page.isReset ? [] : [['put Patient/a null 1']]);
      }),
    },
    {
      name: 'loses and repeats nothing while others write',
      run: withChanges(async (store, changesAfter, random) => {
        const { position } = await changesAfter(undefined);
        let isDone = false;
        const read = (async (): Promise<readonly CommittedChange[]> => {
          const seen: CommittedChange[] = [];
          for (let after = position; ;) {
            const wasDone = isDone;
            const page = await pageAfter(store, after, 1 + Math.floor(random() * 5));
            seen.push(...page.changes);
            if (wasDone && page.position === after) return seen;
            after = page.position;
            await new Promise((resolve) => setTimeout(resolve));
          }
        })();
        await Promise.all([1, 2, 3].map(() => writeRandomly(store, random)));
        isDone = true;
        const seen = await read;
        assert.deepEqual(seen, await allAfter(store, position, 1000));
        await assertFolds(store, seen);
      }),
    },
    {
      name: 'calls watchers of a project soon after its commits',
      async run(store) {
        if (store.watch === undefined) return;
        let isTold = false;
        const told = new Promise<void>((resolve) => {
          store.watch!(PROJECT, () => {
            isTold = true;
            resolve();
          });
        });
        const stop = store.watch(PROJECT, () => assert.fail('It was stopped'));
        stop();
        stop();
        assert.equal(isTold, false);
        await putAll(store, resourceOf('Patient', 'a'));
        await told;
      },
    },
  ],
};

type ChangesAfter = (position: string | undefined) => Promise<ChangePage>;

function withChanges(
  run: (store: ResourceStore, changesAfter: ChangesAfter, random: () => number) => Promise<void>,
): (store: ResourceStore, random: () => number) => Promise<void> {
  return async (store, random) => {
    if (store.changes === undefined) return;
    await run(store, (after) => store.changes!({ project: PROJECT, after }), random);
  };
}

function pageAfter(
  store: ResourceStore,
  after: string,
  limit: number,
  types?: ChangesQuery['types'],
): Promise<ChangePage> {
  return store.changes!({ project: PROJECT, after, limit, types });
}

async function allAfter(
  store: ResourceStore,
  position: string,
  limit: number,
  types?: ChangesQuery['types'],
): Promise<readonly CommittedChange[]> {
  const all: CommittedChange[] = [];
  for (let after = position; ;) {
    const page = await pageAfter(store, after, limit, types);
    assert.equal(page.isReset, false);
    all.push(...page.changes);
    if (page.position === after) return all;
    after = page.position;
  }
}

/** The changes of each commit. */
function groupsOf(changes: readonly CommittedChange[]): string[][] {
  const groups: string[][] = [];
  for (const [index, { kind, key, before, versionId, position }] of changes.entries()) {
    if (position !== changes[index - 1]?.position) groups.push([]);
    groups.at(-1)!.push(`${kind} ${key.type}/${key.id} ${before} ${versionId}`);
  }
  return groups;
}

async function assertFolds(store: ResourceStore, changes: readonly CommittedChange[]): Promise<void> {
  const newest = new Map<string, string>();
  for (const { key, before, versionId } of changes) {
    assert.equal(newest.get(key.id) ?? null, before, `a version of ${key.id} is missing, or out of order`);
    newest.set(key.id, versionId);
  }
  for (const [id, versionId] of newest) {
    const [found] = await store.read([keyOf('Patient', id)]);
    assert.equal(found!.status === 'missing' ? undefined : found!.versionId, versionId);
  }
}

/** Commits of one to four writes to Patients. */
async function writeRandomly(store: ResourceStore, random: () => number): Promise<void> {
  for (let round = 0; round < 12; round++) {
    const writes = Array.from({ length: 1 + Math.floor(random() * 4) }, (): Write => {
      const id = `p${Math.floor(random() * 5)}`;
      return random() < 0.2 ? remove(id) : put(resourceOf('Patient', id, { active: random() < 0.5 }));
    });
    await store.commit(writes);
  }
}

function remove(id: string): Write {
  return { kind: 'delete', key: keyOf('Patient', id) };
}
