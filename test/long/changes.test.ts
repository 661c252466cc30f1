import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import type { ResourceStore } from '../../src/index.js';
import { PostgresStore } from '../../src/postgres.js';
import { SqliteStore } from '../../src/sqlite.js';
import type { CommittedChange } from '../../src/store.js';
import { keyOf, PROJECT, put, putAll, resourceOf } from '../support/kit.js';
import { SEED } from '../support/chance.js';
import { LOADER } from '../support/load-typescript.js';
import { findPostgres, startPostgres } from '../support/postgres-server.js';
import { through } from '../stores/postgres/pool.js';
import { temporaryFolder } from '../stores/temporary-folder.js';

const fileNamed = temporaryFolder();
const PROCESS = fileURLToPath(new URL('../support/crash/feed-process.ts', import.meta.url));
const programs = findPostgres();
if (programs === undefined) console.warn('There is no PostgreSQL on this machine: tests on a real server are skipped.');

function run(...values: readonly string[]) {
  const child = spawn(process.execPath, ['--import', LOADER, PROCESS, ...values], { stdio: 'inherit' });
  return { child, ended: once(child, 'exit') as Promise<[number | null, string | null]> };
}

/** What a process noted that is killed and started again, while three others write. The first line is a position alone. */
async function notedBy<Line>(
  role: 'read' | 'subscribe',
  store: ResourceStore,
  name: string,
  file: string,
): Promise<readonly Line[]> {
  const { position } = await store.changes!({ project: PROJECT });
  writeFileSync(file, `${JSON.stringify({ position })}\n`);
  const writers = [0, 1, 2].map((index) => run(name, 'write', String(SEED + index), '450'));
  let isWritten = false;
  const written = Promise.all(writers.map(({ ended }) => ended)).then(async (codes) => {
    await putAll(store, resourceOf('Basic', 'last'));
    writeFileSync(`${file}.end`, '');
    isWritten = true;
    return codes;
  });
  let kills = 0;
  for (;;) {
    const reader = run(name, role, file);
    const timer = isWritten ? undefined : setTimeout(() => reader.child.kill('SIGKILL'), 1_500 + Math.random() * 3_000);
    const [code, signal] = await reader.ended;
    clearTimeout(timer);
    if (signal === null) {
      expect(code).toBe(0);
      break;
    }
    kills += 1;
    // What a process was about to write when it was killed counts as never read.
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.slice(0, text.lastIndexOf('\n') + 1));
  }
  expect(await written).toEqual([0, 1, 2].map(() => [0, null]));
  const lines = readFileSync(file, 'utf8').trim().split('\n').slice(1);
  console.log(`${lines.length} lines, ${kills} readers killed`);
  expect(kills).toBeGreaterThan(0);
  return lines.map((line) => JSON.parse(line) as Line);
}

interface NotedEvent {
  readonly event: 'enter' | 'update' | 'leave';
  readonly id: string;
  readonly version: string;
}

/** Who applies the events has what a search finds. */
async function subscribe(store: ResourceStore, name: string, file: string): Promise<void> {
  const events = await notedBy<NotedEvent>('subscribe', store, name, file);
  const known = new Map<string, string>();
  const newest = new Map<string, number>();
  for (const { event, id, version } of events) {
    if (event === 'leave') known.delete(id);
    else {
      expect(Number(version), id).toBeGreaterThanOrEqual(newest.get(id) ?? 0);
      newest.set(id, Number(version));
      known.set(id, version);
    }
  }
  const { matches } = await store.search({ project: PROJECT, type: 'Basic', criteria: { kind: 'all' } });
  expect(known).toEqual(new Map(matches.map(({ resource, versionId }) => [resource.id!, versionId])));
}

