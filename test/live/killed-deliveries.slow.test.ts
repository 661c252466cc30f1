import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { createRepository, type ResourceStore, signIn, systemCaller } from '../../src/index.js';
import { PostgresStore } from '../../src/postgres.js';
import { SqliteStore } from '../../src/sqlite.js';
import { enrol } from '../access/policies.js';
import { fill, plain } from '../access/world.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { LOADER } from '../support/load-typescript.js';
import { findPostgres, startPostgres } from '../support/postgres-server.js';
import { until } from '../support/until.js';

const fileNamed = temporaryFolder();
const PROCESS = fileURLToPath(new URL('../support/crash/deliver-process.ts', import.meta.url));
const programs = findPostgres();

/** The events that the processes have sent. */
function sentIn(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
}

/** Two processes deliver while resources are written; the one that delivers is killed again and again. */
async function kill(store: ResourceStore, name: string, file: string): Promise<void> {
  const system = createRepository({ store, caller: systemCaller('clinic') });
  await fill(store, 'clinic', [plain({ resourceType: 'Practitioner', id: 'dr1' })]);
  const policies = [{ resource: [{ resourceType: '*' }] }];
  await enrol(store, 'clinic', { profile: 'Practitioner/dr1', policies, access: [{ policy: 0, parameters: [] }] });
  const mine = createRepository({ store, caller: await signIn(store, { membership: 'member-clinic' }) });
  const start = () =>
    spawn(process.execPath, ['--import', LOADER, PROCESS, name, file], { stdio: ['pipe', 'inherit', 'inherit'] });
  const children = [start(), start()];
  onTestFinished(() => void children.map((child) => child.kill('SIGKILL')));
  const { id } = await mine.create({
    resourceType: 'Subscription',
    status: 'requested',
    reason: 'trial',
    criteria: 'Basic',
    channel: { type: 'rest-hook', endpoint: 'https://app.example', payload: 'application/fhir+json' },
  });
  await until(async () => (await system.read('Subscription', id)).status === 'active');
  const written: string[] = [];
  const write = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done += 1) {
      const one = await system.create({ resourceType: 'Basic', code: { text: 'x' } });
      written.push(`${written.length + 1} Basic/${one.id}`);
    }
  };
  await write(20);
  await until(() => sentIn(file).length >= 20);
  // In normal running, nothing is sent twice.
  expect(sentIn(file)).toEqual(written);
  for (const [index, child] of children.slice().entries()) {
    const writing = write(15);
    await until(() => sentIn(file).length >= 23 + 15 * index);
    child.kill('SIGKILL');
    await once(child, 'exit');
    children[index] = start();
    await writing;
    await until(() => sentIn(file).at(-1)?.startsWith(`${written.length} `) === true);
  }
  for (const child of children) child.stdin.end();
  await Promise.all(children.map((child) => once(child, 'exit')));
  // A process that was killed may have sent one event whose end it did not store.
  expect([...new Set(sentIn(file))]).toEqual(written);
  expect(sentIn(file).length - written.length).toBeLessThanOrEqual(2);
}

test('two processes on one file, killed in turn: each event is sent, in order, under one number', async () => {
  const file = fileNamed('subscriptions.db');
  const store = new SqliteStore(file, { busyTimeout: 60_000 });
  onTestFinished(() => store.close());
  await kill(store, file, fileNamed('sqlite.log'));
}, 300_000);

test.skipIf(programs === undefined)(
  'the same on one PostgreSQL',
  async () => {
    const { store, name } = await openPostgres();
    await kill(store, name, fileNamed('postgres.log'));
  },
  300_000,
);

async function openPostgres(): Promise<{ readonly store: ResourceStore; readonly name: string }> {
  const server = await startPostgres(programs!);
  const pool = new pg.Pool({ ...server.connection, max: 6 });
  const store = new PostgresStore(pool);
  onTestFinished(async () => {
    await store.close();
    await pool.end();
    await server.stop();
  });
  return { store, name: JSON.stringify(server.connection) };
}
