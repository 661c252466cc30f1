import { afterEach, beforeAll, expect, test } from 'vitest';
import type { Criteria } from '../../src/search/criteria/criteria.js';
import type { ValueTest } from '../../src/search/criteria/value-test.js';
import { MemoryStore } from '../../src/stores/memory/store.js';
import { TUNING } from '../../src/stores/postgres/scans/tuning.js';
import { SKIP_TUNING } from '../../src/stores/postgres/rows/skip-row.js';
import { PostgresStore } from '../../src/stores/postgres/store.js';
import { SqliteStore } from '../../src/stores/sqlite/store.js';
import { queryOf } from '../../src/testing/conformance-case.js';
import { postgresPool } from './postgres/pool.js';
import { buildSkips } from './postgres/skip-build.js';
import { match, write } from './skip-cases.js';

const DEFAULTS = { ...TUNING };
beforeAll(() => void Object.assign(SKIP_TUNING, { granule: 8, minGranules: 4, minHolders: 20 }));
afterEach(() => void Object.assign(TUNING, DEFAULTS));

const RESOURCES = Array.from({ length: 60 }, (_, index) => [
  {
    resourceType: 'Observation',
    id: `o${index}`,
    status: index % 3 === 0 ? 'amended' : 'final',
    code: { coding: [{ code: `c${index % 40}`, system: 'urn:c' }] },
    subject: { reference: `Patient/p${index % 50}` },
  },
  {
    resourceType: 'ValueSet',
    id: `v${index}`,
    status: index % 3 === 0 ? 'active' : 'draft',
    // For long values, PostgreSQL has the beginning in its index.
    url: `http://a.example/${'x'.repeat(index % 4 === 0 ? 300 : 0)}${index % 50}`,
  },
]).flat();

const KINDS: readonly (readonly [type: string, parameter: string, status: string, (value: number) => ValueTest])[] = [
  ['Observation', 'code', 'final', (value) => ({ kind: 'token', code: `c${value}` })],
  ['Observation', 'subject', 'final', (value) => ({ kind: 'reference', types: ['Patient'], id: `p${value}` })],
  ['ValueSet', 'url', 'draft', (value) => uri(value, value % 4 === 0 ? 300 : 0)],
];

function uri(value: number, more: number): ValueTest {
  return { kind: 'uri', comparator: 'equals', value: `http://a.example/${'x'.repeat(more)}${value}` };
}

test('hundreds of alternatives are found, with and without a skip index', async () => {
  const pool = await postgresPool();
  const [postgres, sqlite, memory] = [new PostgresStore(pool), new SqliteStore(':memory:'), new MemoryStore()];
  for (const one of [postgres, sqlite, memory]) await write(one, RESOURCES);
  const assertEqual = async (count: number): Promise<void> => {
    for (const [type, parameter, status, testOf] of KINDS) {
      const of = Array.from({ length: count }, (_, value): Criteria => ({
        kind: 'match',
        parameter,
        test: testOf(2 * value),
      }));
      const criteria: Criteria = { kind: 'and', of: [{ kind: 'or', of }, match('status', status)] };
      const query = queryOf(type, criteria, { limit: 7, total: true });
      const expected = await memory.search(query);
      expect(expected.total).toBeGreaterThan(2);
      for (const one of [postgres, sqlite]) {
        const found = await one.search(query);
        expect([parameter, found.total, found.matches.map(({ resource }) => resource.id)]).toEqual([
          parameter,
          expected.total,
          expected.matches.map(({ resource }) => resource.id),
        ]);
      }
    }
  };
  await assertEqual(10);
  await buildSkips(pool, ['Observation', 'ValueSet']);
  Object.assign(TUNING, { looks: [Infinity] });
  await assertEqual(10);
  await assertEqual(600);
  await postgres.close();
  await sqlite.close();
});
