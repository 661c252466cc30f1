import type { PGlite } from '@electric-sql/pglite';
import type { PostgresPool } from '../../src/stores/postgres/driver.js';
import { pglitePool } from '../../src/stores/postgres/pglite-pool.js';
import { openPglite } from '../support/open-pglite.js';

/** One database serves all tests of a worker. It ends with the worker. */
let starting: Promise<PGlite> | undefined;
let emptied = 0;

/** The database behind {@link postgresPool}, as if it was new. */
export async function bareDatabase(): Promise<PGlite> {
  const database = await (starting ??= openPglite());
  await database.exec('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
  return database;
}

/** A pool over a PostgreSQL within this process, without anything in its tables. */
export async function postgresPool(): Promise<PostgresPool> {
  const database = await (starting ??= openPglite());
  const { rows } = await database.query<{ name: string }>(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND (tablename NOT LIKE 'fhirgraph%' OR tablename LIKE 'fhirgraph\\_skip%')",
  );
  // Few rows are deleted in a tenth of the time that TRUNCATE takes for ten tables; it is for what that leaves behind.
  const names = rows.map(({ name }) => name);
  if (emptied++ % 20 === 19 && names.length > 0) await database.exec(`TRUNCATE ${names.join(', ')}`);
  else await database.exec(names.map((name) => `DELETE FROM ${name}`).join(';'));
  return pglitePool(database);
}
