import { setTimeout as delay } from 'node:timers/promises';
import type { PostgresPool } from '../../../src/postgres.js';
import { R4 } from '../../../src/store.js';
import { PROJECT } from '../../support/kit.js';
import { Connections } from '../../../src/stores/postgres/database/connections.js';
import { IndexStatus } from '../../../src/stores/postgres/schema/index-status.js';
import { PostgresRefreshPort } from '../../../src/stores/postgres/refresh-port.js';
import { PostgresSegments } from '../../../src/stores/postgres/segments/segments.js';
import { DamagedSegment } from '../../../src/stores/segments/segment-rows.js';
import { SEGMENT_TUNING } from '../../../src/stores/segments/upkeep.js';

/** Brings the segments of some types up to date, as another process would, down to the last write. */
export async function buildSegments(
  pool: PostgresPool,
  types: Iterable<string>,
  project = PROJECT,
  model = R4,
): Promise<void> {
  const connections = new Connections(pool, { connectionWait: 600_000, cancelWait: 2_000 });
  const status = new IndexStatus(connections, model);
  await status.load();
  const port = new PostgresRefreshPort(connections, status, new PostgresSegments(model));
  const rules = { least: 0, flushFrom: 1, merges: true, mostOf: () => SEGMENT_TUNING.size };
  const { signal } = new AbortController();
  const step = async (type: string): Promise<'more' | 'later' | 'done'> => {
    const due = { project, type, least: 0 };
    let progress: Awaited<ReturnType<typeof port.progressOf>> = 'done';
    try {
      progress = await port.progressOf(due, 1, signal);
      if (typeof progress === 'string') return progress;
      return await port.run(due, progress, port.upkeep.next(type, progress, rules), () => undefined, signal);
    } catch (error) {
      if (error instanceof DamagedSegment && typeof progress !== 'string') {
        // Unless another process has replaced the list.
        if (progress.list !== undefined) await port.drop(due, progress.list, signal);
        return 'more';
      }
      const meaning = await port.meaningOf(error);
      if (meaning === undefined) throw error;
      return meaning;
    }
  };
  for (const type of types) {
    for (let result; result !== 'done';) {
      result = await step(type);
      if (result === 'later') await delay(5);
    }
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
