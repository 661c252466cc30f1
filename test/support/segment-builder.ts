// Builds the segments of Observations in a process of its own, and stops forever in the middle of it. Arguments, as JSON: the
// configuration of a pool, the tuning, the number of the statement after which it stops, and how long the server tolerates that.
import pg from 'pg';
import type { PostgresPool } from '../../src/postgres.js';
import { SILENCE } from '../../src/stores/postgres/database/silence.js';
import { SEGMENT_TUNING } from '../../src/stores/segments/upkeep.js';
import { buildSegments } from '../stores/postgres/build-segments.js';

const [connection, tuning, stopAt, silence] = JSON.parse(process.argv[2]!) as [
  pg.PoolConfig,
  Partial<typeof SEGMENT_TUNING>,
  number,
  number,
];
Object.assign(SEGMENT_TUNING, tuning);
SILENCE.most = silence;
const pool = new pg.Pool(connection);
let sent = 0;
const stopping: PostgresPool = {
  async connect() {
    const client = await pool.connect();
    return {
      async query(statement) {
        if (++sent < stopAt) return client.query(statement);
        // The server can have executed it or not when this process is killed.
        client.on('error', () => {});
        client.query(statement).catch(() => {});
        process.stdout.write('stopped\n');
        await new Promise((resolve) => setTimeout(resolve, 3_600_000));
        throw new Error('Nobody killed this process');
      },
      release: (broken) => client.release(broken),
    };
  },
};
await buildSegments(stopping, ['Observation']);
await pool.end();
process.stdout.write(`built with ${sent} statements\n`);
