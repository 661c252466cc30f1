import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { PostgresStore } from '../../src/postgres.js';
import type { Criteria } from '../../src/store.js';
import { idsOf, keyOf, putAll, queryOf, resourceOf } from '../support/kit.js';
import { findPostgres, type PostgresServer, startPostgres } from '../support/postgres-server.js';

const programs = findPostgres();
if (programs === undefined) console.warn('There is no PostgreSQL on this machine: tests on a real server are skipped.');

const gender = (code: string): Criteria => ({ kind: 'match', parameter: 'gender', test: { kind: 'token', code } });
const WOMEN = queryOf('Patient', gender('female'), { limit: 10 });

describe.skipIf(programs === undefined)('prepared statements on a real server', () => {
  let server: PostgresServer;
  let pool: pg.Pool;
  let store: PostgresStore;

  beforeAll(async () => {
    server = await startPostgres(programs!);
    const first = new pg.Pool(server.connection);
    const filling = new PostgresStore(first);
    await putAll(filling, ...['a', 'b', 'c'].map((id) => resourceOf('Patient', id, { gender: 'female' })));
    await filling.close();
    await first.end();
  }, 120_000);
  afterAll(() => server.stop());
  beforeEach(() => {
    // One connection, so that each test knows its prepared statements.
    pool = new pg.Pool({ ...server.connection, max: 1 });
    store = new PostgresStore(pool);
  });
  afterEach(async () => {
    await store.close();
    await pool.end();
  });

  async function askTimes(times: number, of = store): Promise<void> {
    for (let count = 0; count < times; count++) expect(await idsOf(of, WOMEN)).toEqual(['a', 'b', 'c']);
  }

  async function kept(): Promise<readonly { readonly name: string; readonly planned: number }[]> {
    const { rows } = await pool.query<{ name: string; planned: number }>(
      'SELECT name, custom_plans::int AS planned FROM pg_prepared_statements ORDER BY name',
    );
    return rows;
  }

  test('are planned a few times, and not again', async () => {
    await askTimes(30);
    expect((await kept()).map(({ planned }) => planned)).toEqual([5]);
  });

  test.each([
    ['read', () => store.read([keyOf('Patient', 'a')])],
    ['update', () => putAll(store, resourceOf('Patient', 'd', { active: true }))],
    ['sign-in', () => store.accessEpoch()],
    [
      'page of what refers to a resource',
      () =>
        store.searchByReference(queryOf('Observation', { kind: 'all' }, { limit: 3 }), 'subject', [
          { type: 'Patient', id: 'a' },
        ]),
    ],
  ])('each statement of a %s is prepared', async (_, work) => {
    for (let count = 0; count < 12; count++) await work();
    const statements = await kept();
    expect(statements.length).toBeGreaterThan(0);
    expect(statements.every(({ planned }) => planned <= 5)).toBe(true);
  });

  test('do not exist if the host disables them', async () => {
    const other = new PostgresStore(pool, { preparedStatements: false });
    await askTimes(5, other);
    expect(await kept()).toEqual([]);
    await other.close();
  });

  test('are bounded, for any queries', async () => {
    const keys = ['birthdate', 'family', 'gender'];
    for (const sort of keys.flatMap((one) => keys.map((other) => [one, other]))) {
      for (let conditions = 1; conditions <= 6; conditions++) {
        // Each has a text of its own.
        const criteria: Criteria = { kind: 'and', of: Array.from({ length: conditions }, () => gender('female')) };
        const query = { ...WOMEN, criteria, sort: sort.map((parameter) => ({ parameter, descending: false })) };
        for (let count = 0; count < 3; count++) expect((await idsOf(store, query)).length).toBe(3);
      }
    }
    const { rows } = await pool.query<{ length: number }>(
      'SELECT sum(length(statement))::int AS length FROM pg_prepared_statements',
    );
    expect(rows[0]!.length).toBeGreaterThan(80_000);
    expect(rows[0]!.length).toBeLessThan(110_000);
    const statements = await kept();
    const { connection } = (pool as unknown as { _clients: { connection: { parsedStatements: object } }[] })
      ._clients[0]!;
    expect(Object.keys(connection.parsedStatements).toSorted()).toEqual(statements.map(({ name }) => name));
  });

  test.each(['DISCARD ALL', 'DEALLOCATE ALL'])('can be lost by %s', async (statement) => {
    for (let round = 0; round < 15; round++) {
      await askTimes(4);
      await putAll(store, resourceOf('Patient', 'd', { active: round % 2 === 0 }));
      await pool.query(statement);
    }
    // A session that loses them repeatedly keeps none.
    await askTimes(4);
    expect(await kept()).toEqual([]);
  });

  test('can belong to another session, as behind a pooler without prepared statements', async () => {
    await askTimes(3);
    const { rows } = await pool.query<{ name: string; statement: string }>(
      'SELECT name, statement FROM pg_prepared_statements',
    );
    await pool.end();
    pool = new pg.Pool({ ...server.connection, max: 1 });
    store = new PostgresStore(pool);
    await pool.query(`PREPARE ${rows[0]!.name} AS ${rows[0]!.statement}`);
    await askTimes(6);
  });

  test('follow a change of the tables', async () => {
    await askTimes(8);
    const admin = new pg.Client(server.connection);
    await admin.connect();
    for (const type of ['varchar', 'text']) {
      await admin.query(`ALTER TABLE resource ALTER COLUMN content TYPE ${type}`);
      await askTimes(8);
      expect((await kept()).length).toBe(1);
    }
    await admin.end();
  });

  test('follow the search_path of a session', async () => {
    await askTimes(8);
    await pool.query('CREATE SCHEMA other; SET search_path = other');
    const other = new PostgresStore(pool);
    await putAll(other, resourceOf('Patient', 'x', { gender: 'female' }));
    for (let count = 0; count < 8; count++) expect(await idsOf(other, WOMEN)).toEqual(['x']);
    await other.close();
    await pool.query('SET search_path = public');
    await askTimes(8);
  });

  test('end at the signal of their call', async () => {
    await askTimes(8);
    const admin = new pg.Client(server.connection);
    await admin.connect();
    await admin.query('BEGIN; LOCK TABLE token IN ACCESS EXCLUSIVE MODE');
    await expect(store.search(WOMEN, { signal: AbortSignal.timeout(50) })).rejects.toMatchObject({ code: 'aborted' });
    await admin.query('ROLLBACK');
    await admin.end();
    await askTimes(3);
  });
});
