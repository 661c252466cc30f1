import assert from 'node:assert/strict';
import { decidesAccess } from '../../store/access-epoch.js';
import type { DeleteWrite, PutWrite } from '../../store/write.js';
import { type ConformanceSuite, keyOf, put, resourceOf } from '../conformance-case.js';

/** `accessEpoch`, for stores that have it. */
export const accessEpochSuite: ConformanceSuite = {
  name: 'access epoch',
  cases: [
    {
      name: 'answers the same while nothing is written',
      async run(store) {
        if (store.accessEpoch === undefined) return;
        const before = await store.accessEpoch();
        assert.equal(typeof before, 'string');
        await store.read([keyOf('User', 'a')]);
        assert.equal(await store.accessEpoch(), before);
      },
    },
    {
      name: 'never answers what it answered before a write that may decide about access',
      async run(store) {
        if (store.accessEpoch === undefined) return;
        await store.commit(['Patient', 'Practitioner'].map((type) => put(resourceOf(type, 'b'))));
        const seen = new Set([await store.accessEpoch()]);
        for (const writes of DECIDING_COMMITS) {
          assert.ok(writes.some(decidesAccess));
          await store.commit(writes);
          const epoch = await store.accessEpoch();
          assert.ok(!seen.has(epoch), `the epoch changes with ${describe(writes)}`);
          seen.add(epoch);
        }
      },
    },
    {
      name: 'knows a write as soon as its commit has resolved, beside others',
      async run(store) {
        if (store.accessEpoch === undefined) return;
        const epochs = await Promise.all(
          ['a', 'b', 'c', 'd'].map(async (id) => {
            const before = await store.accessEpoch!();
            await store.commit([put(resourceOf('ProjectMembership', id))]);
            return [before, await store.accessEpoch!()] as const;
          }),
        );
        for (const [before, after] of epochs) assert.notEqual(after, before);
      },
    },
    {
      name: 'erasures count, where the store erases',
      async run(store) {
        if (store.accessEpoch === undefined || store.removal === undefined) return;
        for (const type of ['User', 'Practitioner']) {
          await store.commit([put(resourceOf(type, 'a'))]);
          const before = await store.accessEpoch();
          await store.commit([{ kind: 'erase', key: keyOf(type, 'a'), reason: 'other' }]);
          assert.notEqual(await store.accessEpoch(), before, type);
        }
      },
    },
    {
      name: 'removals of projects count, where the store removes',
      async run(store) {
        if (store.accessEpoch === undefined || store.removal === undefined) return;
        await store.commit([put(resourceOf('ProjectMembership', 'a'))]);
        const before = await store.accessEpoch();
        const { project } = keyOf('ProjectMembership', 'a');
        while (!(await store.removal.removeProject(project)).done);
        assert.notEqual(await store.accessEpoch(), before);
      },
    },
  ],
};

type CommitWrite = PutWrite | DeleteWrite;

/** Each decides about somebody's access; the last ones among others that do not. */
const DECIDING_COMMITS: readonly (readonly CommitWrite[])[] = [
  ...['AccessPolicy', 'Bot', 'ClientApplication', 'Project', 'ProjectMembership', 'RelatedPerson', 'User'].flatMap(
    (type): readonly (readonly CommitWrite[])[] => [
      [put(resourceOf(type, 'a'))],
      [put(resourceOf(type, 'a', { language: 'de' }))],
      [{ kind: 'delete', key: keyOf(type, 'a') }],
    ],
  ),
  ...['Patient', 'Practitioner'].map((type): readonly CommitWrite[] => [
    put(resourceOf('Basic', type)),
    { kind: 'delete', key: keyOf(type, 'b') },
  ]),
];

function describe(writes: readonly CommitWrite[]): string {
  return writes.map(({ kind, key }) => `${kind} ${key.type}`).join();
}
