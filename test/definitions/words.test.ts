import { describe, expect, test } from 'vitest';
import { extendDefinitions, R4 } from '../../src/definitions.js';
import {
  createRepository,
  executeFhirGraphql,
  MemoryStore,
  systemCaller,
  type ResourceStore,
} from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';

const model = await extendDefinitions(R4, { words: ['Organization.name', 'Patient.name'] });

async function openClinic(open: () => ResourceStore): Promise<ResourceStore> {
  const store = open();
  const repository = createRepository({ store, caller: systemCaller('clinic') });
  for (const [id, name] of [
    ['bern', 'General Hospital of Bern'],
    ['hosp', 'Hospital-Group "Général"'],
    ['basel', 'University Clinic, Basel'],
  ] as const) {
    await repository.update({ resourceType: 'Organization', id, name });
  }
  await repository.update({
    resourceType: 'Patient',
    id: 'ann',
    name: [{ family: "O'Brien-Smith", given: ['Ann Marie'] }],
    managingOrganization: { reference: 'Organization/bern' },
  });
  return store;
}

async function found(store: ResourceStore, type: 'Organization' | 'Patient', query: string): Promise<unknown[]> {
  const bundle = await createRepository({ store, caller: systemCaller('clinic') }).search(type, query);
  return (bundle.entry ?? []).map(({ resource }) => resource!.id);
}

describe.each([
  ['memory', () => new MemoryStore({ model })],
  ['SQLite', () => new SqliteStore(':memory:', { model })],
])('parameters indexed by word over %s', (_, open) => {
  test.each([
    ['Organization', 'name=hospital', ['bern', 'hosp']],
    ['Organization', 'name=Hospital of', ['bern']],
    ['Organization', 'name=of general', ['bern']],
    ['Organization', 'name=gen hos', ['bern', 'hosp']],
    ['Organization', 'name=ospital', []],
    ['Organization', 'name=hospital zürich', []],
    ['Organization', 'name=basel,zürich,bern', ['basel', 'bern']],
    ['Organization', 'name:not-in=x', 'invalid'],
    ['Organization', 'name:contains=ospital', ['bern', 'hosp']],
    ['Organization', 'name:exact=hospital', []],
    ['Organization', 'name:missing=false', ['basel', 'bern', 'hosp']],
    ['Organization', 'name=-', 'invalid'],
    ['Organization', '_filter=name sw hospital', ['hosp']],
    ['Organization', 'name=hospital&_sort=-name', ['hosp', 'bern']],
    // The hyphen separates words, the apostrophe does not.
    ['Patient', 'name=smith marie', ['ann']],
    ['Patient', 'name=obrien ann', ['ann']],
    ['Patient', 'name=marie', ['ann']],
    ['Patient', 'organization.name=hospital', ['ann']],
    ['Organization', '_has:Patient:organization:name=marie', ['bern']],
  ] as const)('%s?%s', async (type, query, expected) => {
    const store = await openClinic(open);
    if (expected === 'invalid') {
      await expect(found(store, type, query)).rejects.toMatchObject({ code: 'invalid' });
    } else {
      expect((await found(store, type, query)).toSorted()).toEqual([...expected].toSorted());
    }
    await store.close();
  });
});

test('GraphQL also finds by word', async () => {
  const store = await openClinic(() => new MemoryStore({ model }));
  const { data, errors } = await executeFhirGraphql('{ OrganizationList(name: "hospital bern") { id } }', {
    store,
    caller: systemCaller('clinic'),
  });
  expect(errors).toBeUndefined();
  expect(data).toEqual({ OrganizationList: [{ id: 'bern' }] });
});

test('a search for very many words is refused before the store call', async () => {
  const store = await openClinic(() => new MemoryStore({ model }));
  const words = Array.from({ length: 100 }, (_, n) => `w${n}`).join(' ');
  await expect(found(store, 'Organization', `name=${words}`)).rejects.toMatchObject({ code: 'too-costly' });
});
