import type { Observation } from '@medplum/fhirtypes';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRepository, MemoryStore, type ResourceEvent, type ResourceStore, systemCaller } from 'fhirgraph';
import { SqliteStore } from 'fhirgraph/sqlite';

// What subscriptions cost: CPU of a commit with 0, 100 and 10,000 subscribers of one equality each, and the time from commit to
// delivery. See README.md.

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
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    const before = process.cpuUsage();
    delivered = 0;
    for (let commit = 0; commit < COMMITS; commit++) await repository.create(observation(`p${commit % 100}`));
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const { user, system } = process.cpuUsage(before);
    console.log(
      `${name}, ${subscribers} subscribers: ${((user + system) / COMMITS).toFixed(0)} µs CPU per commit, ${delivered} events`,
    );
  }
  const times: number[] = [];
  const events = repository.subscribe('Observation', { patient: 'latency' });
  for (let turn = 0; turn < 50; turn++) {
    const next = events.next();
    await new Promise((resolve) => setTimeout(resolve, 80));
    await repository.create(observation('latency'));
    const committed = performance.now();
    await next;
    times.push(performance.now() - committed);
  }
  times.sort((one, other) => one - other);
  console.log(`${name}: from commit to delivery ${times[25]!.toFixed(1)} ms, p95 ${times[47]!.toFixed(1)} ms`);
  for (const one of [events, ...open]) await one.return(undefined);
  await store.close();
}
rmSync(folder, { recursive: true });
