import { importNdjson, systemCaller } from 'fhirgraph';
import { PostgresStore } from 'fhirgraph/postgres';
import { indexEntries, R4 } from 'fhirgraph/store';
import type { Resource } from '@medplum/fhirtypes';
import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';
import { copyText } from '../src/stores/postgres/database/copy-text.js';
import { IndexRows } from '../src/stores/postgres/rows/index-rows.js';
import { projectKey, resourceKeyIn } from '../src/stores/postgres/rows/keys.js';
import { findPostgres, type PostgresServer, startPostgres } from '../test/support/postgres-server.js';
import { copyOut, type Copy, copyIn } from './import-postgres/copy.js';
import { summary } from './measure.js';
import { Lines } from './scale/lines.js';
import { duration, judged, table } from './table.js';

const RESOURCES = 20_000;
const BATCH = 200;
const ROUNDS = 3;
const TARGET = 1.5;
const TABLES = [...['resource', 'token', 'string', 'date', 'quantity', 'reference', 'uri', 'display', 'unique_key']];

/** The times of one load, in milliseconds. CPU times are undefined if the machine does not report those of the server. */
interface Load {
  readonly wall: number;
  readonly client: number;
  readonly server: number | undefined;
}

/**
 * Imports NDJSON into a new database of a real PostgreSQL server, and compares the import with two loaders. They write the
 * same rows by COPY in the same transactions, two at a time like the import. One loader only sends finished rows. The other also
 * computes the rows of each line, with the functions of the store.
 */
export async function benchPostgresImport(): Promise<void> {
  const programs = findPostgres();
  if (programs === undefined) {
    console.log(
      '\nImport into PostgreSQL: skipped, no server found; set FHIRGRAPH_POSTGRES_BIN to the folder of its programs',
    );
    return;
  }
  const server = await startPostgres(programs, { shared_buffers: '512MB' });
  try {
    await compareLoads(server);
  } finally {
    await server.stop();
  }
}

async function compareLoads(server: PostgresServer): Promise<void> {
  const lines = [...new Lines().take(RESOURCES)].join('').trimEnd().split('\n');
  const loads: { imported: Load[]; finished: Load[]; made: Load[] } = { imported: [], finished: [], made: [] };
  let batches: readonly (readonly Copy[])[] | undefined;
  for (let round = 0; round < ROUNDS; round++) {
    const name = `imported_${round}`;
    loads.imported.push(await inNewDatabase(server, name, (pool) => importLines(pool, lines)));
    batches ??= await rowsOf(server, name, lines);
    for (const kind of round % 2 === 0 ? (['finished', 'made'] as const) : (['made', 'finished'] as const)) {
      const copy = `${kind}_${round}`;
      loads[kind].push(
        await inNewDatabase(server, copy, (pool) => copyRows(pool, batches!, kind === 'made' ? lines : undefined)),
      );
      if (round === 0) await assertEqualRows(server, name, copy);
    }
  }
  const base = { finished: medianOf(loads.finished), made: medianOf(loads.made) };
  const row = (name: string, load: Load, shown: (value: number) => string): string[] => [
    name,
    ...[load.wall, load.client, load.server].map((value) => (value === undefined ? '' : duration(value * 1_000))),
    `${Math.round((lines.length / load.wall) * 1_000)}/s`,
    ...[base.made, base.finished].flatMap((one) => [shown(load.wall / one.wall), shown(cpuOf(load) / cpuOf(one))]),
  ];
  const plain = (value: number): string => value.toFixed(2);
  const imported = row('importNdjson into PostgresStore', medianOf(loads.imported), plain);
  const aimed = medianOf(loads.imported);
  imported[5] = judged(aimed.wall / base.made.wall, TARGET);
  imported[6] = judged(cpuOf(aimed) / cpuOf(base.made), TARGET);
  const head = [`import of ${lines.length} resources, PostgreSQL`, 'wall', 'client CPU', 'server CPU', 'rate'];
  console.log(
    `\n${table([
      [...head, '× loader', '× by CPU', '× finished', '× by CPU'],
      row('COPY of finished rows', base.finished, plain),
      row('loader: parse, make rows, COPY', base.made, plain),
      imported,
    ])}`,
  );
}

async function importLines(pool: pg.Pool, lines: readonly string[]): Promise<void> {
  const store = new PostgresStore(pool);
  const source = lines.map((line) => `${line}\n`);
  const { failed } = await importNdjson(source, { store, caller: systemCaller('bench'), batchLines: BATCH });
  if (failed > 0) throw new Error(`${failed} resources were not imported`);
  await store.close();
}

/** @param lines the lines to compute the rows from; undefined sends finished rows */
async function copyRows(
  pool: pg.Pool,
  batches: readonly (readonly Copy[])[],
  lines: readonly string[] | undefined,
): Promise<void> {
  const clients = [await pool.connect(), await pool.connect()];
  const running: Promise<void>[] = [];
  let made = 0;
  for (const [index, copies] of batches.entries()) {
    if (lines !== undefined) made += makeRows(lines.slice(index * BATCH, (index + 1) * BATCH));
    const turn = index % clients.length;
    if (running[turn] !== undefined) await running[turn];
    running[turn] = copyIn(clients[turn]!, copies);
  }
  await Promise.all(running);
  for (const client of clients) client.release();
  if (lines !== undefined && made === 0) throw new Error('No rows were made');
}

