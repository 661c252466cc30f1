import { afterEach, beforeAll, expect, test } from 'vitest';
import type { Criteria } from '../../../src/search/criteria/criteria.js';
import type { ValueTest } from '../../../src/search/criteria/value-test.js';
import { MemoryStore } from '../../../src/stores/memory/store.js';
import { TUNING } from '../../../src/stores/postgres/scans/tuning.js';
import { SKIP_TUNING } from '../../../src/stores/postgres/rows/skip-row.js';
import { PostgresStore } from '../../../src/stores/postgres/store.js';
import { queryOf } from '../../../src/testing/conformance-case.js';
import { postgresPool } from './pool.js';
import { buildSkips } from './skip-build.js';
import { match, write } from '../skip-cases.js';

const DEFAULTS = { ...TUNING };
beforeAll(() => void Object.assign(SKIP_TUNING, { granule: 8, minGranules: 4, minHolders: 20 }));
afterEach(() => void Object.assign(TUNING, DEFAULTS));

const RESOURCES = Array.from({ length: 60 }, (_, index) => ({
  resourceType: 'Observation',
  id: `o${index}`,
  status: index % 3 === 0 ? 'amended' : 'final',
  // The first code is frequent, and has two systems.
  code: { coding: [{ code: `c${index % 2 === 0 ? 0 : index % 40}`, system: index % 4 === 0 ? 'urn:c' : 'urn:d' }] },
  subject: { reference: `Patient/p${index % 50}` },
}));

const KINDS: readonly (readonly [parameter: string, testOf: (value: number) => ValueTest])[] = [
  ['code', (value) => ({ kind: 'token', code: `c${value}` })],
  ['code', (value) => ({ kind: 'token', code: `c${value}`, system: 'urn:c' })],
  ['subject', (value) => ({ kind: 'reference', types: ['Patient'], id: `p${value}` })],
];

test.each([3, 600])('%i alternatives are found with a skip index', async (length) => {
  const pool = await postgresPool();
  const [store, memory] = [new PostgresStore(pool), new MemoryStore()];
  for (const one of [store, memory]) await write(one, RESOURCES);
  await buildSkips(pool, ['Observation']);
  Object.assign(TUNING, { looks: [Infinity] });
  for (const [parameter, testOf] of KINDS) {
    const of = Array.from({ length }, (_, value): Criteria => ({
      kind: 'match',
      parameter,
      test: testOf(2 * value),
    }));
    const criteria: Criteria = { kind: 'and', of: [{ kind: 'or', of }, match('status', 'final')] };
    const query = queryOf('Observation', criteria, { limit: 7, total: true });
    const [found, expected] = [await store.search(query), await memory.search(query)];
    expect([parameter, found.total, found.matches.map(({ resource }) => resource.id)]).toEqual([
      parameter,
      expected.total,
      expected.matches.map(({ resource }) => resource.id),
    ]);
  }
  await store.close();
});
