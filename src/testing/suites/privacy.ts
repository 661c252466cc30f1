import assert from 'node:assert/strict';
import type { AnyResource } from '../../fhir/resource.js';
import type { ResourceStore } from '../../store/store.js';
import { type ConformanceSuite, keyOf, put, queryOf, resourceOf } from '../conformance-case.js';

/** No caller can change what another sees. */
export const privacySuite: ConformanceSuite = {
  name: 'privacy',
  cases: [
    {
      name: 'changing what was written changes nothing kept',
      async run(store) {
        const mine = resourceOf('Patient', 'a', { name: [{ family: 'Kept' }] });
        await store.commit([put(mine)]);
        spoil(mine);
        await assertKept(store);
      },
    },
    {
      name: 'changing the result of a write changes nothing kept',
      async run(store) {
        const [result] = await store.commit([put(resourceOf('Patient', 'a', { name: [{ family: 'Kept' }] }))]);
        assert.ok(result?.kind === 'put');
        spoil(result.resource);
        await assertKept(store);
      },
    },
    {
      name: 'changing the result of read, search, by-reference search or history changes nothing kept',
      async run(store) {
        await store.commit([
          put(
            resourceOf('Patient', 'a', {
              name: [{ family: 'Kept' }],
              managingOrganization: { reference: 'Organization/o' },
            }),
          ),
        ]);
        // Several rounds, since a store may start to share frequently read objects.
        for (let round = 0; round < 4; round++) {
          for (const resource of await everySight(store)) spoil(resource);
          await assertKept(store);
        }
      },
    },
    {
      name: 'two results of one call never share what can be changed',
      async run(store) {
        await store.commit([put(resourceOf('Patient', 'a', { name: [{ family: 'Kept' }] }))]);
        for (let round = 0; round < 4; round++) {
          const [first, second] = await store.read([keyOf('Patient', 'a'), keyOf('Patient', 'a')]);
          assert.ok(first?.status === 'found' && second?.status === 'found');
          spoil(first.resource);
          assert.equal(familyOf(second.resource), 'Kept');
        }
      },
    },
  ],
};

async function everySight(store: ResourceStore): Promise<readonly AnyResource[]> {
  const [read] = await store.read([keyOf('Patient', 'a')]);
  const { matches } = await store.search(queryOf('Patient'));
  const [page] = await store.searchByReference(queryOf('Patient'), 'organization', [{ type: 'Organization', id: 'o' }]);
  const { entries } = await store.history(keyOf('Patient', 'a'), { offset: 0, limit: 5 });
  const resources = [
    ...(read?.status === 'found' ? [read.resource] : []),
    ...matches.map(({ resource }) => resource),
    ...(page?.matches ?? []).map(({ resource }) => resource),
    ...entries.flatMap((entry) => (entry.kind === 'put' ? [entry.resource] : [])),
  ];
  assert.equal(resources.length, 4);
  return resources;
}

/** Mutates a nested name and the resource itself. Throwing on frozen objects is fine, too. */
function spoil(resource: AnyResource): void {
  const open = resource as { name?: { family?: string }[]; gender?: string };
  for (const change of [
    () => (open.name![0]!.family = 'Spoilt'),
    () => open.name!.push({}),
    () => (open.gender = 'spoilt'),
  ]) {
    try {
      change();
    } catch (error) {
      assert.ok(error instanceof TypeError);
    }
  }
}

async function assertKept(store: ResourceStore): Promise<void> {
  const [read] = await store.read([keyOf('Patient', 'a')]);
  const page = await store.search(
    queryOf('Patient', {
      kind: 'match',
      parameter: 'family',
      test: { kind: 'string', comparator: 'exact', text: 'Kept' },
    }),
  );
  for (const found of [read?.status === 'found' ? read : undefined, page.matches[0]]) {
    assert.equal(found && familyOf(found.resource), 'Kept');
    assert.equal(found && (found.resource as { gender?: string }).gender, undefined);
  }
}

function familyOf(resource: AnyResource): string | undefined {
  const { name } = resource as { name?: { family?: string }[] };
  return name?.length === 1 ? name[0]?.family : undefined;
}
