import type { ResourceStore } from 'fhirgraph';
import { PostgresStore } from 'fhirgraph/postgres';
import { SqliteStore } from 'fhirgraph/sqlite';
import pg from 'pg';

/** Opens a SQLite file, or a PostgreSQL database by its URL. */
export function openStore(place: string): { readonly store: ResourceStore; close(): Promise<void> } {
  if (!/^postgres(?:ql)?:/.test(place)) {
    const store = new SqliteStore(place, { synchronous: 'normal' });
    return { store, close: () => store.close() };
  }
  const pool = new pg.Pool({ connectionString: place });
  const store = new PostgresStore(pool);
  return {
    store,
    async close() {
      await store.close();
      await pool.end();
    },
  };
}
