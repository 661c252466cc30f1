import '../scripts/assert-node.mjs';
import { importBundle, systemCaller } from 'fhirgraph';
import { PostgresStore } from 'fhirgraph/postgres';
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
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
import { post, quantile, runClients, type Sample, type Target } from './load/clients.js';
import { besideGreedy } from './load/greedy.js';
import { KINDS, mixOf, readsOf } from './load/mix.js';
import type { Order, ServeOptions } from './load/serve.js';
import type { Variables } from './queries.js';
import { table } from './table.js';

// 64 clients over HTTP against the example host, beside GraphQL Yoga with DataLoader over the same SQLite file and the same
// PostgreSQL: `npm run bench:load`. Servers run in processes of their own, the clients in this one.

const CLIENTS = 64;
const WARM_UP = 2;
const PROJECT = 'bench';
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    patients: { type: 'string', default: '100' },
    only: { type: 'string', default: 'greedy,sqlite,postgres' },
  },
});
const seconds = Number(values.seconds);
const rounds = Number(values.rounds);

/** A broad question that nothing narrows: every match is tested to be counted. */
const BROAD = JSON.stringify({
  query:
    '{ ObservationConnection(status: "final", date: "ge1990", _sort: "-date", _count: 20) { count edges { resource { id } } } }',
});

interface Running {
  readonly name: string;
  readonly child: ChildProcess;
  readonly target: Target;
}

interface Measured {
  readonly rate: number;
  readonly stall: number;
  /** Milliseconds of CPU time of the server per request. */
  readonly cpu: number;
  readonly samples: readonly Sample[];
}

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
  const copies = ['fhirgraph', 'yoga'].map((name) => join(folder, `${name}.db`));
  for (const copy of copies) copyFileSync(file, copy);
  await bench(variables, [
    await serve('fhirgraph, SQLite', { variant: 'fhirgraph', project: PROJECT, file: copies[0]! }),
    await serve('Yoga + DataLoader, SQLite', { variant: 'yoga', project: PROJECT, file: copies[1]! }),
  ]);
}

async function benchPostgres(variables: Variables): Promise<void> {
  const programs = findPostgres();
  if (programs === undefined)
    return console.log('No PostgreSQL server here; FHIRGRAPH_POSTGRES_BIN may name the folder of one');
  const server = await startPostgres(programs, { synchronous_commit: 'on' });
  try {
    const pool = new pg.Pool({ ...server.connection, max: 4 });
    const store = new PostgresStore(pool);
    for (const text of data.bundles) {
      await importBundle(JSON.parse(text) as object, { store, caller: systemCaller(PROJECT) });
    }
    await pool.query('ANALYZE');
    await store.close();
    await pool.end();
    const postgres = server.connection;
    await bench(variables, [
      await serve('fhirgraph, PostgreSQL', { variant: 'fhirgraph', project: PROJECT, postgres }),
      await serve('Yoga + DataLoader, PostgreSQL', { variant: 'yoga', project: PROJECT, postgres }),
    ]);
  } finally {
    await server.stop();
  }
}

async function bench(variables: Variables, servers: readonly Running[]): Promise<void> {
  try {
    await assertEqual(servers, variables);
    const mix = mixOf(variables);
    for (const { target } of servers) await runClients(target, mix, { clients: CLIENTS, seconds: WARM_UP });
    const measured = new Map(servers.map((server) => [server, [] as Measured[]]));
    for (let round = 0; round < rounds; round += 1) {
      const order = round % 2 === 0 ? servers : servers.toReversed();
      for (const server of order) measured.get(server)!.push(await measure(server, mix));
    }
    console.log(`${table(await perKind(servers, mix))}\n`);
    const rows = servers.map((server) => row(server.name, measured.get(server)!));
    rows.push(row(`${servers[0]!.name}, beside a broad query and an import`, [await measureBeside(servers[0]!, mix)]));
    console.log(
      `${table([['', 'requests/s', 'CPU each', 'p50', 'p99', 'p99/p50', ...KINDS.map((kind) => `${kind} p50`), 'stall', 'failed'], ...rows])}\n`,
    );
  } finally {
    for (const { child } of servers) {
      child.send('stop' satisfies Order);
      await once(child, 'exit');
    }
  }
}

