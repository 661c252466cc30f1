import { createRequire } from 'node:module';
import { FhirError } from '../../fhir/error.js';
import { type SqlValue } from '../sql/sql.js';

/** The part of a better-sqlite3 `Database` that the store uses. Any version and build that has it serves. */
export interface SqliteDatabase {
  readonly open: boolean;
  readonly inTransaction: boolean;
  prepare(text: string): SqliteStatement;
  exec(text: string): unknown;
  pragma(text: string, options?: { readonly simple?: boolean }): unknown;
  function(
    name: string,
    options: { readonly deterministic?: boolean; readonly directOnly?: boolean; readonly safeIntegers?: boolean },
    implementation: (...values: never[]) => unknown,
  ): unknown;
  close(): unknown;
}

/** The part of a better-sqlite3 `Statement` that the store uses. */
export interface SqliteStatement {
  run(...values: SqlValue[]): { readonly changes: number; readonly lastInsertRowid: number | bigint };
  get(...values: SqlValue[]): unknown;
  all(...values: SqlValue[]): unknown[];
  raw(on?: boolean): this;
  pluck(on?: boolean): this;
  safeIntegers(on?: boolean): this;
}

/**
 * Opens a database file with better-sqlite3, an optional peer dependency that is loaded here and nowhere else.
 *
 * @param busyTimeout longest wait for another process's lock, in milliseconds.
 * @throws FhirError `unavailable` - better-sqlite3 is not installed or has no binary for this machine.
 */
export function openDatabase(file: string, busyTimeout: number): SqliteDatabase {
  return new (loadDriver())(file, { timeout: busyTimeout });
}

type DatabaseConstructor = new (file: string, options: { readonly timeout: number }) => SqliteDatabase;

function loadDriver(): DatabaseConstructor {
  try {
    return createRequire(import.meta.url)('better-sqlite3') as DatabaseConstructor;
  } catch (cause) {
    const missing = (cause as { readonly code?: unknown }).code === 'MODULE_NOT_FOUND';
    const message = missing
      ? 'SqliteStore needs the package better-sqlite3; install it with: npm install better-sqlite3'
      : 'The package better-sqlite3 is installed but cannot be loaded; reinstall it for this version of Node.js';
    throw new FhirError('unavailable', message, { cause });
  }
}
