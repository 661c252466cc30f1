import type { Observation } from '@medplum/fhirtypes';
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  createRepository,
  MemoryStore,
  type Repository,
  type ResourceEvent,
  type ResourceStore,
  systemCaller,
} from 'fhirgraph';
import { PostgresStore } from 'fhirgraph/postgres';
import { SqliteStore } from 'fhirgraph/sqlite';
import pg from 'pg';
import { findPostgres, startPostgres } from '../test/support/postgres-server.js';

// What subscriptions cost: CPU of a commit with 0, 100 and 10,000 subscribers of one equality each; the time from commit to
// delivery within a process, and from another process over the same SQLite file or PostgreSQL server; the heap with readers
// that sleep. See README.md.

const COMMITS = 4_000;
const caller = systemCaller('clinic');
const limits = { streams: { caller: Infinity, project: Infinity } };
const observation = (patient: string): Observation => ({
  resourceType: 'Observation',
  status: 'final',
  code: { coding: [{ system: 'http://loinc.org', code: '8867-4' }] },
  subject: { reference: `Patient/${patient}` },
  effectiveDateTime: '2026-01-01T08:00:00Z',
});

const folder = mkdtempSync(join(tmpdir(), 'live-'));
const stores: readonly (readonly [name: string, store: ResourceStore])[] = [
  ['memory', new MemoryStore()],
  ['SQLite', new SqliteStore(join(folder, 'live.db'), { synchronous: 'normal' })],
];
for (const [name, store] of stores) {
  const repository = createRepository({ store, caller, limits });
  let delivered = 0;
  const follow = async (events: AsyncGenerator<ResourceEvent<unknown>>): Promise<void> => {
    for await (const _ of events) delivered += 1;
  };
  const open: AsyncGenerator<ResourceEvent<unknown>>[] = [];
  // Warms up.
  for (let commit = 0; commit < COMMITS; commit++) await repository.create(observation(`p${commit}`));
  for (const subscribers of [0, 100, 10_000]) {
    while (open.length < subscribers) {
      const events = repository.subscribe('Observation', { patient: `p${open.length}` });
      open.push(events);
      void follow(events);
    }
    await setTimeout(6_000);
    const before = process.cpuUsage();
    delivered = 0;
    for (let commit = 0; commit < COMMITS; commit++) await repository.create(observation(`p${commit % 100}`));
    await setTimeout(1_500);
    const { user, system } = process.cpuUsage(before);
    console.log(
      `${name}, ${subscribers} subscribers: ${((user + system) / COMMITS).toFixed(0)} µs CPU per commit, ${delivered} events`,
    );
  }
  const events = repository.subscribe('Observation', { patient: 'latency' });
  await report(name, events, async () => {
    await repository.create(observation('latency'));
    return now();
  });
  for (const one of [events, ...open]) await one.return(undefined);
  await store.close();
}

const programs = findPostgres();
const server = programs === undefined ? undefined : await startPostgres(programs);
const pools: pg.Pool[] = [];
const openPostgres = (): PostgresStore => {
  const pool = new pg.Pool(server!.connection);
  pools.push(pool);
  return new PostgresStore(pool);
};
const shared: readonly (readonly [name: string, target: string, open: () => ResourceStore])[] = [
  ['SQLite', join(folder, 'shared.db'), () => new SqliteStore(join(folder, 'shared.db'), { synchronous: 'normal' })],
  ...(server === undefined ? [] : [['PostgreSQL', JSON.stringify(server.connection), openPostgres] as const]),
];
for (const [name, target, open] of shared) {
  const store = open();
  const repository = createRepository({ store, caller, limits });
  const events = repository.subscribe('Observation', { patient: 'latency' });
  const writer = fork(join(import.meta.dirname, 'live-writer.ts'), [target]);
  const answer = (): Promise<number> => new Promise((resolve) => writer.once('message', (at) => resolve(Number(at))));
  await answer();
  await report(`${name}, another process`, events, () => {
    writer.send('commit');
    return answer();
  });
  writer.disconnect();
  await events.return(undefined);
  if (name === 'SQLite') await sleepers(repository);
  await store.close();
}
for (const pool of pools) await pool.end();
await server?.stop();
rmSync(folder, { recursive: true });

/** The time from 50 commits to their delivery. @param commit resolves with the time after the commit */
async function report(name: string, events: AsyncGenerator<unknown>, commit: () => Promise<number>): Promise<void> {
  const times: number[] = [];
  for (let turn = 0; turn < 50; turn++) {
    const delivered = events.next().then(now);
    await setTimeout(80);
    const committed = await commit();
    times.push((await delivered) - committed);
  }
  times.sort((one, other) => one - other);
  console.log(`${name}: from commit to delivery ${times[25]!.toFixed(1)} ms, p95 ${times[47]!.toFixed(1)} ms`);
}

/** The heap before and after many commits that 1,000 readers do not read. */
async function sleepers(repository: Repository): Promise<void> {
  const readers = Array.from({ length: 1_000 }, (_, index) =>
    repository.subscribe('Observation', { patient: `p${index % 10}` }),
  );
  const first = readers.map((reader) => reader.next());
  await setTimeout(2_000);
  for (let patient = 0; patient < 10; patient++) await repository.create(observation(`p${patient}`));
  await Promise.all(first);
  const before = heap();
  for (let commit = 0; commit < 20_000; commit++) await repository.create(observation(`p${commit % 10}`));
  await setTimeout(2_000);
  const after = heap();
  console.log(
    `1,000 readers asleep for 20,000 commits: heap ${before.toFixed(0)} MB before, ${after.toFixed(0)} MB after`,
  );
  for (const reader of readers) await reader.return(undefined);
}

function heap(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed / 1e6;
}

/** In milliseconds; comparable between processes. */
function now(): number {
  return performance.timeOrigin + performance.now();
}