/** Both servers answer every query of the mix alike. */
async function assertEqual([first, ...others]: readonly Running[], variables: Variables): Promise<void> {
  for (const body of readsOf(variables)) {
    const answer = async ({ target }: Running): Promise<unknown> =>
      (JSON.parse((await post(target, undefined, body)).text) as { data: unknown }).data;
    const expected = await answer(first!);
    for (const other of others) assert.deepEqual(await answer(other), expected, `${other.name} answers otherwise`);
  }
}

async function measure({ child, target }: Running, mix: ReturnType<typeof mixOf>): Promise<Measured> {
  child.send('begin' satisfies Order);
  const { samples, seconds: took } = await runClients(target, mix, { clients: CLIENTS, seconds });
  const answer = answerOf(child);
  child.send('stall' satisfies Order);
  const { stall, cpu } = (await answer) as { stall: number; cpu: number };
  return { rate: samples.length / took, stall, cpu: cpu / samples.length, samples };
}

/** The CPU time of one request of each kind: it says more than the clock on a machine that is busy. */
async function perKind(
  servers: readonly Running[],
  mix: ReturnType<typeof mixOf>,
): Promise<readonly (readonly string[])[]> {
  const rows = [['CPU time of the server per request', ...KINDS]];
  for (const server of servers) {
    const row = [server.name];
    for (const kind of KINDS) {
      let position = 0;
      const ofKind = (): ReturnType<typeof mix> => {
        for (;;) {
          const request = mix(position++);
          if (request.kind === kind) return request;
        }
      };
      row.push(`${(await measure(server, ofKind)).cpu.toFixed(2)} ms`);
    }
    rows.push(row);
  }
  return rows;
}

async function measureBeside(server: Running, mix: ReturnType<typeof mixOf>): Promise<Measured> {
  const ended = new AbortController();
  server.child.send({ importLines: linesOf(data) } satisfies Order);
  const broad = (async () => {
    while (!ended.signal.aborted) await post(server.target, undefined, BROAD);
  })();
  const measured = await measure(server, mix);
  ended.abort();
  await broad;
  return measured;
}

/** The resources of a few Bundles, without their links. */
function linesOf({ bundles }: BenchData): string {
  const entries = bundles.slice(0, 10).flatMap((text) => (JSON.parse(text) as { entry: { resource: object }[] }).entry);
  return entries.map(({ resource }) => JSON.stringify(resource)).join('\n');
}

async function serve(name: string, options: ServeOptions): Promise<Running> {
  const child = fork(fileURLToPath(new URL('load/serve.ts', import.meta.url)), [JSON.stringify(options)], {
    execArgv: ['--import', 'tsx'],
  });
  const target = (await answerOf(child)) as Target;
  return { name, child, target };
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const ended = new AbortController();
  const { signal } = ended;
  const exit = once(child, 'exit', { signal }).then(([code]) => {
    throw new Error(`The server ended with ${String(code)}`);
  });
  try {
    const [message] = (await Promise.race([once(child, 'message', { signal }), exit])) as [unknown];
    return message;
  } finally {
    exit.catch(() => undefined);
    ended.abort();
  }
}

function row(name: string, measured: readonly Measured[]): readonly string[] {
  const samples = measured.flatMap((one) => one.samples);
  const times = samples.map(({ time }) => time);
  const ofKind = (kind: string): number =>
    quantile(
      samples.filter((one) => one.kind === kind).map(({ time }) => time),
      0.5,
    );
  const p50 = quantile(times, 0.5);
  const p99 = quantile(times, 0.99);
  return [
    name,
    quantile(
      measured.map(({ rate }) => rate),
      0.5,
    ).toFixed(0),
    `${quantile(
      measured.map(({ cpu }) => cpu),
      0.5,
    ).toFixed(2)} ms`,
    `${p50.toFixed(1)} ms`,
    `${p99.toFixed(1)} ms`,
    (p99 / p50).toFixed(1),
    ...KINDS.map((kind) => `${ofKind(kind).toFixed(1)} ms`),
    `${Math.max(...measured.map(({ stall }) => stall)).toFixed(0)} ms`,
    String(samples.filter(({ ok }) => !ok).length),
  ];
}
