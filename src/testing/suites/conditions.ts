import assert from 'node:assert/strict';
import type { ResourceStore } from '../../store/store.js';
import type { Write } from '../../store/write.js';
import { type ConformanceSuite, idsOf, keyOf, put, putAll, queryOf, resourceOf } from '../conformance-case.js';

/** Expected versions, unique texts, assertions of no match, and atomic commits. */
export const conditionSuite: ConformanceSuite = {
  name: 'conditions',
  cases: [
    {
      name: 'lets a write through at the version it expects, and at no other',
      async run(store) {
        const [first] = await putAll(store, resourceOf('Patient', 'a'));
        assert.ok(first?.kind === 'put');
        const expect = { version: first.versionId };
        await store.commit([put(resourceOf('Patient', 'a', { active: true }), { expect })]);
        for (const write of [
          put(resourceOf('Patient', 'a'), { expect }),
          { kind: 'delete', key: keyOf('Patient', 'a'), expect } as const,
        ]) {
          await assertRefused(store, [put(resourceOf('Patient', 'z')), write], 'precondition-failed', { index: 1 });
        }
      },
    },
    {
      name: 'takes null for: must not exist',
      async run(store) {
        const create = put(resourceOf('Patient', 'a'), { expect: { version: null } });
        await store.commit([create]);
        await assertRefused(store, [create], 'precondition-failed', { index: 0 });
        await store.commit([{ kind: 'delete', key: keyOf('Patient', 'a') }]);
        await store.commit([create]);
      },
    },
    {
      name: 'does not take the version of a deletion for a current one',
      async run(store) {
        await putAll(store, resourceOf('Patient', 'a'));
        const [deletion] = await store.commit([{ kind: 'delete', key: keyOf('Patient', 'a') }]);
        const version = (deletion as { versionId: string }).versionId;
        await assertRefused(store, [put(resourceOf('Patient', 'a'), { expect: { version } })], 'precondition-failed', {
          index: 0,
        });
      },
    },
    {
      name: 'expects a version of what does not exist in vain',
      async run(store) {
        await assertRefused(
          store,
          [put(resourceOf('Patient', 'a'), { expect: { version: '1' } })],
          'precondition-failed',
          { index: 0 },
        );
        assert.deepEqual(await store.read([keyOf('Patient', 'a')]), [{ status: 'missing' }]);
      },
    },
    {
      name: 'gives a unique text to one resource of a project',
      async run(store) {
        await store.commit([put(resourceOf('User', 'a'), { unique: ['email=x', 'email=y'] })]);
        const second = put(resourceOf('User', 'b'), { unique: ['email=z', 'email=y'] });
        await assertRefused(store, [put(resourceOf('User', 'c')), second], 'conflict', { index: 1, holder: 'User/a' });
        await store.commit([put(resourceOf('User', 'b'), { unique: ['email=y'] }, 'elsewhere')]);
      },
    },
    {
      name: 'lets a resource keep its own unique texts',
      async run(store) {
        const write = put(resourceOf('User', 'a'), { unique: ['email=x', 'email=x'] });
        await store.commit([write]);
        await store.commit([write]);
        await assertRefused(store, [put(resourceOf('User', 'b'), { unique: ['email=x'] })], 'conflict', { index: 0 });
      },
    },
    {
      name: 'frees unique texts with the next version and with deletion',
      async run(store) {
        await store.commit([put(resourceOf('User', 'a'), { unique: ['x', 'y'] })]);
        await store.commit([
          put(resourceOf('User', 'a'), { unique: ['y'] }),
          put(resourceOf('User', 'b'), { unique: ['x'] }),
        ]);
        await store.commit([
          { kind: 'delete', key: keyOf('User', 'a') },
          put(resourceOf('User', 'c'), { unique: ['y'] }),
        ]);
        await assertRefused(store, [put(resourceOf('User', 'd'), { unique: ['x'] })], 'conflict', {
          index: 0,
          holder: 'User/b',
        });
        await assertRefused(store, [put(resourceOf('User', 'd'), { unique: ['y'] })], 'conflict', {
          index: 0,
          holder: 'User/c',
        });
      },
    },
    {
      name: 'frees all unique texts with a version that names none',
      async run(store) {
        await store.commit([put(resourceOf('User', 'a'), { unique: ['x'] })]);
        await store.commit([put(resourceOf('User', 'a'))]);
        await store.commit([put(resourceOf('User', 'b'), { unique: ['x'] })]);
      },
    },
    {
      name: 'sees unique texts taken earlier in the same commit',
      async run(store) {
        const writes = [
          put(resourceOf('User', 'a'), { unique: ['x'] }),
          put(resourceOf('User', 'b'), { unique: ['x'] }),
        ];
        await assertRefused(store, writes, 'conflict', { index: 1, holder: 'User/a' });
        await store.commit([writes[1]!]);
      },
    },
    {
      name: 'lets a commit through only while a query has no match',
      async run(store) {
        const query = queryOf('Patient', { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'male' } });
        const create = (id: string): Write[] => [
          { kind: 'assert-no-match', query },
          put(resourceOf('Patient', id, { gender: 'male' })),
        ];
        await store.commit(create('a'));
        await assertRefused(store, create('b'), 'conflict', { index: 0, holder: 'Patient/a' });
      },
    },
    {
      name: 'checks for matches among the writes before, not those after',
      async run(store) {
        const query = queryOf('Patient', { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'male' } });
        const create = put(resourceOf('Patient', 'a', { gender: 'male' }));
        await assertRefused(store, [create, { kind: 'assert-no-match', query }], 'conflict', {
          index: 1,
          holder: 'Patient/a',
        });
        await store.commit([{ kind: 'assert-no-match', query }, create]);
        await store.commit([
          { kind: 'delete', key: keyOf('Patient', 'a') },
          { kind: 'assert-no-match', query },
        ]);
      },
    },
    {
      name: 'takes back everything when one write fails, over projects too',
      async run(store) {
        const query = queryOf('Patient', { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'male' } });
        await store.commit([
          put(resourceOf('Patient', 'a', { gender: 'male' }), { unique: ['x'] }),
          put(resourceOf('Patient', 'd', { gender: 'male' }), { unique: ['d'] }),
        ]);
        const before = await stateOf(store);
        const failing: Write[] = [
          put(resourceOf('Patient', 'a', { gender: 'female' }), { unique: ['y'] }),
          { kind: 'delete', key: keyOf('Patient', 'd') },
          put(resourceOf('Patient', 'b', { gender: 'male' }), { unique: ['x'] }),
          put(
            resourceOf('Observation', 'o', {
              subject: { reference: 'Patient/new' },
              code: { coding: [{ system: 's', code: 'c' }] },
            }),
          ),
          put(resourceOf('Patient', 'p', { gender: 'male' }), {}, 'elsewhere'),
          put(resourceOf('Patient', 'c'), { expect: { version: '7' } }),
        ];
        await assertRefused(store, failing, 'precondition-failed', { index: 5 });
        assert.deepEqual(await stateOf(store), before);
        assert.deepEqual(await idsOf(store, query), ['a', 'd']);
        assert.deepEqual(await store.search({ ...queryOf('Patient'), project: 'elsewhere', total: true }), {
          matches: [],
          total: 0,
        });
        await assertRefused(store, [put(resourceOf('Patient', 'z'), { unique: ['x'] })], 'conflict', {
          holder: 'Patient/a',
        });
        await assertRefused(store, [put(resourceOf('Patient', 'z'), { unique: ['d'] })], 'conflict', {
          holder: 'Patient/d',
        });
        // Nothing that the failed commit cached may outlive it.
        await store.commit([...failing.slice(0, 1), ...failing.slice(2, 5)]);
        assert.deepEqual(await idsOf(store, query), ['b', 'd']);
        const chain = {
          kind: 'match',
          parameter: 'subject',
          test: { kind: 'reference', types: ['Patient'], id: 'new' },
        } as const;
        assert.deepEqual(await idsOf(store, queryOf('Observation', chain)), ['o']);
      },
    },
    {
      name: 'lets one of many conflicting commits through',
      async run(store) {
        const create = put(resourceOf('Patient', 'a'), { expect: { version: null } });
        const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => store.commit([create])));
        assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
        assert.equal((await store.history(keyOf('Patient', 'a'), { offset: 0, limit: 9 })).total, 1);
      },
    },
  ],
};

async function assertRefused(
  store: ResourceStore,
  writes: readonly Write[],
  code: string,
  details: { readonly [name: string]: unknown },
): Promise<void> {
  const before = await stateOf(store);
  const error: unknown = await store.commit(writes).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof Error, 'The commit should have been refused');
  const found = error as {
    readonly name: string;
    readonly code?: unknown;
    readonly details?: { readonly [name: string]: unknown };
  };
  assert.deepEqual([found.name, found.code], ['FhirError', code]);
  for (const [name, value] of Object.entries(details)) assert.equal(found.details?.[name], value, `details.${name}`);
  assert.deepEqual(await stateOf(store), before, 'A refused commit must change nothing');
}

async function stateOf(store: ResourceStore): Promise<unknown> {
  const types = ['Patient', 'User', 'Observation'];
  return Promise.all(types.map(async (type) => await store.search(queryOf(type, undefined, { total: true }))));
}
