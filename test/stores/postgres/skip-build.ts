import { R4 } from '../../../src/fhir/r4.js';
import { Connections } from '../../../src/stores/postgres/database/connections.js';
import type { PostgresPool } from '../../../src/stores/postgres/database/driver.js';
import { SkipIndexes } from '../../../src/stores/postgres/skip/skip-indexes.js';
import { PROJECT } from '../../../src/testing/conformance-case.js';

/** Updates the skip indexes of some types. */
export async function buildSkips(pool: PostgresPool, types: Iterable<string>, project = PROJECT): Promise<void> {
  const connections = new Connections(pool, { connectionWait: 600_000, cancelWait: 2_000 });
  const skips = new SkipIndexes(connections, R4);
  await skips.make([...types].map((type) => ({ project, type, isUnused: true })));
  connections.close();
}

/** The rows of one statement. */
export async function rowsOf(pool: PostgresPool, text: string): Promise<readonly (readonly unknown[])[]> {
  const client = await pool.connect();
  try {
    return (await client.query({ text, values: [], rowMode: 'array' })).rows;
  } finally {
    client.release();
  }
}
