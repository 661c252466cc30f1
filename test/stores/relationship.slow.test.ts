import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRepository, MemoryStore, type ResourceStore, systemCaller } from '../../src/index.js';
import { pglitePool, PostgresStore } from '../../src/postgres.js';
import { SqliteStore } from '../../src/sqlite.js';
import { R4 } from '../../src/store.js';
import { idsOf, PROJECT, putAll, queryOf, resourceOf } from '../support/kit.js';
import { parseSearch } from '../../src/search/parse/parse-search.js';
import { modelWith } from './models.js';
import { newDatabase, postgresPool } from './postgres/pool.js';
import { temporaryFolder } from './temporary-folder.js';

const SYSTEM = 'http://hl7.org/fhir/document-relationship-type';
const BASE = 'https://own.example/fhir';
const to = (reference: string, code: string): object => ({ code, target: { reference } });
const document = (id: string, ...relatesTo: readonly object[]): ReturnType<typeof resourceOf> =>
  resourceOf('DocumentReference', id, { status: 'current', relatesTo });

const DOCUMENTS = [
  document('a', to('DocumentReference/old', 'replaces')),
  document('b', to('DocumentReference/old', 'appends'), to('DocumentReference/other', 'replaces')),
  document('c', to(`${BASE}/DocumentReference/old`, 'replaces')),
  document('d', to('http://elsewhere.example/DocumentReference/old', 'replaces')),
  document('e'),
];

describe.each<[string, () => ResourceStore | Promise<ResourceStore>]>([
  ['memory', () => new MemoryStore({ baseUrl: BASE })],
  ['SQLite', () => new SqliteStore(':memory:', { baseUrl: BASE })],
  ['PostgreSQL', async () => new PostgresStore(await postgresPool(), { baseUrl: BASE, takeOver: true })],
])('relationship on %s', (_, open) => {
  let store: ResourceStore;
  beforeAll(async () => {
    store = await open();
    await putAll(store, ...DOCUMENTS);
  });
  afterAll(() => store.close());

  test.each([
    ['relationship=DocumentReference/old$replaces', ['a', 'c']],
    ['relationship=old$replaces', ['a', 'c']],
    [`relationship=old$${SYSTEM}|replaces`, ['a', 'c']],
    ['relationship=old$|appends', ['b']],
    ['relationship=other$appends', []],
    ['relationship=http://elsewhere.example/DocumentReference/old$replaces', ['d']],
    [`relationship=${BASE}/DocumentReference/old$replaces`, ['a', 'c']],
    ['relationship=old$replaces,old$appends', ['a', 'b', 'c']],
    ['_filter=relatesTo[code eq replaces].target eq DocumentReference/old', ['a', 'c']],
    ['_filter=relatesTo[target eq other].code eq replaces', ['b']],
    ['_filter=relatesTo[target eq old].code ne replaces', ['b']],
    ['_filter=relatesTo[target eq old].code ne "|replaces"', ['b']],
    ['_filter=relationship eq "old$appends"', ['b']],
    ['_filter=not (relationship eq "old$appends")', ['a', 'c', 'd', 'e']],
  ])('%s', async (text, ids) => {
    const repository = createRepository({ store, caller: systemCaller(PROJECT) });
    const { entry = [] } = await repository.search('DocumentReference', new URLSearchParams(text).toString());
    expect(entry.map(({ resource }) => resource!.id).toSorted()).toEqual(ids);
  });
});

describe('rows built with the components of R4', () => {
  const before = modelWith('DocumentReference', {
    relationship: {
      components: [
        { code: 'relatesto', type: 'reference', expression: 'code', path: [['code']] },
        { code: 'relation', type: 'token', expression: 'target', path: [['target']] },
      ],
    },
  });
  const { criteria } = parseSearch(R4, 'DocumentReference', 'relationship=old$replaces');
  const query = queryOf('DocumentReference', criteria);
  const fileNamed = temporaryFolder();

  async function openDatabase(name: string): Promise<(model?: typeof before) => SqliteStore | PostgresStore> {
    if (name === 'SQLite') {
      const file = fileNamed('before.db');
      return (model) => new SqliteStore(file, { takeOver: true, reindex: 'manual', ...(model && { model }) });
    }
    const database = await newDatabase();
    return (model) =>
      new PostgresStore(pglitePool(database), { takeOver: true, reindex: 'manual', ...(model && { model }) });
  }

  test.each(['SQLite', 'PostgreSQL'])('are rebuilt, and no others, on %s', async (name) => {
    const open = await openDatabase(name);
    const earlier = open(before);
    await putAll(earlier, ...DOCUMENTS);
    expect(await idsOf(earlier, query)).toEqual([]);
    await earlier.close();
    const store = open();
    expect(await store.pendingParameters(PROJECT)).toEqual([{ type: 'DocumentReference', parameter: 'relationship' }]);
    await expect(store.search(query)).rejects.toMatchObject({ code: 'unavailable' });
    await store.reindex({ pendingOnly: true });
    expect(await store.pendingParameters(PROJECT)).toEqual([]);
    expect(await idsOf(store, query)).toEqual(['a']);
    await store.close();
  });
});