/** Computes the rows of lines in the format of COPY. @returns their number of bytes; the finished rows are sent */
function makeRows(lines: readonly string[]): number {
  const shard = projectKey('bench');
  const rows = new IndexRows(shard);
  const meta = { versionId: '1', lastUpdated: new Date().toISOString() };
  const resources = lines.map((line) => {
    const resource = JSON.parse(line) as Resource;
    const { resourceType: type, id } = resource;
    const key = resourceKeyIn(shard, type, id!);
    rows.add(key, type, indexEntries(R4, resource));
    return [key, type, id!, 1, 0, JSON.stringify({ ...resource, meta: { ...resource.meta, ...meta } })];
  });
  let bytes = 0;
  const pieces = [copyText(shard, resources), ...rows.copies().map((copy) => copy.rows!)];
  for (const texts of pieces) for (const text of texts) bytes += Buffer.from(text).length;
  return bytes;
}

/** The rows of an imported database, grouped by the transactions that wrote them, in the format of COPY. */
async function rowsOf(
  server: PostgresServer,
  database: string,
  lines: readonly string[],
): Promise<readonly (readonly Copy[])[]> {
  const pool = openPool(server, database);
  const batchOf = new Map(
    lines.map((line, index) => {
      const { resourceType, id } = JSON.parse(line) as Resource;
      return [`${resourceType}/${id}`, Math.floor(index / BATCH)];
    }),
  );
  const { rows } = await pool.query<{ key: string; name: string }>(
    "SELECT key::text AS key, type || '/' || id AS name FROM resource",
  );
  const byKey = new Map(rows.map(({ key, name }) => [key, batchOf.get(name)!]));
  const batches = Array.from({ length: Math.ceil(lines.length / BATCH) }, (): Copy[] => []);
  for (const name of TABLES) {
    const columns = await pool.query<{ name: string }>(
      `SELECT attname AS name FROM pg_attribute WHERE attrelid = '${name}'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    );
    const names = columns.rows.map((column) => column.name);
    const at = names.findIndex((column) => column === (name === 'resource' ? 'key' : 'resource'));
    const client = await pool.connect();
    const text = await copyOut(client, `COPY ${name} (${quoted(names)}) TO STDOUT`);
    client.release();
    const parts = new Map<number, string[]>();
    for (const line of text.split('\n').slice(0, -1)) {
      // Shapes belong to no resource, so the first transaction writes them.
      const batch = at < 0 ? 0 : byKey.get(line.split('\t')[at]!)!;
      const part = parts.get(batch);
      if (part === undefined) parts.set(batch, [line]);
      else part.push(line);
    }
    for (const [batch, part] of parts) {
      const rowsText = Buffer.from(`${part.join('\n')}\n`);
      batches[batch]!.push({ text: `COPY ${name} (${quoted(names)}) FROM STDIN`, rows: rowsText });
    }
  }
  await pool.end();
  return batches;
}

function openPool(server: PostgresServer, database: string): pg.Pool {
  // A failure ends the server before its connections.
  return new pg.Pool({ ...server.connection, database, max: 6 }).on('error', () => undefined);
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ');
}

async function assertEqualRows(server: PostgresServer, one: string, other: string): Promise<void> {
  const sums = await Promise.all(
    [one, other].map(async (database) => {
      const pool = openPool(server, database);
      const found: string[] = [];
      for (const name of TABLES) {
        const { rows } = await pool.query<{ sum: string }>(
          `SELECT '${name} ' || count(*) || ' ' || coalesce(sum(hashtextextended(t::text, 0)), 0) AS sum FROM ${name} t`,
        );
        found.push(rows[0]!.sum);
      }
      await pool.end();
      return found.join('\n');
    }),
  );
  if (sums[0] !== sums[1]) throw new Error(`The loaders write different rows:\n${sums.join('\nand\n')}`);
}

/** Runs a load in a new database with empty tables. */
async function inNewDatabase(
  server: PostgresServer,
  database: string,
  load: (pool: pg.Pool) => Promise<void>,
): Promise<Load> {
  const admin = new pg.Client(server.connection);
  await admin.connect();
  await admin.query(`CREATE DATABASE ${database}`);
  const pool = openPool(server, database);
  const prepared = new PostgresStore(pool);
  await prepared.pendingParameters('bench');
  await prepared.close();
  await admin.query('CHECKPOINT');
  const { rows } = await admin.query<{ text: string }>("SELECT pg_read_file('postmaster.pid') AS text");
  const postmaster = Number(rows[0]!.text.split('\n')[0]);
  const before = { client: process.cpuUsage(), server: serverCpu(postmaster), start: performance.now() };
  await load(pool);
  const wall = performance.now() - before.start;
  const { user, system } = process.cpuUsage(before.client);
  const after = serverCpu(postmaster);
  await pool.end();
  await admin.end();
  const ofServer = after === undefined ? undefined : after - before.server!;
  return { wall, client: (user + system) / 1_000, server: ofServer };
}

/** CPU time of a server and its processes, ended ones included, in milliseconds; undefined without `/proc`. */
function serverCpu(postmaster: number): number | undefined {
  try {
    let ticks = 0;
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      const fields = statOf(pid);
      if (Number(pid) === postmaster) for (const at of [11, 12, 13, 14]) ticks += Number(fields[at]);
      else if (Number(fields[1]) === postmaster) ticks += Number(fields[11]) + Number(fields[12]);
    }
    return ticks * TICK_MS;
  } catch {
    return undefined;
  }
}

/** Fields from the state on; see proc(5). */
function statOf(pid: string): readonly string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    // The process has ended.
    return [];
  }
}

/** Clock ticks per second on Linux. */
const TICK_MS = 10;

function cpuOf({ client, server = 0 }: Load): number {
  return client + server;
}

function medianOf(loads: readonly Load[]): Load {
  const median = (of: (load: Load) => number): number => summary(loads.map(of)).median;
  const known = loads.every(({ server }) => server !== undefined);
  return {
    wall: median(({ wall }) => wall),
    client: median(({ client }) => client),
    server: known ? median(({ server }) => server!) : undefined,
  };
}
