import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PostgresStore } from '../../src/postgres.js';
import { assertEndsByOtherProcess, ENDS, memberOf, type OtherProcess, startOther } from '../support/other-process.js';
import { findPostgres, type PostgresServer, startPostgres } from '../support/postgres-server.js';

const programs = findPostgres();
if (programs === undefined) console.warn('There is no PostgreSQL on this machine: tests on a real server are skipped.');

describe.skipIf(programs === undefined)('on a real PostgreSQL server', () => {
  let server: PostgresServer;
  let pool: pg.Pool;
  let store: PostgresStore;
  let other: OtherProcess;

  beforeAll(async () => {
    server = await startPostgres(programs!);
    pool = new pg.Pool({ ...server.connection, max: 4 });
    store = new PostgresStore(pool);
    other = startOther(JSON.stringify(server.connection));
  });
  afterAll(async () => {
    await other.end();
    await store.close();
    await pool.end();
    await server.stop();
  });

  test.each(ENDS)('a caller ends when another process makes the change %s: %s', async (change, code) => {
    await assertEndsByOtherProcess(store, other, change, code);
  });

  test('clinical writes of another process do not change the epoch', async () => {
    await memberOf(store, 'ann');
    const before = await store.accessEpoch();
    await other.change('patient', 'ann');
    expect(await store.accessEpoch()).toBe(before);
    await other.change('deactivate', 'ann');
    expect(await store.accessEpoch()).not.toBe(before);
  });
});
