import { R4 } from '../../../src/fhir/r4.js';
import { Connections } from '../../../src/stores/postgres/database/connections.js';
import type { PostgresPool } from '../../../src/stores/postgres/database/driver.js';
import { IndexStatus } from '../../../src/stores/postgres/maintenance/index-status.js';
import { SegmentRefresh } from '../../../src/stores/postgres/segment-refresh.js';
import { PostgresSegments } from '../../../src/stores/postgres/segments/segments.js';
import { PROJECT } from '../../../src/testing/conformance-case.js';

/** Brings the segments of some types up to date, as another process would before it closes. */
export async function buildSegments(pool: PostgresPool, types: Iterable<string>, project = PROJECT): Promise<void> {
  const connections = new Connections(pool, { connectionWait: 600_000, cancelWait: 2_000 });
  const status = new IndexStatus(connections, R4);
  await status.load();
  const all = [...types];
  for (let left = 100; left > 0; left--) {
    const refresh = new SegmentRefresh(connections, status, new PostgresSegments(R4));
    refresh.stale(project, all, '');
    await refresh.finish();
    const text = `SELECT 1 FROM fhirgraph_segment_list WHERE NOT complete UNION ALL SELECT 1 FROM fhirgraph_segment_written`;
    if ((await rowsOf(pool, text)).length === 0) break;
  }
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
