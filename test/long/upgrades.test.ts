import pg from 'pg';
import { PostgresStore } from 'fhirgraph/postgres';
import { afterAll, beforeAll, describe } from 'vitest';
import { findPostgres, type PostgresServer, startPostgres } from '../support/postgres-server.js';
import { POSTGRES_FIXTURES } from '../upgrades/fixtures.js';
import { upgradeSuite } from '../upgrades/suite.js';

const PROGRAMS = findPostgres();
if (PROGRAMS === undefined) console.warn('No real PostgreSQL is upgraded: no server here');

describe.skipIf(PROGRAMS === undefined)('on a real PostgreSQL server', () => {
  let server: PostgresServer;
  const pools: pg.Pool[] = [];
  beforeAll(async () => {
    server = await startPostgres(PROGRAMS!);
  });
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    await server?.stop();
  });

  upgradeSuite(POSTGRES_FIXTURES, async (content) => {
    const database = `upgrade_${pools.length}`;
    const setup = new pg.Client({ ...server.connection });
    await setup.connect();
    await setup.query(`CREATE DATABASE ${database}`);
    await setup.end();
    const pool = new pg.Pool({ ...server.connection, database, max: 4 });
    pools.push(pool);
    await pool.query(content);
    return new PostgresStore(pool, { takeOver: true });
  });
});
