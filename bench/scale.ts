import '../scripts/assert-node.mjs';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { parseArgs } from 'node:util';
import { importNdjson, systemCaller } from 'fhirgraph';
import { SqliteStore } from 'fhirgraph/sqlite';
import { askBroadQuestions } from './scale/broad.js';
import { Lines } from './scale/lines.js';
import { addProjects, timeProjects } from './scale/projects.js';
import { SCALE_QUERIES } from './scale/queries.js';
import { type Quantiles, timeQuery } from './scale/time-queries.js';
import { duration, table } from './table.js';

// What growth does: import rate, file size, memory and the times of ten queries while one SQLite file grows, broad questions
// over skewed data, and sign-in and reads in a store of many projects. Run it with `npm run bench:scale`; a million resources
// take minutes.

const USAGE = `npm run bench:scale -- [options]
  --sizes LIST    numbers of resources to stop and look at (default 10000,100000,1000000)
  --runs N        runs per query and size (default 200)
  --projects N    projects of the last part (default 10000)
  --broad         only the broad questions
  --postgres URL  only the broad questions, over an empty PostgreSQL database`;

const { values: options } = parseArgs({
  options: {
    sizes: { type: 'string', default: '10000,100000,1000000' },
    runs: { type: 'string', default: '200' },
    projects: { type: 'string', default: '10000' },
    broad: { type: 'boolean', default: false },
    postgres: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const isWhole = !options.broad && options.postgres === undefined;
const sizes = options.sizes.split(',').map(Number);
const runs = Number(options.runs);
const projects = Number(options.projects);
if (options.help || [...sizes, runs, projects].some((number) => !Number.isSafeInteger(number) || number < 1)) {
  console.log(USAGE);
  process.exit(options.help ? 0 : 1);
}

/** Of one broad question. */
const MAX_BROAD_RUNS = 40;

const folder = mkdtempSync(join(tmpdir(), 'fhirgraph-scale-'));
try {
  if (isWhole) await growOneProject();
  await askBroadQuestions(options.postgres ?? join(folder, 'broad.db'), sizes, Math.min(runs, MAX_BROAD_RUNS));
  if (isWhole) await growProjects();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function growOneProject(): Promise<void> {
  const file = join(folder, 'one.db');
  const store = new SqliteStore(file);
  const context = { store, caller: systemCaller('scale') };
  const lines = new Lines();
  const facts = [['resources', 'NDJSON', 'file', 'import', 'most memory']];
  const timings = SCALE_QUERIES.map((): Quantiles[] => []);
  for (const size of sizes) {
    const count = size - lines.count;
    const memory = watchMemory();
    const start = performance.now();
    const { failed } = await importNdjson(Readable.from(lines.take(count)), context);
    if (failed > 0) throw new Error(`${failed} lines were refused`);
    const rate = (count * 1000) / (performance.now() - start);
    const most = memory.stop();
    const row = [lines.bytes, sizeOf(file)].map((bytes) => `${(bytes / 1e6).toFixed(0)} MB`);
    facts.push([String(size), ...row, `${rate.toFixed(0)} /s`, `${most.toFixed(0)} MB`]);
    console.error(facts.at(-1)!.join('  '));
    // The first size would otherwise pay for compiling all that the others run.
    if (size === sizes[0]) for (const query of SCALE_QUERIES) await timeQuery(query, lines.known, context, 10 * runs);
    for (const [index, query] of SCALE_QUERIES.entries()) {
      timings[index]!.push(await timeQuery(query, lines.known, context, runs));
    }
  }
  await store.close();
  console.log(`\nOne project grows; lines are made while they are read\n\n${table(facts)}\n`);
  const head = ['query: p50, p95', ...sizes.map(String), `p50: ${sizes.at(-1)} / ${sizes[0]}`];
  const rows = SCALE_QUERIES.map(({ name, kind }, index) => {
    const cells = timings[index]!.map(({ p50, p95 }) => `${duration(p50)}, ${duration(p95)}`);
    const growth = timings[index]!.at(-1)!.p50 / timings[index]![0]!.p50;
    return [`${name} (${kind})`, ...cells, `${growth.toFixed(1)} ×`];
  });
  console.log(`${table([head, ...rows])}\n`);
  const logarithm = Math.log(sizes.at(-1)!) / Math.log(sizes[0]!);
  console.log(`The data grew ${sizes.at(-1)! / sizes[0]!} ×, their logarithm ${logarithm.toFixed(1)} ×.`);
}

async function growProjects(): Promise<void> {
  const store = new SqliteStore(join(folder, 'many.db'), {
    synchronous: 'normal',
    // One project alone would be answered from the cache.
    cacheBytes: 0,
  });
  await addProjects(store, 0, 1);
  const alone = await timeProjects(store, 1, runs);
  await addProjects(store, 1, projects);
  const among = await timeProjects(store, projects, runs);
  await store.close();
  const row = (name: 'signIn' | 'search', title: string): string[] => [
    title,
    ...[alone[name], among[name]].map(({ p50, p95 }) => `${duration(p50)}, ${duration(p95)}`),
    `${(among[name].p50 / alone[name].p50).toFixed(1)} ×`,
  ];
  const head = ['p50, p95', '1 project', `${projects} projects`, 'p50'];
  console.log(`\n${table([head, row('signIn', 'sign-in'), row('search', 'search of a member')])}`);
}

/** With what is still in the write-ahead log. */
function sizeOf(file: string): number {
  return statSync(file).size + statSync(`${file}-wal`).size;
}

/** The most memory that the process holds from now on, in MB. */
function watchMemory(): { stop(): number } {
  let most = 0;
  const look = (): void => {
    most = Math.max(most, process.memoryUsage.rss());
  };
  look();
  const timer = setInterval(look, 100);
  return {
    stop() {
      clearInterval(timer);
      look();
      return most / 1e6;
    },
  };
}
