import type { PGlite } from '@electric-sql/pglite';
import {
  pglitePool,
  type PostgresAnswer,
  type PostgresClient,
  type PostgresPool,
  type PostgresStatement,
  PostgresStore,
} from '../../../src/postgres.js';
import { openPglite } from '../../support/open-pglite.js';

/** One database serves all tests of a worker. It ends with the worker. */
let starting: Promise<PGlite> | undefined;
let emptied = 0;
/** The rows of a new store's tables, by table, while these tables exist. */
let initial: readonly (readonly [table: string, rows: string])[] | undefined;

/** The database behind {@link postgresPool}, in its initial state. */
export async function bareDatabase(): Promise<PGlite> {
  const database = await (starting ??= openPglite());
  await database.exec('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
  initial = undefined;
  return database;
}

/** The same with the empty tables of a store, which takes a twentieth of the time to create them. */
export async function newDatabase(): Promise<PGlite> {
  if (initial === undefined) {
    const bare = await bareDatabase();
    const store = new PostgresStore(pglitePool(bare));
    await store.read([{ project: '', type: 'Patient', id: 'nobody' }]);
    await store.close();
    initial = await initialRows(bare);
    return bare;
  }
  const database = await starting!;
  await database.exec(initial.map(([table]) => `DELETE FROM ${table}`).join(';'));
  for (const [table, rows] of initial) {
    if (rows === '[]') continue;
    await database.query(`INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1)`, [rows]);
  }
  return database;
}

async function initialRows(database: PGlite): Promise<readonly (readonly [table: string, rows: string])[]> {
  const { rows: tables } = await database.query<{ name: string }>(
    "SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition",
  );
  return Promise.all(
    tables.map(async ({ name }) => {
      const { rows } = await database.query<{ rows: string }>(
        `SELECT coalesce(json_agg(t), '[]')::text AS rows FROM ${name} t`,
      );
      return [name, rows[0]!.rows] as const;
    }),
  );
}

/** A pool over a PostgreSQL within this process, with empty tables. */
export async function postgresPool(): Promise<PostgresPool> {
  const database = await (starting ??= openPglite());
  const { rows } = await database.query<{ name: string }>(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND (tablename NOT LIKE 'fhirgraph%' OR tablename LIKE 'fhirgraph\\_segment%' OR tablename = 'fhirgraph_change')",
  );
  // Few rows are deleted in a tenth of the time of a TRUNCATE of ten tables. TRUNCATE removes the rest.
  const names = rows.map(({ name }) => name);
  if (emptied++ % 20 === 19 && names.length > 0) await database.exec(`TRUNCATE ${names.join(', ')}`);
  else await database.exec(names.map((name) => `DELETE FROM ${name}`).join(';'));
  return pglitePool(database);
}

/** A pool that lets a test see or change the statements on their way to another pool. */
export function through(
  pool: PostgresPool,
  query: (statement: PostgresStatement, client: PostgresClient) => Promise<PostgresAnswer>,
): PostgresPool {
  return {
    options: pool.options,
    async connect() {
      const client = await pool.connect();
      return {
        query: (statement) => query(statement, client),
        release: (broken) => client.release(broken),
      };
    },
  };
}

/** A pool that records the statements. */
export function noting(pool: PostgresPool, statements: string[]): PostgresPool {
  return through(pool, (statement, client) => {
    statements.push(statement.text);
    return client.query(statement);
  });
}
