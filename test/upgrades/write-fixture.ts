import Database from 'better-sqlite3';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { gzipSync } from 'node:zlib';
import { PostgresStore } from 'fhirgraph/postgres';
import { SqliteStore } from 'fhirgraph/sqlite';
import pg from 'pg';
import { findPostgres, startPostgres } from '../support/postgres-server.js';
import { type Facts, writeClinic } from './clinic.js';

// Writes the fixture of the current version: `npx tsx test/upgrades/write-fixture.ts`. See README.md next to this file.

const root = join(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
const folder = join(import.meta.dirname, 'fixtures', process.argv[2] ?? version);
const scratch = mkdtempSync(join(tmpdir(), 'fhirgraph-fixture-'));
mkdirSync(folder, { recursive: true });
try {
  const facts = { sqlite: await writeSqlite(), postgres: await writePostgres() };
  writeFileSync(join(folder, 'facts.json'), `${JSON.stringify(facts, null, 2)}\n`);
} finally {
  rmSync(scratch, { recursive: true });
}

async function writeSqlite(): Promise<Facts> {
  const file = join(scratch, 'clinic.db');
  const store = new SqliteStore(file);
  const facts = await writeClinic(store);
  await store.close();
  const database = new Database(file);
  // One file without a log, and without free pages.
  database.pragma('journal_mode = DELETE');
  database.exec('VACUUM');
  database.close();
  writeFileSync(join(folder, 'clinic.db.gz'), gzipSync(readFileSync(file), { level: 9 }));
  return facts;
}

async function writePostgres(): Promise<Facts> {
  const programs = findPostgres();
  if (programs === undefined) throw new Error('The dump needs the programs of a PostgreSQL server');
  const server = await startPostgres(programs);
  try {
    const pool = new pg.Pool({ ...server.connection, max: 4 });
    const store = new PostgresStore(pool);
    const facts = await writeClinic(store);
    await store.close();
    await pool.end();
    const { host, port, user, database } = server.connection;
    const form = ['--inserts', '--rows-per-insert=100', '--no-owner', '--no-privileges', '--no-comments'];
    const args = [...form, '-h', host, '-p', String(port), '-U', user, database];
    const dump = spawnSync(join(programs, 'pg_dump'), args, { encoding: 'utf8', maxBuffer: 2 ** 26 });
    if (dump.status !== 0) throw new Error(`pg_dump failed: ${dump.stderr}`);
    writeFileSync(join(folder, 'clinic.sql'), statementsOf(dump.stdout));
    return facts;
  } finally {
    await server.stop();
  }
}

/** A dump without comments, without commands of psql, and without settings: any connection of any version accepts it. */
function statementsOf(dump: string): string {
  const lines = dump.split('\n').filter((line) => !/^(--|\\|SET |SELECT pg_catalog\.set_config)/.test(line));
  return `${lines
    .join('\n')
    .replaceAll(/\n{2,}/g, '\n')
    .trim()}\n`;
}
