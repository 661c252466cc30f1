import type { ResourceStore } from 'fhirgraph';
import { PostgresStore } from 'fhirgraph/postgres';
import { SqliteStore } from 'fhirgraph/sqlite';
import pg from 'pg';
import { serverCpu } from './server-cpu.js';

export interface OpenStore {
  readonly store: ResourceStore;
  /** CPU time of this process with its threads, and of a database server on this machine, in microseconds. */
  readonly cpu: () => number;
  close(): Promise<void>;
}

/** Opens a SQLite file, or a PostgreSQL database by its URL. */
export async function openStore(place: string): Promise<OpenStore> {
  if (!/^postgres(?:ql)?:/.test(place)) {
    const store = new SqliteStore(place, { synchronous: 'normal', takeOver: true });
    return { store, cpu: processCpu, close: () => store.close() };
  }
  const pool = new pg.Pool({ connectionString: place });
  const store = new PostgresStore(pool, { takeOver: true });
  const ofServer = await serverCpu(pool);
  return {
    store,
    cpu: besideReading(ofServer),
    async close() {
      await store.close();
      await pool.end();
    },
  };
}

/** Reading the CPU time of a server takes milliseconds, which are excluded from the measurement. */
function besideReading(ofServer: () => number): () => number {
  let reading = 0;
  return () => {
    const own = processCpu() - reading;
    const server = ofServer();
    reading = processCpu() - own;
    return own + server;
  };
}

function processCpu(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
