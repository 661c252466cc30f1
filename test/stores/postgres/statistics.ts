import { expect, test } from 'vitest';
import { pglitePool } from '../../../src/stores/postgres/pglite-pool.js';
import { STATISTICS } from '../../../src/stores/postgres/statistics.js';
import { PostgresStore } from '../../../src/stores/postgres/store.js';
import { putAll, resourceOf } from '../../../src/testing/conformance-case.js';
import { until } from '../../support/until.js';
import { bareDatabase } from '../postgres-pool.js';

test('statistics are gathered during a bulk load, each time that it has doubled', async () => {
  const first = STATISTICS.first;
  STATISTICS.first = 10;
  const database = await bareDatabase();
  const store = new PostgresStore(pglitePool(database));
  let patients = 0;
  const write = (count: number): Promise<unknown> =>
    putAll(store, ...Array.from({ length: count }, () => resourceOf('Patient', `p${patients++}`, { active: true })));
  /** How many rows the planner believes in; -1 before it knows. */
  const known = async (table: string): Promise<number> => {
    const { rows } = await database.query<{ n: number }>('SELECT reltuples AS n FROM pg_class WHERE relname = $1', [
      table,
    ]);
    return rows[0]!.n;
  };
  await write(9);
  expect(await known('resource')).toBe(-1);
  await write(1);
  await until(async () => (await known('display')) === 0);
  expect(await known('resource')).toBe(10);
  expect(await known('token')).toBeGreaterThanOrEqual(10);
  await write(9);
  await write(1);
  await until(async () => (await known('resource')) === 20);
  STATISTICS.first = first;
  await store.close();
});
