import '../scripts/assert-node.mjs';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findPostgres, startPostgres } from '../test/support/postgres-server.js';
import { askBroadQuestions } from './scale/broad.js';
import { postgresHome, sqliteHome } from './scale/broad-store.js';
import { growOneProject } from './scale/growth.js';
import { growProjects } from './scale/projects.js';

// What growth does: broad questions over skewed data, import rate, file size, memory and the times of ten queries while one
// SQLite file grows, and sign-in and reads in a store of many projects. Run it with `npm run bench:scale`.

const USAGE = `npm run bench:scale -- [options]
  --part LIST     broad, growth, projects (default: all on SQLite, broad on PostgreSQL)
  --store LIST    sqlite, postgres (default sqlite)
  --size LIST     numbers of resources (default 10000,100000,1000000)
  --only LIST     broad questions with one of these in their names
  --runs N        runs per question and size (default 20)
  --limit S       seconds for one broad question; its process ends then (default 60)
  --projects N    projects of the last part (default 10000)
  --data DIR      keeps the stores of the broad questions here, and uses those of an earlier run again
  --postgres URL  a server to make databases in; without it one is started`;

const { values: options } = parseArgs({
  options: {
    part: { type: 'string' },
    store: { type: 'string', default: 'sqlite' },
    size: { type: 'string', default: '10000,100000,1000000' },
    only: { type: 'string', default: '' },
    runs: { type: 'string', default: '20' },
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
const [runs, limit, projects] = [options.runs, options.limit, options.projects].map(Number) as [number, number, number];
const isValid =
  [...sizes, runs, limit, projects].every((number) => Number.isSafeInteger(number) && number > 0) &&
  stores.every((store) => ['sqlite', 'postgres'].includes(store)) &&
  parts.every((part) => ['broad', 'growth', 'projects'].includes(part));
if (options.help || !isValid) {
  console.log(USAGE);
  process.exit(options.help ? 0 : 1);
}

const broad = { sizes, runs, limit, only: options.only === '' ? [] : options.only.split(',') };
const folder = mkdtempSync(join(tmpdir(), 'fhirgraph-scale-'));
try {
  if (parts.includes('broad') && stores.includes('sqlite')) {
    await askBroadQuestions('SQLite', await sqliteHome(options.data ?? folder), broad);
  }
  if (parts.includes('broad') && stores.includes('postgres')) await askPostgres();
  if (parts.includes('growth')) await growOneProject(folder, sizes, 10 * runs);
  if (parts.includes('projects')) await growProjects(folder, projects, 10 * runs);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function askPostgres(): Promise<void> {
  if (options.postgres !== undefined) {
    return askBroadQuestions('PostgreSQL', await postgresHome(options.postgres), broad);
  }
  const programs = findPostgres();
  if (programs === undefined) {
    console.log('No PostgreSQL server here; FHIRGRAPH_POSTGRES_BIN may name the folder of one');
    return;
  }
  const home = options.data === undefined ? undefined : join(options.data, 'postgres');
  const server = await startPostgres(programs, { synchronous_commit: 'off' }, home);
  try {
    const { host, port, user, database } = server.connection;
    const url = `postgres://${user}@${host}:${port}/${database}`;
    await askBroadQuestions('PostgreSQL', await postgresHome(url), broad);
  } finally {
    await server.stop();
  }
}
