import { type PostgresPool, PostgresStore } from 'fhirgraph/postgres';
import { INDEX_VERSION } from '../../src/search/index/index-version.js';

/** Opens a database of an older version and, where its index is older too, indexes it again, as the documents say. */
export async function openUpgraded(pool: PostgresPool): Promise<PostgresStore> {
  const client = await pool.connect();
  const text = "SELECT value FROM fhirgraph_meta WHERE name = 'index_version'";
  const { rows } = await client.query({ text, values: [], rowMode: 'array' });
  client.release();
  const store = new PostgresStore(pool);
  if (Number(rows[0]?.[0]) < INDEX_VERSION) await store.reindex();
  return store;
}
