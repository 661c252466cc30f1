import { readdirSync, readFileSync } from 'node:fs';
import type pg from 'pg';

/**
 * Finds the CPU time of all processes of a PostgreSQL server on this machine.
 *
 * @returns a function that reads the time, in microseconds; it returns 0 for a server on another machine
 */
export async function serverCpu(pool: pg.Pool): Promise<() => number> {
  const { rows } = await pool.query<{ pid: number; local: boolean }>(
    `SELECT pg_backend_pid() AS pid, coalesce(host(inet_client_addr()) = host(inet_server_addr()), true) AS local`,
  );
  const server = rows[0]!.local ? statOf(rows[0]!.pid)?.parent : undefined;
  return server === undefined ? () => 0 : () => cpuOf(server);
}

function cpuOf(server: number): number {
  // The server's time includes parallel workers that have ended, in ticks of 10 ms.
  let sum = (statOf(server)?.ofEndedChildren ?? 0) * 10_000;
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (Number.isInteger(pid) && statOf(pid)?.parent === server) sum += runningTime(pid);
  }
  return sum;
}

function runningTime(pid: number): number {
  return Number((textOf(`/proc/${pid}/schedstat`) ?? '0').split(' ')[0]) / 1000;
}

function statOf(pid: number): { readonly parent: number; readonly ofEndedChildren: number } | undefined {
  // `pid (name) state parent …`, and the name can contain any character.
  const fields = textOf(`/proc/${pid}/stat`)
    ?.replace(/^.*\) /s, '')
    .split(' ');
  if (fields === undefined) return undefined;
  return { parent: Number(fields[1]), ofEndedChildren: Number(fields[13]) + Number(fields[14]) };
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
