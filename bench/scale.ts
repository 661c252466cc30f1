import '../scripts/assert-node.mjs';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findPostgres, startPostgres } from '../test/support/postgres-server.js';
import { askBroadQuestions } from './scale/broad.js';
import { type Contents, type Home, postgresHome, SKEWED, sqliteHome } from './scale/broad-store.js';
import { growOneProject } from './scale/growth.js';
import { growProjects } from './scale/projects.js';
import { askRandomQuestions } from './scale/random/random.js';
import { randomContents } from './scale/random/random-contents.js';

// Measures the effects of growth: broad questions over skewed data; import rate, file size, memory and the times of ten queries
// while one SQLite file grows; sign-in and reads in a store of many projects. Run it with `npm run bench:scale`.

const USAGE = `npm run bench:scale -- [options]
  --part LIST     broad, random, growth, projects (default: all but random on SQLite, broad on PostgreSQL)
  --store LIST    sqlite, postgres (default sqlite)
  --size LIST     numbers of resources (default 10000,100000,1000000)
  --only LIST     broad questions with one of these in their names, random questions with one in their texts
  --runs N        runs per question and size, each with different values (default 20)
  --seed N        seed of the random data and questions (default 1)
  --sparse        random data in which each optional element has its own chance to be missing
  --questions N   number of random questions (default 1000)
  --check         compare the answers of random questions with a search that reads everything
  --limit S       seconds for one broad question; its process is ended after that (default 60)
  --projects N    projects of the last part (default 10000)
  --data DIR      keeps the stores of the broad questions here, and reuses the stores of an earlier run
  --postgres URL  a server to create databases in; without it, a server is started`;

const { values: options } = parseArgs({
  options: {
    part: { type: 'string' },
    store: { type: 'string', default: 'sqlite' },
    size: { type: 'string', default: '10000,100000,1000000' },
    only: { type: 'string', default: '' },
    runs: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    sparse: { type: 'boolean', default: false },
    questions: { type: 'string', default: '1000' },
    check: { type: 'boolean', default: false },
    limit: { type: 'string', default: '60' },
    projects: { type: 'string', default: '10000' },
    data: { type: 'string' },
    postgres: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const stores = options.store.split(',');
const parts = options.part?.split(',') ?? (stores.includes('sqlite') ? ['broad', 'growth', 'projects'] : ['broad']);
const sizes = options.size.split(',').map(Number);
const numbers = [options.runs, options.limit, options.projects, options.seed, options.questions].map(Number);
const [runs, limit, projects, seed, questions] = numbers as [number, number, number, number, number];
const isValid =
  [...sizes, ...numbers].every((number) => Number.isSafeInteger(number) && number > 0) &&
  stores.every((store) => ['sqlite', 'postgres'].includes(store)) &&
  parts.every((part) => ['broad', 'random', 'growth', 'projects'].includes(part));
if (options.help || !isValid) {
  console.log(USAGE);
  process.exit(options.help ? 0 : 1);
}

const only = options.only === '' ? [] : options.only.split(',');
const folder = mkdtempSync(join(tmpdir(), 'fhirgraph-scale-'));
try {
  const home = options.data ?? folder;
  if (stores.includes('sqlite')) await askParts('SQLite', (contents) => sqliteHome(home, contents));
  if (stores.includes('postgres')) await askPostgres();
  if (parts.includes('growth')) await growOneProject(folder, sizes, 10 * runs);
  if (parts.includes('projects')) await growProjects(folder, projects, 10 * runs);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function askParts(name: string, homeOf: (contents: Contents) => Promise<Home>): Promise<void> {
  if (parts.includes('broad')) await askBroadQuestions(name, await homeOf(SKEWED), { sizes, runs, limit, only });
  if (!parts.includes('random')) return;
  const source = { seed, sparse: options.sparse };
  const home = await homeOf(randomContents(source));
  await askRandomQuestions(name, home, { source, sizes, questions, runs, only, check: options.check });
}

async function askPostgres(): Promise<void> {
  if (options.postgres !== undefined) return askServer(options.postgres);
  const programs = findPostgres();
  if (programs === undefined) {
    console.log('No PostgreSQL server found; set FHIRGRAPH_POSTGRES_BIN to the folder of its programs');
    return;
  }
  const home = options.data === undefined ? undefined : join(options.data, 'postgres');
  const server = await startPostgres(programs, { synchronous_commit: 'off' }, home);
  try {
    const { host, port, user, database } = server.connection;
    await askServer(`postgres://${user}@${host}:${port}/${database}`);
  } finally {
    await server.stop();
  }
}

function askServer(url: string): Promise<void> {
  return askParts('PostgreSQL', (contents) => postgresHome(url, contents));
}
