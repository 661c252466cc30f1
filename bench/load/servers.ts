import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { connectClients, post, runClients, type Sample, type Target } from './clients.js';
import type { MixedRequest } from './mix.js';
import type { Order, ServeOptions } from './serve.js';

/** A server in a process of its own. */
export interface Running {
  readonly name: string;
  readonly child: ChildProcess;
  readonly target: Target;
  /** The CPU time of its database so far, in microseconds; undefined if the database runs in the same process. */
  readonly database: (() => number) | undefined;
}

/** Throughput and costs of a server, measured for some seconds. */
export interface Measured {
  /** Answers per second. */
  readonly rate: number;
  /** The longest time that its event loop was blocked, in milliseconds. */
  readonly stall: number;
  /** Milliseconds of CPU time of the server per request. */
  readonly cpu: number;
  /** The same for its database; undefined if the database runs in the same process. */
  readonly database: number | undefined;
  readonly samples: readonly Sample[];
}

/** A broad question without a narrow condition: the count tests every match. */
const BROAD = JSON.stringify({
  query:
    '{ ObservationConnection(status: "final", date: "ge1990", _sort: "-date", _count: 20) { count edges { resource { id } } } }',
});

export const CLIENTS = 64;

export async function startServer(
  name: string,
  options: ServeOptions,
  database: Running['database'],
): Promise<Running> {
  const child = fork(fileURLToPath(new URL('serve.ts', import.meta.url)), [JSON.stringify(options)], {
    execArgv: ['--import', 'tsx'],
  });
  const target = (await answerOf(child)) as Target;
  return { name, child, target, database };
}

export async function stopServer({ child }: Running): Promise<void> {
  child.send('stop' satisfies Order);
  await once(child, 'exit');
}

export async function measure(
  { child, target, database }: Running,
  next: (position: number) => MixedRequest,
  seconds: number,
): Promise<Measured> {
  const agent = await connectClients(target, CLIENTS);
  child.send('begin' satisfies Order);
  const before = database?.() ?? 0;
  const { samples, seconds: took } = await runClients(target, next, { clients: CLIENTS, seconds, agent });
  agent.destroy();
  const answer = answerOf(child);
  child.send('stall' satisfies Order);
  const { stall, cpu } = (await answer) as { stall: number; cpu: number };
  return {
    rate: samples.length / took,
    stall,
    cpu: cpu / samples.length,
    database: database && (database() - before) / 1000 / samples.length,
    samples,
  };
}

/** Measures while a broad question is asked without a pause and the lines are imported repeatedly. */
export async function measureBeside(
  server: Running,
  next: (position: number) => MixedRequest,
  seconds: number,
  importLines: string,
): Promise<Measured> {
  const ended = new AbortController();
  server.child.send({ importLines } satisfies Order);
  const broad = (async () => {
    while (!ended.signal.aborted) await post(server.target, undefined, BROAD).catch(() => undefined);
  })();
  const measured = await measure(server, next, seconds);
  ended.abort();
  await broad;
  return measured;
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
