import { createRepository, systemCaller } from 'fhirgraph';
import { PostgresStore } from 'fhirgraph/postgres';
import { SqliteStore } from 'fhirgraph/sqlite';
import pg from 'pg';

// Another process over the store of live.ts: a file, or the connection to a server as JSON. Commits on each message, and
// answers with the time after the commit.

const target = process.argv[2]!;
const pool = target.startsWith('{') ? new pg.Pool(JSON.parse(target) as pg.PoolConfig) : undefined;
const store = pool === undefined ? new SqliteStore(target, { synchronous: 'normal' }) : new PostgresStore(pool);
const repository = createRepository({ store, caller: systemCaller('clinic') });

async function commit(): Promise<void> {
  await repository.create({
    resourceType: 'Observation',
    status: 'final',
    code: { text: 'pulse' },
    subject: { reference: 'Patient/latency' },
  });
  process.send!(performance.timeOrigin + performance.now());
}

process.on('message', () => void commit());
process.on('disconnect', () => void store.close().then(() => pool?.end()));
await repository.create({ resourceType: 'Patient' });
process.send!(0);
