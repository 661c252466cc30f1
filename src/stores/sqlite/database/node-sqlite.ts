import { FhirError } from '../../../fhir/error.js';
import type { SqlValue } from '../../sql/sql.js';
import type { SqliteDatabase, SqliteStatement } from './driver.js';

/**
 * The part of `DatabaseSync` of Node.js's own module `node:sqlite` that the store uses. See
 * https://nodejs.org/api/sqlite.html.
 */
export interface NodeSqliteDatabase {
  readonly isOpen: boolean;
  readonly isTransaction: boolean;
  prepare(text: string): NodeSqliteStatement;
  exec(text: string): unknown;
  function(
    name: string,
    options: { readonly deterministic?: boolean; readonly directOnly?: boolean },
    implementation: (...values: (string | number | bigint | Uint8Array | null)[]) => string | number | bigint | null,
  ): unknown;
  close(): unknown;
}

/** The part of `StatementSync` that the store uses. */
export interface NodeSqliteStatement {
  run(...values: SqlValue[]): { readonly changes: number | bigint; readonly lastInsertRowid: number | bigint };
  get(...values: SqlValue[]): unknown;
  all(...values: SqlValue[]): unknown[];
  /** Since Node.js 22.16. */
  setReturnArrays?(on: boolean): unknown;
}

/**
 * Returns a database with the interface of better-sqlite3: the database itself, or a wrapper of `node:sqlite`.
 *
 * @throws FhirError `invalid` - the database belongs to neither, such as one of `bun:sqlite`
 */
export function asDriver(database: SqliteDatabase | NodeSqliteDatabase): SqliteDatabase {
  assertDatabase(database);
  if (!('isTransaction' in database)) return database;
  let driver = DRIVERS.get(database);
  if (driver === undefined) DRIVERS.set(database, (driver = new NodeSqlite(database)));
  return driver;
}

function assertDatabase(database: unknown): void {
  const members = typeof database === 'object' && database !== null ? (database as { [name: string]: unknown }) : {};
  const needed = ['prepare', 'exec', 'function', 'isTransaction' in members ? 'close' : 'pragma'];
  if (needed.every((name) => typeof members[name] === 'function')) return;
  throw new FhirError(
    'invalid',
    'SqliteStore takes the name of a file, or an open database of better-sqlite3 or node:sqlite',
  );
}

/** Stores over one connection share its SQL functions, and so also the wrapper that they belong to. */
const DRIVERS = new WeakMap<NodeSqliteDatabase, SqliteDatabase>();

/** `node:sqlite` with the interface of better-sqlite3. Its errors carry the names of SQLite's result codes. */
class NodeSqlite implements SqliteDatabase {
  constructor(private readonly database: NodeSqliteDatabase) {}

  get open(): boolean {
    return this.database.isOpen;
  }

  get inTransaction(): boolean {
    return this.database.isTransaction;
  }

  prepare(text: string): NodeStatement {
    return new NodeStatement(named(() => this.database.prepare(text)));
  }

  exec(text: string): void {
    named(() => this.database.exec(text));
  }

  pragma(text: string, { simple = false }: { readonly simple?: boolean } = {}): unknown {
    const rows = this.prepare(`PRAGMA ${text}`).pluck(simple);
    return simple ? rows.get() : rows.all();
  }

  function(
    name: string,
    { deterministic = false, directOnly = false }: { readonly deterministic?: boolean; readonly directOnly?: boolean },
    implementation: (...values: never[]) => unknown,
  ): void {
    this.database.function(
      name,
      { deterministic, directOnly },
      implementation as Parameters<NodeSqliteDatabase['function']>[2],
    );
  }

  close(): void {
    this.database.close();
  }
}

class NodeStatement implements SqliteStatement {
  #plucks = false;

  constructor(private readonly statement: NodeSqliteStatement) {}

  run(...values: SqlValue[]): { readonly changes: number; readonly lastInsertRowid: number | bigint } {
    const { changes, lastInsertRowid } = named(() => this.statement.run(...values));
    return { changes: Number(changes), lastInsertRowid };
  }

  get(...values: SqlValue[]): unknown {
    const row = named(() => this.statement.get(...values));
    return row === undefined ? undefined : this.#shaped(row);
  }

  all(...values: SqlValue[]): unknown[] {
    const rows = named(() => this.statement.all(...values));
    return this.#plucks ? rows.map((row) => this.#shaped(row)) : rows;
  }

  raw(on = true): this {
    if (this.statement.setReturnArrays === undefined) {
      throw new FhirError('unavailable', 'SqliteStore over node:sqlite needs Node.js 22.16 or newer');
    }
    this.statement.setReturnArrays(on);
    return this;
  }

  pluck(on = true): this {
    this.#plucks = on;
    return on ? this.raw() : this;
  }

  /** `node:sqlite` returns integers as numbers by default. */
  safeIntegers(): this {
    return this;
  }

  #shaped(row: unknown): unknown {
    return this.#plucks ? (row as readonly unknown[])[0] : row;
  }
}

/** Runs an action; errors of SQLite get the name of their result code as `code`, as better-sqlite3 gives it. */
function named<Result>(action: () => Result): Result {
  try {
    return action();
  } catch (error) {
    const { errcode } = error as { readonly errcode?: unknown };
    if (typeof errcode !== 'number') throw error;
    const { message } = error as Error;
    throw Object.assign(new Error(message, { cause: error }), { code: codeName(errcode) });
  }
}

function codeName(code: number): string {
  return EXTENDED_NAMES[code] ?? NAMES[code & 0xff] ?? 'SQLITE_ERROR';
}

/** Primary result codes. See https://www.sqlite.org/rescode.html. */
const NAMES: { readonly [code: number]: string } = {
  1: 'SQLITE_ERROR',
  2: 'SQLITE_INTERNAL',
  3: 'SQLITE_PERM',
  4: 'SQLITE_ABORT',
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  7: 'SQLITE_NOMEM',
  8: 'SQLITE_READONLY',
  9: 'SQLITE_INTERRUPT',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  12: 'SQLITE_NOTFOUND',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  15: 'SQLITE_PROTOCOL',
  17: 'SQLITE_SCHEMA',
  18: 'SQLITE_TOOBIG',
  19: 'SQLITE_CONSTRAINT',
  20: 'SQLITE_MISMATCH',
  21: 'SQLITE_MISUSE',
  23: 'SQLITE_AUTH',
  25: 'SQLITE_RANGE',
  26: 'SQLITE_NOTADB',
};

/** Extended codes that the store distinguishes from their primary ones. */
const EXTENDED_NAMES: { readonly [code: number]: string } = {
  517: 'SQLITE_BUSY_SNAPSHOT',
};