async function follow(store: ResourceStore, name: string, file: string): Promise<void> {
  const pages = await notedBy<{ readonly changes: readonly CommittedChange[] }>('read', store, name, file);
  const changes = pages.flatMap((page) => page.changes);
  const versions = new Map<string, string[]>();
  for (const { key, before, versionId } of changes) {
    const known = versions.get(key.id) ?? [];
    expect(before, key.id).toBe(known.at(-1) ?? null);
    versions.set(key.id, [...known, versionId]);
  }
  for (const [id, known] of versions) {
    const { entries, total } = await store.history(keyOf('Basic', id), { offset: 0, limit: 1 });
    expect([total, entries[0]!.versionId]).toEqual([known.length, known.at(-1)]);
  }
  // A commit is in one page, and its changes come one after the other.
  const places = changes.map((change) => change.position);
  expect(new Set(places).size).toBe(places.filter((place, index) => place !== places[index - 1]).length);
  const pageOf = new Map<string, number>();
  for (const [index, page] of pages.entries()) {
    for (const { position: place } of page.changes) expect(pageOf.get(place) ?? index).toBe(index);
    for (const { position: place } of page.changes) pageOf.set(place, index);
  }
}

test('three processes on one file, and a reader that is killed: nothing lost, nothing repeated, all in order', async () => {
  const file = fileNamed('feed.db');
  const store = new SqliteStore(file);
  onTestFinished(() => store.close());
  await follow(store, file, fileNamed('sqlite.log'));
}, 300_000);

test('a subscription on one file that is resumed after its last position has all in the end', async () => {
  const file = fileNamed('subscribed.db');
  const store = new SqliteStore(file);
  onTestFinished(() => store.close());
  await subscribe(store, file, fileNamed('subscribed.log'));
}, 300_000);

test.skipIf(programs === undefined)(
  'the same on one PostgreSQL',
  async () => {
    const { store, name } = await openPostgres();
    await follow(store, name, fileNamed('postgres.log'));
  },
  300_000,
);

test.skipIf(programs === undefined)(
  'a subscription on one PostgreSQL that is resumed after its last position has all in the end',
  async () => {
    const { store, name } = await openPostgres();
    await subscribe(store, name, fileNamed('postgres-subscribed.log'));
  },
  300_000,
);

test.skipIf(programs === undefined)(
  'a slow commit behind a faster one is told, and before it',
  async () => {
    const { pool, store } = await openPostgres();
    const held = Promise.withResolvers<undefined>();
    const isWaiting = Promise.withResolvers<undefined>();
    const slow = new PostgresStore(
      through(pool, async (statement, client) => {
        if (statement.text === 'COMMIT') {
          isWaiting.resolve(undefined);
          await held.promise;
        }
        return client.query(statement);
      }),
    );
    onTestFinished(() => slow.close());
    await putAll(store, resourceOf('Patient', 'before'));
    const start = (await store.changes({ project: PROJECT })).position;
    // A commit that decides about access takes several statements.
    const late = putAll(slow, resourceOf('AccessPolicy', 'late'), resourceOf('Patient', 'late'));
    await isWaiting.promise;
    await putAll(store, resourceOf('Patient', 'early'));
    await store.commit([put(resourceOf('Patient', 'other'), {}, 'elsewhere')]);
    expect(await store.changes({ project: PROJECT, after: start })).toEqual({
      changes: [],
      position: start,
      isReset: false,
    });
    expect((await store.changes({ project: PROJECT })).position).toBe(start);
    const elsewhere = await store.changes({ project: 'elsewhere' });
    expect(elsewhere.position).not.toBe(start);
    // What others do in the cluster holds nothing back.
    const open = await pool.connect();
    await open.query('BEGIN; CREATE TABLE other (a int)');
    held.resolve(undefined);
    await late;
    const { changes } = await store.changes({ project: PROJECT, after: start });
    expect(changes.map(({ key }) => key.id).toSorted()).toEqual(['early', 'late', 'late']);
    expect(changes.at(-1)!.key.id).toBe('early');
    await open.query('ROLLBACK');
    open.release();
  },
  120_000,
);

async function openPostgres() {
  const server = await startPostgres(programs!);
  const pool = new pg.Pool({ ...server.connection, max: 6 });
  const store = new PostgresStore(pool);
  onTestFinished(async () => {
    await store.close();
    await pool.end();
    await server.stop();
  });
  return { pool, store, name: JSON.stringify(server.connection) };
}
