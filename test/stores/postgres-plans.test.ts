import { expect, test } from 'vitest';
import { PostgresStore } from '../../src/stores/postgres/store.js';
import { put, queryOf } from '../../src/testing/conformance-case.js';
import { postgresPool } from './postgres-pool.js';

test('a sort by a token reads the values of each resource by its key, before there are statistics', async () => {
  const store = new PostgresStore(await postgresPool());
  const code = { coding: [{ system: 'http://loinc.org', code: '8867-4' }] };
  await store.commit(
    Array.from({ length: 500 }, (_, n) =>
      put({ resourceType: 'Observation', id: `o${n}`, status: 'final', code, category: [code, code] } as never),
    ),
  );
  for (const parameter of ['code', 'status', 'category']) {
    const sort = [{ parameter, descending: false }];
    const [page] = await store.explain({
      kind: 'search',
      query: queryOf('Observation', { kind: 'all' }, { sort, limit: 5 }),
    });
    const plan = page!.plan.join('\n');
    // The name of the index depends on whether the tables of this process are partitioned; its condition does not.
    const perRow = plan.slice(plan.lastIndexOf('SubPlan 1'));
    expect(perRow.match(/Index Cond: .*/g)).toEqual([
      expect.stringMatching(/^Index Cond: \(\(resource = r0\.key\) AND \(parameter = /),
    ]);
  }
  await store.close();
});
