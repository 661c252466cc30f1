import { expect, onTestFinished, test, vi } from 'vitest';
import type { AnyResource } from '../../../src/index.js';
import { pglitePool, PostgresStore } from '../../../src/postgres.js';
import { PROJECT, putAll, resourceOf } from '../../support/kit.js';
import { rowsOf } from '../../../src/stores/postgres/rows/array.js';
import { deleteOf } from '../../../src/stores/postgres/rows/by-key.js';
import { projectKey, resourceKey } from '../../../src/stores/postgres/rows/keys.js';
import type { Row } from '../../../src/stores/postgres/database/lent-connection.js';
import { ProjectWrites } from '../../../src/stores/postgres/commit/project-writes.js';
import { toStatement } from '../../../src/stores/postgres/database/statements.js';
import { STATISTICS } from '../../../src/stores/postgres/maintenance/statistics.js';
import type { Transaction } from '../../../src/stores/postgres/database/transaction.js';
import { type Sql, sql } from '../../../src/stores/sql/sql.js';
import { until } from '../../support/until.js';
import { bareDatabase, through } from './pool.js';

/** Statistics of small loads. */
function ofSmallLoads(quiet: number): void {
  const before = { ...STATISTICS };
  Object.assign(STATISTICS, { first: 10, quiet });
  onTestFinished(() => void Object.assign(STATISTICS, before));
}

/** A store to load, and the planner's estimate of its tables: the number of rows, -1 before it has any. */
async function loading(): Promise<{
  readonly store: PostgresStore;
  write(count: number): Promise<unknown>;
  known(table: string): Promise<number>;
  visible(table: string): Promise<number>;
}> {
  const database = await bareDatabase();
  const store = new PostgresStore(pglitePool(database));
  let patients = 0;
  const ofTable = async (column: string, table: string): Promise<number> => {
    const { rows } = await database.query<{ n: number }>(`SELECT ${column} AS n FROM pg_class WHERE relname = $1`, [
      table,
    ]);
    return rows[0]!.n;
  };
  return {
    store,
    write: (count) =>
      putAll(store, ...Array.from({ length: count }, () => resourceOf('Patient', `p${patients++}`, { active: true }))),
    known: (table) => ofTable('reltuples', table),
    visible: (table) => ofTable('relallvisible', table),
  };
}

const LONG_MS = 60_000;

test('statistics are gathered during a bulk load, and pages are marked as visible to all, each time that it has doubled', async () => {
  ofSmallLoads(LONG_MS);
  const { store, write, known, visible } = await loading();
  await write(9);
  expect(await known('resource')).toBe(-1);
  await write(1);
  await until(async () => (await known('display')) === 0);
  expect(await known('resource')).toBe(10);
  expect(await known('token')).toBeGreaterThanOrEqual(10);
  expect(await visible('token')).toBeGreaterThan(0);
  await write(9);
  await write(1);
  await until(async () => (await known('resource')) === 20);
  await store.close();
});

test('statistics are gathered when a bulk load has ended, even before it has doubled', async () => {
  ofSmallLoads(1);
  const { store, write, known } = await loading();
  await write(20);
  await until(async () => (await known('display')) === 0);
  await write(9);
  await write(1);
  await until(async () => (await known('resource')) === 30);
  await store.close();
});

test('warnings about background work report that the schema was dropped', async () => {
  ofSmallLoads(LONG_MS);
  const database = await bareDatabase();
  const pool = pglitePool(database);
  const store = new PostgresStore(
    through(pool, async (statement, client) => {
      if (/^VACUUM/.test(statement.text)) await database.exec('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
      return client.query(statement);
    }),
  );
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  onTestFinished(() => warn.mockRestore());
  await putAll(store, ...Array.from({ length: 10 }, (_, index) => resourceOf('Patient', `p${index}`)));
  await until(() => warn.mock.calls.length > 0);
  const lost = 'The schema lacks a table of the store: it was dropped, or search_path names another schema';
  expect(warn.mock.calls.map(([text]) => text)).toEqual([`The statistics of PostgreSQL are not renewed: ${lost}`]);
  await store.close();
});

test('a store gathers the statistics of a bulk load before it closes', async () => {
  ofSmallLoads(LONG_MS);
  const { store, write, known } = await loading();
  await write(20);
  await until(async () => (await known('display')) === 0);
  await write(9);
  await write(1);
  expect(await known('resource')).toBe(20);
  await store.close();
  expect(await known('resource')).toBe(30);
});

test('without statistics, a commit looks its resources up by their keys', async () => {
  const database = await bareDatabase();
  const pool = pglitePool(database);
  const plans: string[] = [];
  const store = new PostgresStore(
    through(pool, async (statement, client) => {
      if (/^(?:SELECT (?:k\.position|replace)|WITH w0)/.test(statement.text)) {
        const { rows } = await client.query({ ...statement, text: `EXPLAIN (COSTS OFF) ${statement.text}` });
        plans.push(...rows.map(([text]) => String(text)));
      }
      return client.query(statement);
    }),
  );
  const patients = (active: boolean): AnyResource[] =>
    Array.from({ length: 100 }, (_, index) => resourceOf('Patient', `p${index}`, { active }));
  for (const active of [true, false]) await putAll(store, ...patients(active));
  const conditions = plans.filter((text) => text.includes('Index Cond') && text.includes('project = '));
  // A range of the project that is read without a result.
  expect(conditions.filter((text) => !/\b(?:key|resource|text|name|type) = /.test(text))).toEqual([]);
  expect(conditions.some((text) => text.includes('key = '))).toBe(true);
  await store.close();
});

test('without statistics, a thousand resources are locked and replaced one by one, by their keys', async () => {
  const database = await bareDatabase();
  const store = new PostgresStore(pglitePool(database));
  const patients = Array.from({ length: 2_000 }, (_, n) => resourceOf('Patient', `p${n}`, { active: true }));
  await putAll(store, ...patients);
  const keys = patients.slice(0, 1_000).map(({ id }) => resourceKey(PROJECT, 'Patient', id!));
  const plans: string[] = [];
  const explain = async (statement: Sql): Promise<readonly Row[]> => {
    const { text, values } = toStatement(statement);
    const { rows } = await database.query<{ 'QUERY PLAN': string }>(`EXPLAIN (COSTS OFF) ${text}`, values);
    plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
    return [];
  };
  await new ProjectWrites(PROJECT, 0, 1).lock({ run: explain } as unknown as Transaction, keys);
  await explain(deleteOf(sql`token`, projectKey(PROJECT), rowsOf(keys)));
  const [locked, deleted] = plans as [string, string];
  expect(locked).toMatch(/LockRows[^]*Index Cond: .*\(key = k\.key\)/);
  expect(locked).not.toContain('Filter');
  expect(deleted).toMatch(/Index Cond: \(resource = k\.key\)/);
  expect(deleted).toMatch(/Tid Scan on token/);
  expect(deleted).not.toContain('Seq Scan');
  await store.close();
});
