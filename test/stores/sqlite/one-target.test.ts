import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { SqliteStore } from '../../../src/sqlite.js';
import type { Criteria, SearchPage, SearchQuery } from '../../../src/store.js';
import { putAll, queryOf, resourceOf } from '../../support/kit.js';
import { Statements } from '../../../src/stores/sqlite/database/statements.js';

/** Reads the texts of a page together with it. */
const uncached = new SqliteStore(':memory:', { cacheBytes: 0 });
/** Finds a page, and reads the texts that are missing. */
const cached = new SqliteStore(':memory:');
const FINAL: Criteria = { kind: 'match', parameter: 'status', test: { kind: 'token', code: 'final' } };
const TARGETS = ['few', 'many', 'none', 'unknown'].map((id) => ({ type: 'Patient', id }));

beforeAll(async () => {
  const observations = (patient: string, count: number) =>
    Array.from({ length: count }, (_, number) =>
      resourceOf('Observation', `${patient}-${(number * 7) % count}`, {
        status: number % 3 === 0 ? 'final' : 'preliminary',
        subject: { reference: `Patient/${patient}` },
        ...(number % 5 === 0 ? {} : { effectiveDateTime: `20${10 + (number % 9)}-01-01` }),
        valueQuantity: { value: number },
      }),
    );
  for (const store of [uncached, cached]) {
    await putAll(store, ...['few', 'many', 'none'].map((id) => resourceOf('Patient', id)));
    await putAll(store, ...observations('few', 40), ...observations('many', 1_200));
  }
});

afterAll(() => Promise.all([uncached.close(), cached.close()]));

async function pageOf(store: SqliteStore, query: SearchQuery, id: string): Promise<unknown> {
  const [page] = (await store.searchByReference(query, 'subject', [{ type: 'Patient', id }])) as [SearchPage];
  return { total: page.total, ids: page.matches.map(({ resource }) => resource.id) };
}

describe('the list of references to one resource', () => {
  const places = [{}, { after: { values: [], id: 'few-25' } }, { before: { values: [], id: 'few-25' } }];
  const sorted = { sort: [{ parameter: 'date', descending: true }] };
  const sortedPlaces = [sorted, { ...sorted, after: { values: [Date.parse('2013-01-01')], id: 'few-1' } }];
  const pages = [...places, ...sortedPlaces, { offset: 3 }, { total: true }].flatMap((place) =>
    [1, 10, 64, 65, undefined].map((limit) => ({ ...place, limit })),
  );

  test.each(pages)('gives the same page with and without a cache: %j', async (page) => {
    for (const { id } of TARGETS) {
      for (const criteria of [{ kind: 'all' } as const, FINAL]) {
        const query = queryOf('Observation', criteria, page);
        expect(await pageOf(uncached, query, id)).toEqual(await pageOf(cached, query, id));
      }
    }
  });

  test('takes one statement including its texts, which an explanation shows', async () => {
    const query = queryOf('Observation', FINAL, { limit: 10 });
    const targets = [{ type: 'Patient', id: 'few' }];
    await uncached.searchByReference(query, 'subject', targets);
    const read = vi.spyOn(Statements.prototype, 'read');
    const [page] = (await uncached.searchByReference(query, 'subject', targets)) as [SearchPage];
    const texts = read.mock.calls.map(([text]) => text).filter((text) => text.includes('version v'));
    read.mockRestore();
    expect(page.matches).toHaveLength(10);
    expect(texts).toHaveLength(1);
    const explained = await uncached.explain({ kind: 'search-by-reference', query, parameter: 'subject', targets });
    expect(explained.map(({ statement }) => statement)).toEqual(texts.map((text) => text.replace(/\s+/g, ' ')));
  });

  test('is corrupt without the text of a match', async () => {
    const database = new (await import('better-sqlite3')).default(':memory:');
    const store = new SqliteStore(database, { cacheBytes: 0 });
    await putAll(store, resourceOf('Patient', 'p'));
    await putAll(store, resourceOf('Observation', 'o', { subject: { reference: 'Patient/p' } }));
    database.prepare('UPDATE version SET text = NULL WHERE key = (SELECT max(key) FROM version)').run();
    const found = store.searchByReference(queryOf('Observation', { kind: 'all' }, { limit: 5 }), 'subject', [
      { type: 'Patient', id: 'p' },
    ]);
    await expect(found).rejects.toMatchObject({ code: 'corrupt' });
    await store.close();
    database.close();
  });
});
