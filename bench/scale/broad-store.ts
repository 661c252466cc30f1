import Database from 'better-sqlite3';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { executeFhirGraphql, importNdjson, type ResourceStore, systemCaller } from 'fhirgraph';
import pg from 'pg';
import { projectAndMembers } from './members.js';
import { openStore } from './open-store.js';
import { skewedLines } from './skewed-lines.js';

/** The contents of a store of the bench. */
export interface Contents {
  /** Name of the contents, a part of the name of the store. */
  readonly name: string;
  /** The lines of NDJSON. A store with other lines is not reused. */
  readonly lines: (size: number) => Iterable<string>;
  fill(store: ResourceStore, size: number): Promise<void>;
}

/** Skewed data in one project. */
export const SKEWED: Contents = {
  name: '',
  lines: (size) => skewedLines(size),
  async fill(store, size) {
    await store.commit(projectAndMembers());
    const { failed } = await importNdjson(Readable.from(skewedLines(size)), { store, caller: systemCaller('broad') });
    if (failed > 0) throw new Error(`${failed} lines were refused`);
    await askEachType(store);
  },
};

/** PostgreSQL builds segments of small types after a search. Without this, fresh processes would be measured during that. */
async function askEachType(store: ResourceStore): Promise<void> {
  // The second time starts the builds that the first time did not start.
  for (let time = 0; time < 2; time++) {
    for (const type of ['Patient', 'Observation', 'Encounter', 'Condition', 'ServiceRequest']) {
      const count = `{ ${type}Connection(_lastUpdated: "ge2000") { count } }`;
      await executeFhirGraphql(count, { store, caller: systemCaller('broad') });
    }
    await delay(1_000);
  }
}

/** The place where stores are created and found again. */
export interface Home {
  /** The location of a complete store of this size for `openStore`. It is created if no store has the current index rows. */
  open(size: number): Promise<string>;
}

/** Number of resources with index rows that are compared. */
const SAMPLE = 400;

/** SQLite files in a folder. */
export async function sqliteHome(folder: string, contents = SKEWED): Promise<Home> {
  mkdirSync(folder, { recursive: true });
  const fingerprint = await sqliteFingerprint(join(folder, `sample${contents.name}.db`), contents);
  return {
    async open(size) {
      const file = join(folder, `sqlite-${contents.name}${size}-${fingerprint}.db`);
      if (!existsSync(file)) {
        removeFile(`${file}.part`);
        await load(`${file}.part`, size, contents);
        renameSync(`${file}.part`, file);
      }
      return file;
    },
  };
}

/**
 * Databases of a PostgreSQL server.
 *
 * @param url of any database of the server, by a user who can create others
 */
export async function postgresHome(url: string, contents = SKEWED): Promise<Home> {
  const server = new pg.Pool({ connectionString: url, max: 1 });
  try {
    const sample = await createDatabase(server, url, 'fhirgraph_scale_sample');
    const fingerprint = await postgresFingerprint(sample, contents);
    return { open: (size) => openDatabase(url, size, fingerprint, contents) };
  } finally {
    await server.end();
  }
}

async function openDatabase(url: string, size: number, fingerprint: string, contents: Contents): Promise<string> {
  const name = `fhirgraph_scale_${contents.name}${size}_${fingerprint}`;
  const server = new pg.Pool({ connectionString: url, max: 1 });
  try {
    const { rowCount } = await server.query('SELECT FROM pg_database WHERE datname = $1', [name]);
    if (rowCount === 1) return databaseUrl(url, name);
    const part = await createDatabase(server, url, `${name}_part`);
    await load(part, size, contents);
    await server.query(`ALTER DATABASE "${name}_part" RENAME TO "${name}"`);
    return databaseUrl(url, name);
  } finally {
    await server.end();
  }
}

async function createDatabase(server: pg.Pool, url: string, name: string): Promise<string> {
  await server.query(`DROP DATABASE IF EXISTS "${name}"`);
  await server.query(`CREATE DATABASE "${name}"`);
  return databaseUrl(url, name);
}

function databaseUrl(url: string, name: string): string {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other.href;
}

async function load(place: string, size: number, contents: Contents): Promise<void> {
  const started = performance.now();
  const { store, close } = await openStore(place);
  await contents.fill(store, size);
  await close();
  if (size > SAMPLE) console.error(`${size} resources took ${((performance.now() - started) / 1000).toFixed(0)} s`);
}

async function sqliteFingerprint(file: string, contents: Contents): Promise<string> {
  removeFile(file);
  await load(file, SAMPLE, contents);
  const database = new Database(file, { readonly: true });
  try {
    const tables = database
      .prepare<[], { name: string; sql: string }>(
        `SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY 1`,
      )
      .all();
    return digest(contents, [
      tables,
      database
        .prepare(`SELECT name, value FROM meta WHERE name IN ('index_version', 'index_definitions') ORDER BY 1`)
        .all(),
      tables
        .filter(({ sql }) => /^CREATE TABLE/i.test(sql))
        .map(({ name }) => [name, database.prepare(`SELECT count(*) AS rows FROM "${name}"`).get()]),
    ]);
  } finally {
    database.close();
    removeFile(file);
  }
}

async function postgresFingerprint(url: string, contents: Contents): Promise<string> {
  await load(url, SAMPLE, contents);
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  const rowsOf = async (sql: string): Promise<{ readonly [column: string]: unknown }[]> => (await pool.query(sql)).rows;
  try {
    const columns = await rowsOf(
      `SELECT table_schema, table_name, column_name, data_type FROM information_schema.columns
       WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2, 3`,
    );
    const indexes = await rowsOf(`SELECT indexdef FROM pg_indexes WHERE schemaname <> 'pg_catalog' ORDER BY 1`);
    const names = new Set(columns.map((row) => `"${String(row['table_schema'])}"."${String(row['table_name'])}"`));
    const counts: unknown[] = [];
    for (const name of names) counts.push(name, await rowsOf(`SELECT count(*) FROM ${name}`));
    return digest(contents, [columns, indexes, counts]);
  } finally {
    await pool.end();
  }
}

function digest(contents: Contents, parts: readonly unknown[]): string {
  const hash = createHash('sha256').update(JSON.stringify(parts));
  for (const line of contents.lines(SAMPLE)) hash.update(line);
  return hash.digest('hex').slice(0, 12);
}

function removeFile(file: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
}
