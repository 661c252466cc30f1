// Kysely, Drizzle and Prisma share a transaction with the store: `node host-transactions.mjs kysely`. POSTGRES is the URL of a
// server to use as well.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { createRepository, systemCaller } from 'fhirgraph';
import { PostgresStore } from 'fhirgraph/postgres';
import { SqliteStore } from 'fhirgraph/sqlite';

const caller = systemCaller('clinic');
const book = (joined, id) =>
  createRepository({ store: joined, caller }).update({ resourceType: 'Basic', id, code: { text: 'slot' } });

const PRISMA_SCHEMA = `generator client {
  provider = "prisma-client-js"
}
datasource db {
  provider = "postgresql"
}
model booking {
  id String @id
}`;

/** Each runs `work` in a transaction of the library, which rolls back if it throws. */
const LIBRARIES = {
  kysely: {
    async sqlite(database) {
      const { Kysely, SqliteDialect } = await import('kysely');
      const db = new Kysely({ dialect: new SqliteDialect({ database }) });
      return (work) =>
        db.transaction().execute((trx) => work((id) => trx.insertInto('booking').values({ id }).execute()));
    },
    async postgres(client) {
      const { Kysely, PostgresDialect } = await import('kysely');
      const pool = { connect: async () => client, end: async () => undefined };
      const db = new Kysely({ dialect: new PostgresDialect({ pool }) }).withSchema('host');
      return (work) =>
        db.transaction().execute((trx) => work((id) => trx.insertInto('booking').values({ id }).execute()));
    },
  },
  'drizzle-orm': {
    async sqlite(database) {
      const { drizzle } = await import('drizzle-orm/better-sqlite3');
      const { sqliteTable, text } = await import('drizzle-orm/sqlite-core');
      const booking = sqliteTable('booking', { id: text('id') });
      const db = drizzle({ client: database });
      // Its own transactions are synchronous.
      return async (work) => {
        database.exec('BEGIN IMMEDIATE');
        try {
          await work((id) => db.insert(booking).values({ id }).run());
          database.exec('COMMIT');
        } catch (error) {
          database.exec('ROLLBACK');
          throw error;
        }
      };
    },
    async postgres(client) {
      const { drizzle } = await import('drizzle-orm/node-postgres');
      const { pgSchema, text } = await import('drizzle-orm/pg-core');
      const booking = pgSchema('host').table('booking', { id: text('id') });
      return (work) => drizzle({ client }).transaction((tx) => work((id) => tx.insert(booking).values({ id })));
    },
  },
  // Its adapter for SQLite opens the file itself.
  prisma: {
    async postgres(client) {
      writeFileSync('schema.prisma', PRISMA_SCHEMA);
      // The engine for migrations, which generate does not start, would be downloaded.
      const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath };
      const args = ['node_modules/prisma/build/index.js', 'generate', '--schema', 'schema.prisma'];
      assert.equal(spawnSync(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'inherit'] }).status, 0);
      const { default: pg } = await import('pg');
      const { PrismaPg } = await import('@prisma/adapter-pg');
      const { PrismaClient } = await import('@prisma/client');
      const pool = Object.assign(new pg.Pool(), { connect: async () => client });
      const prisma = new PrismaClient({ adapter: new PrismaPg(pool, { schema: 'host' }) });
      return (work) =>
        prisma.$transaction((tx) => work((id) => tx.$executeRaw`INSERT INTO host.booking VALUES (${id})`));
    },
  },
};

async function exercise(store, transaction, join, rows) {
  const refused = transaction(async (insert) => {
    await book(await join(), 'lost');
    await insert('lost');
    throw new Error('the host changes its mind');
  });
  await assert.rejects(refused, /changes its mind/);
  let joined;
  await transaction(async (insert) => {
    joined = await join();
    await book(joined, 'kept');
    await insert('kept');
  });
  joined.committed();
  const { entry } = await createRepository({ store, caller }).search('Basic');
  assert.deepEqual([entry.map(({ resource }) => resource.id), await rows()], [['kept'], ['kept']]);
  assert.deepEqual((await store.verify()).problems, []);
}

const library = LIBRARIES[process.argv[2]];
const shared = [];
if (library.sqlite !== undefined) {
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  database.exec('CREATE TABLE booking (id TEXT)');
  const ids = () => database.prepare('SELECT id FROM booking').pluck().all();
  await exercise(store, await library.sqlite(database), () => store.join(), ids);
  await store.close();
  shared.push('SQLite');
}

if (process.env.POSTGRES !== undefined) {
  const { default: pg } = await import('pg');
  const pool = new pg.Pool({ connectionString: process.env.POSTGRES });
  await pool.query('DROP SCHEMA IF EXISTS host CASCADE; CREATE SCHEMA host; CREATE TABLE host.booking (id text)');
  const client = await pool.connect();
  // Kysely and Prisma give the client back after each transaction.
  const release = client.release.bind(client);
  client.release = () => undefined;
  const over = new PostgresStore(pool);
  const inHost = async () => (await client.query('SELECT id FROM host.booking')).rows.map(({ id }) => id);
  await exercise(over, await library.postgres(client), () => over.join(client), inHost);
  release();
  await over.close();
  await pool.end();
  shared.push('PostgreSQL');
}
console.log(`shares transactions over ${shared.join(' and ')}`);
