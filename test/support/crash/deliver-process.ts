// A process that delivers Subscriptions: `node --import tsx deliver-process.ts STORE FILE`. STORE: the name of a SQLite file, or
// the connection of a PostgreSQL server as JSON. Each notification is a line of FILE, `NUMBER FOCUS`. It ends when its input ends.

import { appendFileSync } from 'node:fs';
import { once } from 'node:events';
import type { Parameters } from '@medplum/fhirtypes';
import pg from 'pg';
import { deliverSubscriptions, type ResourceStore } from '../../../src/index.js';
import { PostgresStore } from '../../../src/postgres.js';
import { SqliteStore } from '../../../src/sqlite.js';
import { LEASE } from '../../../src/subscriptions/delivery-state.js';

Object.assign(LEASE, { lasts: 3_000, renewed: 300 });

const [name, file] = process.argv.slice(2) as [string, string];
const pool = name.startsWith('{') ? new pg.Pool({ ...(JSON.parse(name) as pg.PoolConfig), max: 4 }) : undefined;
const store: ResourceStore =
  pool === undefined ? new SqliteStore(name, { busyTimeout: 60_000 }) : new PostgresStore(pool, { attempts: 100 });
const over = new AbortController();
const delivered = deliverSubscriptions({
  store,
  signal: over.signal,
  deliver({ bundle, type }) {
    if (type === 'handshake') return;
    const { parameter } = bundle.entry![0]!.resource as Parameters;
    const { part } = parameter!.find((one) => one.name === 'notification-event')!;
    const [number, , focus] = part!;
    appendFileSync(file, `${number!.valueString} ${focus!.valueReference!.reference}\n`);
  },
});
process.stdin.resume();
await once(process.stdin, 'end');
over.abort();
await delivered;
await store.close();
await pool?.end();
