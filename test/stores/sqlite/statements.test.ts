import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { SqliteStore } from '../../../src/sqlite.js';
import type { Criteria } from '../../../src/store.js';
import { keyOf, putAll, queryOf, resourceOf } from '../../support/kit.js';

const FINAL: Criteria = { kind: 'match', parameter: 'status', test: { kind: 'token', code: 'final' } };

/** The texts that a store gives to its driver for a few calls. */
async function textsOfCalls(database: Database.Database): Promise<readonly string[]> {
  const texts = new Set<string>();
  const prepare = database.prepare.bind(database);
  database.prepare = (text: string) => {
    texts.add(text);
    return prepare(text);
  };
  const store = new SqliteStore(database, { cacheBytes: 0 });
  const observation = (id: string) =>
    resourceOf('Observation', id, {
      status: 'final',
      subject: { reference: 'Patient/a' },
      effectiveDateTime: '2020-01-01',
      valueQuantity: { value: 1 },
    });
  await putAll(store, resourceOf('Patient', 'a', { name: [{ family: 'Doe' }] }), observation('o'), observation('p'));
  await putAll(store, observation('o'));
  expect(await store.read([keyOf('Observation', 'o')])).toMatchObject([{ status: 'found', versionId: '2' }]);
  expect(await store.read([keyOf('Observation', 'o'), keyOf('Patient', 'a')])).toHaveLength(2);
  const sort = [{ parameter: 'date', descending: true }];
  expect((await store.search(queryOf('Observation', FINAL, { sort, total: true }))).total).toBe(2);
  const [page] = await store.searchByReference(queryOf('Observation', FINAL), 'subject', [
    { type: 'Patient', id: 'a' },
  ]);
  expect(page!.matches).toHaveLength(2);
  return [...texts];
}

test('statements are not planned again for bound values: every parameter is part of an expression, and the plans are the same', async () => {
  const database = new Database(':memory:');
  const texts = (await textsOfCalls(database)).filter((text) => text.includes('?'));
  expect(texts.length).toBeGreaterThan(10);
  for (const text of texts) {
    expect(text).not.toMatch(/(?<!\+)\?/);
    if (!/^\s*(?:SELECT|WITH)/.test(text)) continue;
    const planOf = (one: string): unknown => {
      const nulls = new Array<null>(one.split('?').length - 1).fill(null);
      return database
        .prepare(`EXPLAIN QUERY PLAN ${one}`)
        .all(...nulls)
        .map((row) => (row as { readonly detail: string }).detail);
    };
    expect(planOf(text)).toEqual(planOf(text.replaceAll('+?', '?')));
  }
});
