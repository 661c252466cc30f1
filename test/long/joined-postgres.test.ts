import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRepository, systemCaller } from 'fhirgraph';
import { PostgresStore } from 'fhirgraph/postgres';
import { PROJECT, put, queryOf, resourceOf } from '../support/kit.js';
import { joinedSuite } from '../stores/joined/joined-suite.js';
import { findPostgres, type PostgresServer, startPostgres } from '../support/postgres-server.js';

const programs = findPostgres();

describe.skipIf(programs === undefined)("on a client of pg, in the host's transaction", () => {
  let server: PostgresServer;
  let databases = 0;
  beforeAll(async () => void (server = await startPostgres(programs!, { fsync: 'off' })), 60_000);
  afterAll(() => server.stop());

  async function open(): Promise<{ pool: pg.Pool; store: PostgresStore }> {
    const database = `joined${databases++}`;
    const admin = new pg.Client(server.connection);
    await admin.connect();
    await admin.query(`CREATE DATABASE ${database}`);
    await admin.end();
    const pool = new pg.Pool({ ...server.connection, database });
    await pool.query('CREATE SCHEMA host; CREATE TABLE host.appointment (text text)');
    return { pool, store: new PostgresStore(pool) };
  }

  joinedSuite(async () => {
    const { pool, store } = await open();
    const client = await pool.connect();
    const run = async (text: string): Promise<void> => void (await client.query(text));
    return {
      store,
      begin: async () => {
        await run('BEGIN');
        return store.join(client);
      },
      commit: () => run('COMMIT'),
      rollBack: () => run('ROLLBACK'),
      mark: () => run('SAVEPOINT host'),
      undo: () => run('ROLLBACK TO SAVEPOINT host; RELEASE SAVEPOINT host'),
      insert: async (text) => void (await client.query('INSERT INTO host.appointment VALUES ($1)', [text])),
      rows: async () =>
        (await client.query<{ text: string }>('SELECT text FROM host.appointment')).rows.map(({ text }) => text),
      problems: async () => (await store.verify()).problems,
      close: async () => {
        client.release();
        await store.close();
        await pool.end();
      },
    };
  });

  test('join comes first in a transaction', async () => {
    const { pool, store } = await open();
    const client = await pool.connect();
    await expect(store.join(client)).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringContaining('no transaction'),
    });
    await client.query('BEGIN');
    await client.query('SELECT 1');
    await expect(store.join(client)).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringContaining('before the first query'),
    });
    await client.query('ROLLBACK');
    client.release();
    await store.close();
    await pool.end();
  });

  test('of transactions that race for one appointment, one wins, and the others leave nothing', async () => {
    const { pool, store } = await open();
    const book = async (patient: string): Promise<'booked' | 'refused'> => {
      const client = await pool.connect();
      try {
        await client.query('BEGIN');
        const joined = await store.join(client);
        const repository = createRepository({ store: joined, caller: systemCaller(PROJECT) });
        const slot = {
          resourceType: 'Appointment',
          status: 'booked',
          identifier: [{ value: 'nine' }],
          participant: [{ actor: { reference: `Patient/${patient}` }, status: 'accepted' }],
        } as const;
        const { id } = await repository.create(slot as never, { ifNoneExist: 'identifier=nine' });
        const { participant } = (await repository.read('Appointment', id)) as unknown as typeof slot;
        if (participant[0].actor.reference !== `Patient/${patient}`) throw new Error('taken');
        await client.query('INSERT INTO host.appointment VALUES ($1)', [patient]);
        await client.query('COMMIT');
        joined.committed();
        return 'booked';
      } catch {
        await client.query('ROLLBACK');
        return 'refused';
      } finally {
        client.release();
      }
    };
    await store.commit(['p0', 'p1', 'p2', 'p3', 'p4'].map((id) => put(resourceOf('Patient', id))));
    const outcomes = await Promise.all(['p0', 'p1', 'p2', 'p3', 'p4'].map(book));
    expect(outcomes.filter((outcome) => outcome === 'booked')).toHaveLength(1);
    const { matches } = await store.search(queryOf('Appointment'));
    const { rows } = await pool.query<{ text: string }>('SELECT text FROM host.appointment');
    const references = matches.map(
      ({ resource }) =>
        (resource as unknown as { participant: { actor: { reference: string } }[] }).participant[0]!.actor.reference,
    );
    expect(references).toEqual(rows.map(({ text }) => `Patient/${text}`));
    expect((await store.verify()).problems).toEqual([]);
    await store.close();
    await pool.end();
  });

  test('a connection that is lost in a transaction leaves nothing', async () => {
    const { pool, store } = await open();
    const client = await pool.connect();
    client.on('error', () => undefined);
    await client.query('BEGIN');
    const joined = await store.join(client);
    await joined.commit([put(resourceOf('Patient', 'ann'))]);
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await pool.query('SELECT pg_terminate_backend($1)', [rows[0]!.pid]);
    await expect(joined.commit([put(resourceOf('Patient', 'ben'))])).rejects.toMatchObject({ code: 'unavailable' });
    client.release(true);
    expect((await store.search(queryOf('Patient'))).matches).toEqual([]);
    await store.close();
    await pool.end();
  });
});
