import type { Resource } from '@medplum/fhirtypes';
import { describe, expect, test } from 'vitest';
import { type Caller, serverCaller } from '../../src/access/caller.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { signIn } from '../../src/access/sign-in/sign-in.js';
import { FhirError } from '../../src/fhir/error.js';
import type { AnyResource } from '../../src/fhir/resource.js';
import { createRepository } from '../../src/repository/create-repository.js';
import type { ResourceStore } from '../../src/store/store.js';
import { MemoryStore } from '../../src/stores/memory/store.js';
import { SqliteStore } from '../../src/stores/sqlite/store.js';
import { blocksOf } from '../support/markdown.js';
import { readPage } from '../support/pages.js';

/** Who has the policy, and the values of its parameters: one entry of `access` per value. */
interface Member {
  readonly profile: string;
  readonly access: { readonly [parameter: string]: readonly string[] };
}

interface Attempt {
  readonly resource: Resource;
  readonly outcome: string;
}

const cookbook = readPage('policy-cookbook');
const recipes = cookbook
  .split(/^## /m)
  .slice(1, -1)
  .map((section) => ({ title: section.slice(0, section.indexOf('\n')), blocks: blocksOf(section) }));
const stores: readonly (readonly [string, () => ResourceStore])[] = [
  ['memory', () => new MemoryStore()],
  ['SQLite', () => new SqliteStore(':memory:')],
];

test('the cookbook has the recipes that are asked for most', () => {
  expect(recipes.map(({ title }) => title)).toEqual([
    'Own records only',
    'One organization',
    'Two organizations',
    'Read-only auditor',
    'Hidden fields',
    'Care team',
    'Laboratory feed',
  ]);
});

describe.each(stores)('on %s', (_, openStore) => {
  test.each(recipes)('$title', async ({ blocks }) => {
    const content = <Content>(info: string, otherwise?: Content): Content => {
      const block = blocks.find((one) => one.info === info);
      return block === undefined ? otherwise! : (JSON.parse(block.text) as Content);
    };
    const store = openStore();
    await fill(store, blocksOf(cookbook).find(({ info }) => info === 'resources')!.text);
    const repository = createRepository({ store, caller: await enrol(store, content('policy'), content('member')) });

    const sees = content<{ [search: string]: readonly string[] }>('sees');
    for (const [search, ids] of Object.entries(sees)) {
      const [type, query = ''] = search.split('?') as [Resource['resourceType'], string?];
      const { entry = [] } = await repository.search(type, query);
      expect({ [search]: entry.map(({ resource }) => resource!.id).sort() }).toEqual({ [search]: ids });
    }
    for (const { resource, outcome } of content<Attempt[]>('writes', [])) {
      const write = resource.id === undefined ? repository.create(resource) : repository.update(resource);
      const happened = await write.then(
        () => 'written',
        (error: unknown) => (error instanceof FhirError ? error.code : error),
      );
      expect({ resource, outcome: happened }).toEqual({ resource, outcome });
    }
    await store.close();
  });
});

async function fill(store: ResourceStore, text: string): Promise<void> {
  await put(store, JSON.parse(text) as AnyResource[]);
}

async function enrol(store: ResourceStore, policy: AnyResource, { profile, access }: Member): Promise<Caller> {
  const isClient = profile.startsWith('ClientApplication/');
  const values = Object.entries(access).flatMap(([name, references]) =>
    references.map((reference) => [{ name, valueReference: { reference } }]),
  );
  const membership = {
    resourceType: 'ProjectMembership',
    id: 'member',
    project: { reference: 'Project/clinic' },
    user: { reference: isClient ? profile : 'User/member' },
    profile: { reference: profile },
    access: (values.length === 0 ? [undefined] : values).map((parameter) => ({
      policy: { reference: 'AccessPolicy/recipe' },
      ...(parameter === undefined ? {} : { parameter }),
    })),
  };
  const project = { resourceType: 'Project', id: 'clinic', name: 'Clinic' };
  const user = { resourceType: 'User', id: 'member', firstName: 'A', lastName: 'Member', email: 'member@example.org' };
  await put(store, [project, user, { ...policy, id: 'recipe' }, membership]);
  return signIn(store, { membership: 'member' });
}

async function put(store: ResourceStore, resources: readonly AnyResource[]): Promise<void> {
  await guardStore(store, serverCaller('clinic')).commit(
    resources.map((resource) => ({
      kind: 'put',
      key: { type: resource.resourceType, id: resource.id! },
      resource,
    })),
  );
}
