import { expect, test } from 'vitest';
import { MemoryStore, type ResourceStore } from '../../src/index.js';
import { type Change, decidesAccess } from '../../src/store.js';
import { storeConformance } from '../../src/testing.js';
import { storeWith } from '../support/store-with.js';

/** The cases of the suite that a store fails. */
async function failures(makeStore: () => ResourceStore): Promise<readonly string[]> {
  const cases: (readonly [name: string, run: () => Promise<void>])[] = [];
  storeConformance({ test: (name, run) => cases.push([name, run]) }, makeStore, { seed: 1 });
  const failed: string[] = [];
  for (const [name, run] of cases.filter(([one]) => one.startsWith('access epoch: '))) {
    await run().catch(() => failed.push(name.slice('access epoch: '.length)));
  }
  return failed;
}

/** A store whose epoch counts the changes that somebody chose. */
function counting(counts: (change: Change) => boolean, base = 0): ResourceStore {
  const store = new MemoryStore();
  let count = base;
  const note = (changes: readonly Change[]): void => void (count += changes.some(counts) ? 1 : 0);
  return storeWith(store, {
    accessEpoch: () => Promise.resolve(String(count)),
    async commit(writes, options) {
      const results = await store.commit(writes, options);
      note(
        writes.flatMap((write, index): Change[] => {
          const { versionId = null } = results[index] as { readonly versionId?: string | null };
          return write.kind === 'assert-no-match' || versionId === null ? [] : [{ ...write, versionId }];
        }),
      );
      return results;
    },
    removal: {
      ...store.removal,
      async removeProject(project, options) {
        const step = await store.removal.removeProject(project, options);
        if (step.resources > 0) note([{ kind: 'erase', key: { project, type: 'User', id: 'u' }, versionId: '1' }]);
        return step;
      },
    },
  });
}

const SAME = 'answers the same while nothing is written';
const CHANGES = 'never answers what it answered before a write that may decide about access';
const BESIDE = 'knows a write as soon as its commit has resolved, beside others';
const ERASED = 'erasures count, where the store erases';
const REMOVED = 'removals of projects count, where the store removes';

test.each([
  ['counts changes that decide about access', () => counting(decidesAccess), []],
  ['counts every change', () => counting(() => true), []],
  ['has none', () => storeWith(new MemoryStore(), {}), []],
  ['never changes', () => counting(() => false), [CHANGES, BESIDE, ERASED, REMOVED]],
  ['misses deletions', () => counting((change) => change.kind !== 'delete' && decidesAccess(change)), [CHANGES]],
  ['misses erasures', () => counting((change) => change.kind !== 'erase' && decidesAccess(change)), [ERASED, REMOVED]],
  ['misses policies', () => counting((one) => one.key.type !== 'AccessPolicy' && decidesAccess(one)), [CHANGES]],
  [
    'changes with every look',
    () => {
      let looks = 0;
      return storeWith(new MemoryStore(), { accessEpoch: () => Promise.resolve(String((looks += 1))) });
    },
    [SAME],
  ],
])('the kit finds the faults of a store whose epoch %s', async (_, makeStore, expected) => {
  expect(await failures(makeStore)).toEqual(expected);
});

test('a case is skipped by its name, also where the runner defines groups later, and an unknown name is refused', () => {
  const names: string[] = [];
  const groups: (() => void)[] = [];
  const runner = {
    test: (name: string) => names.push(name),
    describe: (_: string, define: () => void) => groups.push(define),
  };
  const skipping = (name: string): void =>
    storeConformance(runner, () => new MemoryStore(), { skip: [{ name, reason: 'why' }] });
  skipping('criteria: takes a thousand alternatives');
  for (const define of groups) define();
  expect(names).toContain('criteria: takes a thousand alternatives (left out: why)');
  expect(names).not.toContain('criteria: takes a thousand alternatives');
  expect(() => skipping('criteria: nothing')).toThrow('No such conformance case: criteria: nothing');
});
