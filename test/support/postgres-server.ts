import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from './free-port.js';

/** A real PostgreSQL server over a folder of its own. */
export interface PostgresServer {
  /** Configuration for `new pg.Pool(…)`. */
  readonly connection: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly database: string;
  };
  /** Kills every process of the server at once, like a power cut. */
  kill(): Promise<void>;
  /** Starts it again over the same folder, and waits until it answers. */
  start(): Promise<void>;
  /** Stops it, and removes its folder unless it was given. */
  stop(): Promise<void>;
}

/**
 * The folder of this machine's PostgreSQL programs: `FHIRGRAPH_POSTGRES_BIN`, the path, or the usual places.
 *
 * @returns undefined if there is no server
 */
export function findPostgres(): string | undefined {
  const installed = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort().reverse() : [];
  const named = process.env['FHIRGRAPH_POSTGRES_BIN'];
  const folders = [
    ...(named === undefined ? [] : [named]),
    // The programs in these places are complete; those on the path can be wrappers that need a cluster.
    ...installed.map((version) => join(DEBIAN, version, 'bin')),
    ...(process.env['PATH'] ?? '').split(delimiter),
  ];
  return folders.find((folder) => existsSync(join(folder, 'postgres')) && existsSync(join(folder, 'initdb')));
}

/**
 * Creates a new server and starts it.
 *
 * @param settings of postgresql.conf, in addition to the defaults: a commit waits until it is on disk
 * @param home a folder to keep; the server of an earlier start in it is started again
 */
export async function startPostgres(
  programs: string,
  settings: { readonly [name: string]: string } = {},
  home?: string,
): Promise<PostgresServer> {
  if (home !== undefined) mkdirSync(home, { recursive: true });
  const folder = home ?? mkdtempSync(join(tmpdir(), 'fhirgraph-postgres-'));
  const owner = ownerOfServers();
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid);
  const data = join(folder, 'data');
  if (!existsSync(data)) makeCluster(programs, folder, data);
  const connection = { host: '127.0.0.1', port: await freePort(), user: USER, database: 'postgres' };
  const options = { listen_addresses: '127.0.0.1', unix_socket_directories: folder, ...settings };
  const args = Object.entries(options).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  let server: ChildProcess | undefined;
  const kill = async (): Promise<void> => {
    if (server?.pid === undefined || server.exitCode !== null) return;
    const ended = once(server, 'exit');
    // The first process last: while it lives, it starts others in place of those that die.
    const pids = [server.pid, ...childrenOf(server.pid)];
    for (const pid of pids) signal(pid);
    await ended;
    while (pids.some(isAlive)) await sleep(5);
  };
  const start = async (): Promise<void> => {
    server = spawn(join(programs, 'postgres'), ['-D', data, '-p', String(connection.port), ...args], {
      ...owner,
      cwd: folder,
      stdio: 'ignore',
    });
    await untilAnswering(connection);
  };
  /** Stops with a checkpoint, so that the next start is short. */
  const endInOrder = async (): Promise<void> => {
    if (server?.pid === undefined || server.exitCode !== null) return;
    const ended = once(server, 'exit');
    server.kill('SIGINT');
    await ended;
  };
  await start();
  return {
    connection,
    kill,
    start,
    async stop() {
      if (home !== undefined) return endInOrder();
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function makeCluster(programs: string, folder: string, data: string): void {
  const made = spawnSync(
    join(programs, 'initdb'),
    ['-D', data, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--no-locale'],
    {
      ...ownerOfServers(),
      encoding: 'utf8',
      cwd: folder,
    },
  );
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}${made.error?.message ?? ''}`);
}

const DEBIAN = '/usr/lib/postgresql';
const USER = 'fhirgraph';
/** Enough for a busy machine that recovers from a crash. */
const PATIENCE = 900_000;

/** PostgreSQL does not run as root, so another user of the machine runs it. */
export function ownerOfServers(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync('/etc/passwd', 'utf8').split('\n');
  const user = ['postgres', 'nobody'].flatMap((name) => users.find((one) => one.startsWith(`${name}:`)) ?? [])[0];
  const [, , uid, gid] = user?.split(':') ?? [];
  if (uid === undefined || gid === undefined) throw new Error('No user to run PostgreSQL as');
  return { uid: Number(uid), gid: Number(gid) };
}

async function untilAnswering(connection: PostgresServer['connection']): Promise<void> {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const client = new pg.Client({ ...connection, connectionTimeoutMillis: 2_000 });
    // A connection that breaks later emits an error, for which nobody waits.
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query('SELECT 1');
      return;
    } catch (error) {
      if (Date.now() > end) throw new Error('PostgreSQL did not start', { cause: error });
      await sleep(50);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

function childrenOf(parent: number): number[] {
  if (!existsSync('/proc/self/stat')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => parentOf(pid) === parent)
    .map(Number);
}

function parentOf(pid: string): number | undefined {
  try {
    // `pid (name) state parent …`, and the name can contain any character.
    return Number(/.*\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]);
  } catch {
    return undefined;
  }
}

function signal(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has already ended.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !existsSync('/proc/self/stat') || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
