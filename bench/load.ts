import '../scripts/assert-node.mjs';
import { importBundle, systemCaller } from 'fhirgraph';
import { PostgresStore } from 'fhirgraph/postgres';
import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { findPostgres, startPostgres } from '../test/support/postgres-server.js';
import { chooseVariables } from './choose-variables.js';
import { type BenchData, loadData } from './data.js';
import { importIndexed } from './import-rate.js';
import { post } from './load/clients.js';
import { besideGreedy } from './load/greedy.js';
import { type Kind, KINDS, mixOf, ofKind, readsOf } from './load/mix.js';
import { report } from './load/report.js';
import type { ServeOptions } from './load/serve.js';
import {
  CLIENTS,
  measure,
  measureBeside,
  type Measured,
  type Running,
  startServer,
  stopServer,
} from './load/servers.js';
import type { Variables } from './queries.js';
import { serverCpu } from './scale/server-cpu.js';
import { table } from './table.js';

// 64 clients over HTTP send requests to the example host, and to GraphQL Yoga with DataLoader over the same SQLite file and the
// same PostgreSQL: `npm run bench:load`. Servers run in processes of their own, the clients in this process.

/** Seconds of the mix and of writes. V8 compiles code that runs often, and few requests of the mix write. */
const WARM_UP = { mix: 1, write: 3 };
const PROJECT = 'bench';
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '3' },
    patients: { type: 'string', default: '100' },
    only: { type: 'string', default: 'greedy,sqlite,postgres' },
    variants: { type: 'string', default: 'fhirgraph,yoga-equal,yoga-bare' },
    beside: { type: 'string', default: 'yes' },
  },
});
const seconds = Number(values.seconds);
const rounds = Number(values.rounds);

const NAMES: { readonly [Variant in ServeOptions['variant']]: string } = {
  fhirgraph: 'fhirgraph',
  'yoga-equal': 'Yoga, membership + history + index',
  'yoga-bare': 'Yoga, bare',
};

const data = loadData(fileURLToPath(new URL('../../shared/data/synthea', import.meta.url)), Number(values.patients));
const folder = mkdtempSync(join(tmpdir(), 'fhirgraph-load-'));
try {
  const file = join(folder, 'bench.db');
  await importIndexed(data.bundles, file, PROJECT);
  const variables = chooseVariables(file, PROJECT);
  console.log(`Machine   ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Node.js ${process.version}`);
  console.log(`Data      ${data.source}`);
  console.log(
    `Load      ${CLIENTS} clients, ${rounds} rounds of ${seconds} s each, order reversed in every second round\n`,
  );
  if (values.only.includes('greedy')) await benchGreedy(file);
  if (values.only.includes('sqlite')) await benchSqlite(file, variables);
  if (values.only.includes('postgres')) await benchPostgres(variables);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function benchGreedy(file: string): Promise<void> {
  const copy = join(folder, 'greedy.db');
  copyFileSync(file, copy);
  const reports = await besideGreedy(copy, PROJECT, seconds);
  const rows = reports.map(({ name, reads, p50, p99, lists }) => [
    name,
    reads.toFixed(0),
    `${p50.toFixed(1)} ms`,
    `${p99.toFixed(1)} ms`,
    lists.toFixed(1),
  ]);
  const head = ['20 modest tenants beside a greedy one', 'reads/s', 'p50', 'p99', 'wide lists/s'];
  console.log(`${table([head, ...rows])}\n`);
}

async function benchSqlite(file: string, variables: Variables): Promise<void> {
  await bench('SQLite', variables, (variant) => {
    const copy = join(folder, `${variant}.db`);
    copyFileSync(file, copy);
    return { variant, project: PROJECT, file: copy };
  });
}

async function benchPostgres(variables: Variables): Promise<void> {
  const programs = findPostgres();
  if (programs === undefined)
    return console.log('No PostgreSQL server found; set FHIRGRAPH_POSTGRES_BIN to the folder of its programs');
  const server = await startPostgres(programs, { synchronous_commit: 'on' });
  try {
    const pool = new pg.Pool({ ...server.connection, max: 4 });
    const store = new PostgresStore(pool);
    for (const text of data.bundles) {
      await importBundle(JSON.parse(text) as object, { store, caller: systemCaller(PROJECT) });
    }
    await pool.query('ANALYZE');
    await store.close();
    const postgres = server.connection;
    const cpu = await serverCpu(pool);
    await pool.end();
    await bench('PostgreSQL', variables, (variant) => ({ variant, project: PROJECT, postgres }), cpu);
  } finally {
    await server.stop();
  }
}

async function bench(
  database: string,
  variables: Variables,
  optionsOf: (variant: ServeOptions['variant']) => ServeOptions,
  cpu?: () => number,
): Promise<void> {
  const servers: Running[] = [];
  try {
    for (const variant of values.variants.split(',') as ServeOptions['variant'][]) {
      servers.push(await startServer(`${NAMES[variant]}, ${database}`, optionsOf(variant), cpu));
    }
    await assertEqual(servers, variables);
    const mix = mixOf(variables);
    for (const server of servers) await measure(server, mix, WARM_UP.mix);
    for (const server of servers) await measure(server, ofKind(mix, 'write'), WARM_UP.write);
    const mixed = await inTurn(servers, (server) => measure(server, mix, seconds));
    const kinds = new Map<Kind, ReadonlyMap<Running, readonly Measured[]>>();
    for (const kind of KINDS) {
      kinds.set(kind, await inTurn(servers, (server) => measure(server, ofKind(mix, kind), seconds / 3)));
    }
    const lines = servers.map((server) => ({
      name: server.name,
      rounds: mixed.get(server)!,
      kinds: new Map(KINDS.map((kind) => [kind, kinds.get(kind)!.get(server)!])),
    }));
    const [own] = servers;
    const beside =
      values.beside === 'yes'
        ? [
            {
              name: `${own!.name}, beside a broad query and an import`,
              rounds: [await measureBeside(own!, mix, 2 * seconds, linesOf(data))],
            },
          ]
        : [];
    console.log(`${report([...lines, ...beside])}\n`);
  } finally {
    await Promise.all(servers.map(stopServer));
  }
}

/** Alternates rounds of all servers, so that other work on the machine affects them alike. */
async function inTurn(
  servers: readonly Running[],
  measured: (server: Running) => Promise<Measured>,
): Promise<ReadonlyMap<Running, readonly Measured[]>> {
  const results = new Map(servers.map((server) => [server, [] as Measured[]]));
  for (let round = 0; round < rounds; round += 1) {
    const order = round % 2 === 0 ? servers : servers.toReversed();
    for (const server of order) results.get(server)!.push(await measured(server));
  }
  return results;
}

/** Checks that all servers give the same answer to every query of the mix. */
async function assertEqual([first, ...others]: readonly Running[], variables: Variables): Promise<void> {
  for (const body of readsOf(variables)) {
    const answer = async ({ target }: Running): Promise<unknown> =>
      (JSON.parse((await post(target, undefined, body)).text) as { data: unknown }).data;
    const expected = await answer(first!);
    for (const other of others)
      assert.deepEqual(await answer(other), expected, `${other.name} gives a different answer`);
  }
}

/** The resources of a few Bundles, without their links. */
function linesOf({ bundles }: BenchData): string {
  const entries = bundles.slice(0, 10).flatMap((text) => (JSON.parse(text) as { entry: { resource: object }[] }).entry);
  return entries.map(({ resource }) => JSON.stringify(resource)).join('\n');
}
