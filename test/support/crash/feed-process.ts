// A process that writes to a store, reads its feed, or subscribes: `node --import tsx feed-process.ts STORE write SEED TIMES`,
// `… STORE read FILE` or `… STORE subscribe FILE`. STORE: the name of a SQLite file, or the connection of a PostgreSQL server as JSON.

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { createRepository, type ResourceStore, systemCaller } from '../../../src/index.js';
import { PostgresStore } from '../../../src/postgres.js';
import { SqliteStore } from '../../../src/sqlite.js';
import type { Write } from '../../../src/store.js';
import { below, createRandom, keyOf, PROJECT, put, resourceOf } from '../kit.js';

const [name, role, ...values] = process.argv.slice(2) as [string, 'write' | 'read' | 'subscribe', ...string[]];
const pool = name.startsWith('{') ? new pg.Pool({ ...(JSON.parse(name) as pg.PoolConfig), max: 4 }) : undefined;
const store: ResourceStore =
  pool === undefined ? new SqliteStore(name, { busyTimeout: 60_000 }) : new PostgresStore(pool, { attempts: 100 });
if (role === 'write') await write(Number(values[0]), Number(values[1]));
else if (role === 'read') await read(values[0]!);
else await subscribe(values[0]!);
await store.close();
await pool?.end();

/** Commits of one to six writes to the same few resources, some at the same time. */
async function write(seed: number, times: number): Promise<void> {
  const random = createRandom(seed);
  for (let done = 0; done < times; done += 3) {
    await Promise.all(
      [1, 2, 3].map(() =>
        store.commit(
          Array.from({ length: 1 + below(6, random) }, (): Write => {
            const key = keyOf('Basic', `b${below(12, random)}`);
            if (below(8, random) === 0) return { kind: 'delete', key };
            return put(resourceOf('Basic', key.id, { code: { text: `${seed}` } }));
          }),
        ),
      ),
    );
  }
}

/** The position in the last whole line. */
function positionIn(file: string): string {
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return (JSON.parse(lines.at(-1)!) as { position: string }).position;
}

/** Adds a line for each event, and goes on after the last whole line. Ends with the event of the resource `last`. */
async function subscribe(file: string): Promise<void> {
  const repository = createRepository({ store, caller: systemCaller(PROJECT) });
  const after = positionIn(file);
  for await (const { event, id, resource, position } of repository.subscribe('Basic', {}, { after })) {
    appendFileSync(file, `${JSON.stringify({ position, event, id, version: resource?.meta.versionId })}\n`);
    if (id === 'last') return;
  }
}

/** Adds a line for each page, and goes on after the last whole line. Ends when the file `FILE.end` is there and all is read. */
async function read(file: string): Promise<void> {
  let position = positionIn(file);
  for (;;) {
    const isLast = existsSync(`${file}.end`);
    const page = await store.changes!({ project: PROJECT, after: position, limit: 1 + below(40, Math.random) });
    if (page.isReset) throw new Error('The position was lost');
    if (page.position === position) {
      if (isLast) return;
      await sleep(5);
      continue;
    }
    position = page.position;
    appendFileSync(file, `${JSON.stringify({ position, changes: page.changes })}\n`);
  }
}
