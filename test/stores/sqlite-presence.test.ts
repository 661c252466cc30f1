import Database from 'better-sqlite3';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { MemoryStore } from '../../src/index.js';
import type { AnyResource } from '../../src/fhir/resource.js';
import type { Criteria } from '../../src/search/criteria/criteria.js';
import type { SearchQuery } from '../../src/store/search-query.js';
import { TUNING } from '../../src/stores/sqlite/pages/tuning.js';
import { Statements } from '../../src/stores/sqlite/statements.js';
import { SqliteStore } from '../../src/stores/sqlite/store.js';
import { PROJECT, put } from '../../src/testing/conformance-case.js';

const DEFAULTS = { ...TUNING };
afterEach(() => {
  Object.assign(TUNING, DEFAULTS);
  vi.restoreAllMocks();
});

describe('conditions that each find many resources', () => {
  const has = (parameter: string, code: string): Criteria => ({
    kind: 'match',
    parameter,
    test: { kind: 'token', code },
  });
  const both = (...of: Criteria[]): Criteria => ({ kind: 'and', of });
  const resources = Array.from(
    { length: 300 },
    (_, index) =>
      ({
        resourceType: 'Observation',
        id: `o${index}`,
        status: index % 3 === 0 ? 'final' : 'amended',
        category: [{ coding: [{ code: index % 3 === 0 ? 'exam' : 'laboratory' }] }],
        [index % 2 === 0 ? 'method' : 'bodySite']: { coding: [{ code: 'x' }] },
        ...(index % 2 === 0 ? {} : { valueCodeableConcept: { coding: [{ code: 'v' }] } }),
      }) as AnyResource,
  );
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  const memory = new MemoryStore();
  beforeAll(async () => {
    const writes = resources.map((one) => put(one));
    await store.commit(writes);
    await memory.commit(writes);
  });

  async function looked(criteria: Criteria): Promise<readonly string[]> {
    Object.assign(TUNING, {
      looks: [2, 100, 1e4, Infinity],
      presenceFrom: 10,
      indirectFrom: 1e4,
      firstChunk: 1,
      maxChunk: 8,
    });
    const query: SearchQuery = {
      project: PROJECT,
      type: 'Observation',
      criteria,
      limit: 5,
      sort: [{ parameter: '_id', descending: false }],
    };
    const get = vi.spyOn(Statements.prototype, 'get');
    const { matches } = await store.search(query);
    const texts = get.mock.calls.map(([{ text }]) => text);
    get.mockRestore();
    expect(matches.map(({ resource }) => resource.id)).toEqual(
      (await memory.search(query)).matches.map(({ resource }) => resource.id),
    );
    return texts;
  }

  test('conditions whose parameters no resource has together end by the number of shapes', async () => {
    const texts = await looked(both(has('method', 'x'), has('value-concept', 'v')));
    expect(texts.at(-1)).toContain('INDEXED BY resource_by_shape');
  });

  test('their numbers are those of the reference', async () => {
    for (const criteria of [
      both(has('method', 'x'), has('value-concept', 'v')),
      both(has('status', 'final'), has('category', 'exam')),
      both(has('method', 'x'), { kind: 'missing', parameter: 'value-concept', missing: true }, has('status', 'final')),
      both(has('method', 'x'), { kind: 'not', of: { kind: 'missing', parameter: 'value-concept', missing: true } }),
    ]) {
      const query: SearchQuery = { project: PROJECT, type: 'Observation', criteria, limit: 0, total: true };
      expect((await store.search(query)).total).toBe((await memory.search(query)).total);
    }
  });
});
