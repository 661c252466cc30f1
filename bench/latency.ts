import '../scripts/assert-node.mjs';
import { importBundle, systemCaller } from 'fhirgraph';
import { PostgresStore } from 'fhirgraph/postgres';
import pg from 'pg';
import { findPostgres, startPostgres } from '../test/support/postgres-server.js';
import { loadData } from './data.js';
import { assertEqualAnswers } from './equal-answers.js';
import { dataloaderOverPostgres } from './latency/dataloader-postgres.js';
import { openSlowLine } from './latency/slow-line.js';
import { type BenchQuery, QUERIES, type Variables, type Variant } from './queries.js';
import { duration, table } from './table.js';
import { fhirgraph } from './variants/fhirgraph.js';

// Measures the cost of the network: the queries of the bench over a real PostgreSQL server on this machine, with 0, 1 and 5 ms
// added to every round trip, compared with graphql-js with DataLoader over the same tables. Run it with `npm run bench:latency`.

const DELAYS = [0, 1, 5];
const PATIENTS = 100;
const RUNS = 60;
const PROJECT = 'bench';

const programs = findPostgres();
if (programs === undefined) {
  console.log('No PostgreSQL server found; set FHIRGRAPH_POSTGRES_BIN to the folder of its programs');
  process.exit(0);
}
const server = await startPostgres(programs, { fsync: 'off' });
try {
  await bench();
} finally {
  await server.stop();
}

async function bench(): Promise<void> {
  const variables = await load();
  const variants = await Promise.all(DELAYS.map(openVariants));
  const rows = [['lower quartile', ...DELAYS.map((delay) => `+${delay} ms`), 'round trips']];
  for (const query of QUERIES) {
    await assertEqualAnswers(variants[0]!.all, query, variables);
    for (const [index, { name }] of variants[0]!.all.entries()) {
      const times: number[] = [];
      for (const { all } of variants) times.push(await typical(all[index]!, query, variables));
      // Milliseconds that one more millisecond of delay costs: the number of consecutive round trips.
      const trips = (times.at(-1)! - times.at(-2)!) / 1000 / (DELAYS.at(-1)! - DELAYS.at(-2)!);
      rows.push([`${query.what}: ${name}`, ...times.map(duration), trips.toFixed(1)]);
    }
  }
  console.log(table(rows));
  for (const { close } of variants) await close();
}

/** @returns the variables of the queries: the first patient, by id, with at least 50 observations */
async function load(): Promise<Variables> {
  const pool = new pg.Pool({ ...server.connection, max: 4 });
  const store = new PostgresStore(pool);
  const caller = systemCaller(PROJECT);
  const data = loadData(new URL('../../shared/data/synthea', import.meta.url).pathname, PATIENTS);
  const start = performance.now();
  for (const text of data.bundles) await importBundle(JSON.parse(text) as object, { store, caller });
  const { rows } = await pool.query<{ id: string; resources: number }>(
    `SELECT target_id AS id, (SELECT count(*)::int FROM resource) AS resources FROM reference
     WHERE target_type = 'Patient' AND parameter = (SELECT parameter FROM reference JOIN resource ON key = resource
       WHERE type = 'Observation' AND target_type = 'Patient' GROUP BY parameter ORDER BY count(*) DESC LIMIT 1)
     GROUP BY target_id HAVING count(*) >= 50 ORDER BY target_id LIMIT 1`,
  );
  const { id, resources } = rows[0]!;
  await pool.query('ANALYZE');
  const seconds = (performance.now() - start) / 1000;
  console.log(`${data.source}: ${resources} resources, ${(resources / seconds).toFixed(0)} imported per second\n`);
  await store.close();
  await pool.end();
  return { patient: id, gender: 'female' };
}

async function openVariants(
  delay: number,
): Promise<{ readonly all: readonly Variant[]; readonly close: () => Promise<void> }> {
  const line = await openSlowLine(server.connection.port, delay);
  const pool = new pg.Pool({ ...server.connection, port: line.port, max: 8 });
  pool.on('error', () => undefined);
  const store = new PostgresStore(pool);
  return {
    all: [fhirgraph('fhirgraph', store, PROJECT), dataloaderOverPostgres(pool, PROJECT)],
    async close() {
      await store.close();
      await pool.end();
      line.close();
    },
  };
}

/** @returns the lower quartile, in microseconds */
async function typical(variant: Variant, query: BenchQuery, variables: Variables): Promise<number> {
  const run = variant.prepare(query, variables);
  const times: number[] = [];
  for (let round = -5; round < RUNS; round++) {
    const start = performance.now();
    await run();
    if (round >= 0) times.push((performance.now() - start) * 1000);
  }
  // On a busy machine, the faster half of the times shows the network better than the slower half.
  return times.sort((a, b) => a - b)[Math.floor(times.length / 4)]!;
}
