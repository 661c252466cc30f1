import { PostgresStore, type PostgresStoreOptions } from '../../../src/postgres.js';
import { onceTestEnds } from '../../support/after-tests.js';
import { postgresPool } from './pool.js';

/** An empty store over a PostgreSQL within this process; closed when the test ends. */
export async function postgresStore(options?: PostgresStoreOptions): Promise<PostgresStore> {
  const store = new PostgresStore(await postgresPool(), options);
  onceTestEnds(() => store.close());
  return store;
}
