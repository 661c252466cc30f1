import { createRequire } from 'node:module';
import { isAbsolute, resolve } from 'node:path';
import { FhirError } from '../../../fhir/error.js';
import type { SqlValue } from '../../sql/sql.js';

/** The part of a better-sqlite3 `Database` that the store uses. Any version and build with these members works. */
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

/** How a connection is opened. */
interface OpenOptions {
  /** Longest wait for another process's lock, in milliseconds. */
  readonly timeout: number;
  /** Default false. */
  readonly readonly?: boolean;
}

/**
 * Opens a database file with better-sqlite3, an optional peer dependency that is loaded here and nowhere else.
 *
 * @param base where the package is resolved from: see {@link driverBase}
 * @throws FhirError `unavailable` - better-sqlite3 is not installed or has no binary for this machine.
 */
export function openDatabase(file: string, options: OpenOptions, base = driverBase()): SqliteDatabase {
  return new (loadDriver(base))(file, options);
}

/**
 * The file or URL from which better-sqlite3 is resolved: this module. A bundle may be CommonJS, or run elsewhere than
 * it was built; there it is the bundle, the main program or the current folder.
 */
export function driverBase(): string {
  const bases = [import.meta.url, typeof __filename === 'string' ? __filename : undefined, process.argv[1]];
  const places = bases.filter((base) => base !== undefined && base !== '' && (isAbsolute(base) || /^file:/.test(base)));
  return places.find((base) => finds(base!)) ?? resolve('index.js');
}

function finds(base: string): boolean {
  try {
    return createRequire(base).resolve('better-sqlite3') !== '';
  } catch {
    return false;
  }
}

type DatabaseConstructor = new (file: string, options: OpenOptions) => SqliteDatabase;

function loadDriver(base: string): DatabaseConstructor {
  try {
    return createRequire(base)('better-sqlite3') as DatabaseConstructor;
  } catch (cause) {
    const missing = (cause as { readonly code?: unknown }).code === 'MODULE_NOT_FOUND';
    const message = missing
      ? 'SqliteStore needs the package better-sqlite3; install it with: npm install better-sqlite3'
      : 'The package better-sqlite3 is installed but cannot be loaded; reinstall it for this version of Node.js';
    throw new FhirError('unavailable', message, { cause });
  }
}
