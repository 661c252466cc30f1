import pg from 'pg';
import { afterAll, beforeAll, describe } from 'vitest';
import { PostgresStore } from '../../src/postgres.js';
import { corpusSuite } from '../graphql/corpus-suite.js';
import { findPostgres, type PostgresServer, startPostgres } from '../support/postgres-server.js';

const PROGRAMS = findPostgres();
if (PROGRAMS === undefined) console.warn('The corpus is not asked of PostgreSQL: no server here');

describe.skipIf(PROGRAMS === undefined)('a real PostgreSQL server', () => {
  let server: PostgresServer;
  let pool: pg.Pool;
  beforeAll(async () => {
    server = await startPostgres(PROGRAMS!);
    pool = new pg.Pool({ ...server.connection, max: 10 });
  });
  afterAll(async () => {
    await pool?.end();
    await server?.stop();
  });

  corpusSuite('PostgresStore', () => new PostgresStore(pool));
});
