import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Criteria } from '../../../src/search/criteria/criteria.js';
import type { TokenTest } from '../../../src/search/criteria/value-test.js';
import { MemoryStore } from '../../../src/stores/memory/store.js';
import { TUNING } from '../../../src/stores/postgres/scans/tuning.js';
import { FORMAT, SKIP_TUNING } from '../../../src/stores/postgres/rows/skip-row.js';
import { PostgresStore } from '../../../src/stores/postgres/store.js';
import { queryOf } from '../../../src/testing/conformance-case.js';
import { IS_WHOLE } from '../../support/chance.js';
import { noting, postgresPool } from './pool.js';
import { buildSkips } from './skip-build.js';
import { match, write } from '../skip-cases.js';
import { codedObservations, TESTS, UNUSED } from '../system-cases.js';

const DEFAULTS = { ...TUNING };
beforeAll(() => void Object.assign(SKIP_TUNING, { granule: 8, minGranules: 4, minHolders: 20 }));
afterEach(() => void Object.assign(TUNING, DEFAULTS));

const RESOURCES = codedObservations(IS_WHOLE ? 500 : 250);

describe('codes with their system', () => {
  test('of parameters with one, several, very many and no systems are counted', async () => {
    const pool = await postgresPool();
    const statements: string[] = [];
    const [store, memory] = [new PostgresStore(noting(pool, statements)), new MemoryStore()];
    for (const one of [store, memory]) await write(one, RESOURCES);
    await buildSkips(pool, ['Observation']);
    for (const parameter of ['code', 'method', 'category', UNUSED]) {
      Object.assign(TUNING, { looks: [Infinity] });
      for (const one of TESTS) {
        const asked: Criteria = { kind: 'match', parameter, test: one };
        for (const each of [asked, { kind: 'not', of: asked } as const]) {
          statements.length = 0;
          const criteria: Criteria = { kind: 'and', of: [each, match('status', 'final')] };
          const query = queryOf('Observation', criteria, { limit: 0, total: true });
          const { total } = await store.search(query);
          expect([each, total]).toEqual([each, (await memory.search(query)).total]);
          // Sets suffice unless there are very many systems. A code that few resources have is looked up.
          const isAny = one.code === undefined && one.system === undefined && one.noSystem !== true;
          const isKept = parameter === UNUSED ? one.code === undefined : one.code !== 'b';
          if (parameter !== 'category' && isKept && !isAny) {
            expect([each, statements.filter((text) => /\btoken\b/.test(text))]).toEqual([each, []]);
          }
        }
      }
    }
    await store.close();
  });

  test('are not in the skip indexes of older formats, which are rebuilt', async () => {
    const pool = await postgresPool();
    const statements: string[] = [];
    const store = new PostgresStore(noting(pool, statements));
    await write(store, RESOURCES);
    await buildSkips(pool, ['Observation']);
    const client = await pool.connect();
    const run = async (text: string): Promise<unknown> =>
      (await client.query({ text, values: [], rowMode: 'array' })).rows[0]?.[0];
    const older = `"format":${FORMAT - 1}`;
    await run(`DELETE FROM fhirgraph_skip WHERE value LIKE 'i%' OR value LIKE 'w%' OR value = 'j'`);
    await run(`UPDATE fhirgraph_skip SET data = replace(data, '"format":${FORMAT}', '${older}') WHERE value = ''`);
    client.release();
    Object.assign(TUNING, { looks: [Infinity] });
    const one: TokenTest = { kind: 'token', code: 'a', system: 'urn:1' };
    const query = queryOf(
      'Observation',
      { kind: 'and', of: [{ kind: 'match', parameter: 'method', test: one }, match('status', 'final')] },
      { limit: 0, total: true },
    );
    const count = async (): Promise<readonly [total: number | undefined, isScanned: boolean]> => {
      statements.length = 0;
      const { total } = await store.search(query);
      return [total, statements.some((text) => /\btoken\b/.test(text))];
    };
    const [total, isScanned] = await count();
    expect([await store.verify().then(({ problems }) => problems), isScanned]).toEqual([[], true]);
    // The only connection is for the calls of this test: the store does not use it to build the missing index.
    expect(statements.filter((text) => text.startsWith('INSERT INTO fhirgraph_skip_type'))).toEqual([]);
    await buildSkips(pool, ['Observation']);
    expect(await count()).toEqual([total, false]);
    await store.close();
  });
});
