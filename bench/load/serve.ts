// A server of the bench in a process of its own. It communicates with its parent over IPC: it sends its address, and then
// answers `begin` and `stall` with the longest time that its event loop was blocked, and the CPU time that it used.
import Database from 'better-sqlite3';
import { createRepository, importNdjson, invite, type ResourceStore, serverCaller, systemCaller } from 'fhirgraph';
import { PostgresStore } from 'fhirgraph/postgres';
import { SqliteStore } from 'fhirgraph/sqlite';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import pg from 'pg';
import { nodeHttpHost } from '../../examples/hosts/node-http.js';
import { createService } from '../../examples/hosts/service.js';
import { createTokens } from '../../examples/hosts/tokens.js';
import { postgresContexts } from '../latency/dataloader-postgres.js';
import { sqliteContexts } from '../variants/dataloader.js';
import { HAND_USER, handWrittenPostgres, handWrittenSqlite } from './hand-written.js';
import { yogaHost } from './yoga-host.js';

export interface ServeOptions {
  readonly variant: 'fhirgraph' | 'yoga-bare' | 'yoga-equal';
  readonly project: string;
  readonly file?: string;
  readonly postgres?: pg.PoolConfig;
}

/** A message from the parent. */
export type Order = 'begin' | 'stall' | { readonly importLines: string } | 'stop';

interface Host {
  readonly server: Server;
  readonly path: string;
  readonly token: string;
  readonly store?: ResourceStore;
}

const POOL = { max: 10 };
const options = JSON.parse(process.argv[2] ?? '{}') as ServeOptions;
const host = await (options.variant === 'fhirgraph' ? openFhirgraph(options) : openYoga(options));
await new Promise<void>((resolve) => host.server.listen(0, '127.0.0.1', resolve));
const delays = monitorEventLoopDelay({ resolution: 2 });
delays.enable();
let importing = false;
let used = process.cpuUsage();
process.on('message', (order: Order) => {
  if (order === 'begin') {
    delays.reset();
    used = process.cpuUsage();
  }
  if (order === 'stall') {
    const { user, system } = process.cpuUsage(used);
    process.send!({ stall: delays.max / 1e6, cpu: (user + system) / 1000 });
  }
  if (order === 'stop') process.exit(0);
  if (typeof order === 'object') void importAgain(order.importLines);
});
process.send!({ port: (host.server.address() as AddressInfo).port, path: host.path, token: host.token });

async function openFhirgraph({ project, file, postgres }: ServeOptions): Promise<Host> {
  const store = file === undefined ? new PostgresStore(new pg.Pool({ ...postgres, ...POOL })) : new SqliteStore(file);
  const tokens = await createTokens();
  const trusted = { store, caller: serverCaller(project) };
  await createRepository(trusted).update({ resourceType: 'Project', id: project, name: 'Bench' });
  const person = {
    resourceType: 'Practitioner',
    firstName: 'Ada',
    lastName: 'Stone',
    email: 'ada@example.org',
  } as const;
  const { user } = await invite(project, person, trusted);
  const token = await tokens.sign({ sub: `User/${user.id}`, project: `Project/${project}` }, '1h');
  const baseUrl = 'http://127.0.0.1/fhir/R4';
  return { server: nodeHttpHost(createService({ store, tokens, baseUrl })), path: '/fhir/R4/$graphql', token, store };
}

async function openYoga({ variant, project, file, postgres }: ServeOptions): Promise<Host> {
  const promises = variant === 'yoga-equal' ? 'equal' : 'bare';
  if (file !== undefined) {
    const database = new Database(file);
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = FULL');
    const hand = handWrittenSqlite(database, project, promises);
    return { ...(await yogaHost(sqliteContexts(database, project), hand, HAND_USER)), path: '/graphql' };
  }
  const pool = new pg.Pool({ ...postgres, ...POOL });
  const hand = await handWrittenPostgres(pool, project, promises);
  return { ...(await yogaHost(postgresContexts(pool, project), hand, HAND_USER)), path: '/graphql' };
}

/** Imports the same lines repeatedly, each time into another project. */
async function importAgain(lines: string): Promise<void> {
  if (importing || host.store === undefined) return;
  importing = true;
  for (let round = 0; ; round += 1) {
    await importNdjson(lines, { store: host.store, caller: systemCaller(`import-${round}`) });
  }
}
