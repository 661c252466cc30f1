import { expect, test } from 'vitest';
import { MemoryStore } from '../../src/index.js';
import { PostgresStore } from '../../src/postgres.js';
import { SqliteStore } from '../../src/sqlite.js';
import { indexEntries, R4, type StringTest } from '../../src/store.js';
import { idsOf, keyOf, putAll, queryOf, resourceOf } from '../support/kit.js';
import { postgresPool } from './postgres/pool.js';
import { by } from './queries.js';

const BEGINNING = 'é'.repeat(65_535);
const NAMES = { a: `${BEGINNING}b inside`, b: `${BEGINNING}a beyond`, c: 'end' };
const PATIENTS = Object.entries(NAMES).map(([id, family]) => resourceOf('Patient', id, { name: [{ family }] }));

test('searches and sorts use 65,536 characters of a string in every store, and reads return all of it', async () => {
  for (const store of [new MemoryStore(), new SqliteStore(':memory:'), new PostgresStore(await postgresPool())]) {
    await putAll(store, ...PATIENTS);
    const find = (comparator: StringTest['comparator'], text: string): Promise<readonly unknown[]> =>
      idsOf(
        store,
        queryOf('Patient', { kind: 'match', parameter: 'family', test: { kind: 'string', comparator, text } }),
      );
    expect(await find('contains', 'eb')).toEqual(['a']);
    expect(await find('ends-with', 'ea')).toEqual(['b']);
    expect(await find('contains', 'inside')).toEqual([]);
    expect(await find('starts-with', 'eeee')).toEqual(['a', 'b']);
    expect(await idsOf(store, queryOf('Patient', undefined, { sort: [by('family')] }))).toEqual(['b', 'a', 'c']);
    const [found] = await store.read([keyOf('Patient', 'a')]);
    expect(found).toMatchObject({ status: 'found', resource: { name: [{ family: NAMES.a }] } });
    await store.close();
  }
});

test('indexes have 65,536 characters of a string, and no character is split', () => {
  const textOf = (family: string): unknown => {
    const entries = indexEntries(R4, resourceOf('Patient', 'a', { name: [{ family }] }));
    return entries.find(({ parameter }) => parameter === 'family')!.value;
  };
  const [whole, pair] = ['a'.repeat(65_536), `${'a'.repeat(65_535)}\u{1F600}`];
  expect(textOf(whole)).toEqual({ kind: 'string', text: whole, folded: whole });
  expect(textOf(`${whole}b`)).toEqual({ kind: 'string', text: whole, folded: whole });
  expect(textOf(pair)).toEqual({ kind: 'string', text: pair.slice(0, 65_535), folded: pair.slice(0, 65_535) });
});
