import { PGlite } from '@electric-sql/pglite';
import type { PostgresPool } from '../../src/stores/postgres/driver.js';
import { pglitePool } from '../../src/stores/postgres/pglite-pool.js';

/** One database serves all tests of a worker, as to start one takes two seconds. It ends with the worker. */
let starting: Promise<PGlite> | undefined;

/** The database behind {@link postgresPool}, as if it was new. */
export async function bareDatabase(): Promise<PGlite> {
  const database = await (starting ??= PGlite.create());
  await database.exec('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
  return database;
}

/** A pool over a PostgreSQL within this process, without anything in its tables. */
export async function postgresPool(): Promise<PostgresPool> {
  const database = await (starting ??= PGlite.create());
  const { rows } = await database.query<{ name: string }>(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'fhirgraph_meta'",
  );
  if (rows.length > 0) await database.exec(`TRUNCATE ${rows.map(({ name }) => name).join(', ')}`);
  return pglitePool(database);
}
