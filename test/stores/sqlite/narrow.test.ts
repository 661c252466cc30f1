import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { SqliteStore } from '../../../src/sqlite.js';
import type { Criteria, SearchQuery } from '../../../src/store.js';
import { Statements } from '../../../src/stores/sqlite/database/statements.js';

const store = new SqliteStore(':memory:');
const CHECKS_OF_THE_INDEX = /^(?:PRAGMA data_version|SELECT total_changes\(\))$/;

beforeAll(async () => {
  const patients = Array.from({ length: 300 }, (_, number) => ({
    resourceType: 'Patient' as const,
    id: `p${String(number).padStart(3, '0')}`,
    gender: number < 101 ? ('female' as const) : ('male' as const),
    active: number < 100,
    identifier: [{ system: 'urn:mrn', value: `m${Math.floor(number / 10)}` }],
    name: [{ family: number < 5 ? 'Ng' : `F${number}`, given: ['Ann', 'Anna', 'Annabel'] }],
  }));
  await store.commit(
    patients.map((resource) => ({ kind: 'put', key: { project: 'p', type: 'Patient', id: resource.id }, resource })),
  );
});

afterAll(() => store.close());

/** The ids found, and how many statements found them, without those that read the resources. */
async function search(query: Partial<SearchQuery>): Promise<readonly [ids: readonly string[], statements: number]> {
  const whole: SearchQuery = { project: 'p', type: 'Patient', criteria: { kind: 'all' }, limit: 20, ...query };
  await store.search(whole);
  const read = vi.spyOn(Statements.prototype, 'read');
  const column = vi.spyOn(Statements.prototype, 'column');
  const { matches } = await store.search(whole);
  const called = [...read.mock.calls.map(([text]) => text), ...column.mock.calls.map(([{ text }]) => text)];
  const texts = called.filter((text) => !CHECKS_OF_THE_INDEX.test(text));
  read.mockRestore();
  column.mockRestore();
  const count = texts.filter((text) => !text.includes('FROM version') && !text.includes('version v')).length;
  return [matches.map(({ resource }) => resource.id!), count];
}

function token(parameter: string, code: string, system?: string): Criteria {
  return { kind: 'match', parameter, test: { kind: 'token', code, system } };
}

const ids = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from }, (_, index) => `p${String(from + index).padStart(3, '0')}`);

test('a few matches by id take one statement', async () => {
  const criteria = token('identifier', 'm3', 'urn:mrn');
  expect(await search({ criteria })).toEqual([ids(30, 40), 1]);
  expect(await search({ criteria, limit: 4 })).toEqual([ids(30, 34), 1]);
  expect(await search({ criteria, offset: 8 })).toEqual([ids(38, 40), 1]);
  expect(await search({ criteria, offset: 10 })).toEqual([[], 1]);
});

test('no match takes one statement', async () => {
  expect(await search({ criteria: token('identifier', 'm99', 'urn:mrn') })).toEqual([[], 1]);
});

test('a resource found by several of its values is one match', async () => {
  const byName: Criteria = {
    kind: 'match',
    parameter: 'name',
    test: { kind: 'string', comparator: 'starts-with', text: 'ng' },
  };
  const byEither: Criteria = { kind: 'or', of: [byName, token('identifier', 'm0', 'urn:mrn')] };
  expect(await search({ criteria: byEither })).toEqual([ids(0, 10), 1]);
});

test('the first page by id takes one statement, also from a position', async () => {
  expect(await search({ limit: 3 })).toEqual([ids(0, 3), 1]);
  expect(await search({ limit: 3, after: { values: [], id: 'p009' } })).toEqual([ids(10, 13), 1]);
  expect(await search({ limit: 3, before: { values: [], id: 'p009' } })).toEqual([ids(6, 9), 1]);
});

test('up to a hundred rows are counted and sorted, without a walk', async () => {
  const criteria = token('active', 'true');
  const sort = [{ parameter: 'family', descending: true }];
  expect(await search({ criteria, sort, limit: 2 })).toEqual([['p000', 'p001'], 2]);
  const narrowed: Criteria = { kind: 'and', of: [token('gender', 'female'), criteria] };
  expect(await search({ criteria: narrowed, sort: [{ parameter: '_id', descending: true }], limit: 2 })).toEqual([
    ['p099', 'p098'],
    3,
  ]);
});

test('a list of references to a resource takes one statement', async () => {
  await store.commit(
    ids(0, 30).map((id) => ({
      kind: 'put',
      key: { project: 'p', type: 'Basic', id },
      resource: { resourceType: 'Basic', id, subject: { reference: 'Patient/p007' }, code: {} },
    })),
  );
  const query: SearchQuery = { project: 'p', type: 'Basic', criteria: { kind: 'all' }, limit: 5 };
  const ask = () => store.searchByReference(query, 'subject', [{ type: 'Patient', id: 'p007' }]);
  await ask();
  await ask();
  const read = vi.spyOn(Statements.prototype, 'read');
  const [page] = await ask();
  const texts = read.mock.calls.map(([text]) => text).filter((text) => !CHECKS_OF_THE_INDEX.test(text));
  read.mockRestore();
  expect(page!.matches.map(({ resource }) => resource.id)).toEqual(ids(0, 5));
  expect(texts).toHaveLength(1);
});
