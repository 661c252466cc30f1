import type * as FileSystem from 'node:fs';
import { dirname, resolve } from 'node:path';
import { FhirError } from '../../../fhir/error.js';
import type { SqliteDatabase } from './driver.js';

/**
 * Rejects names and files that SQLite would misinterpret: it opens a temporary database for an empty name, and treats a
 * file of a few bytes as an empty database. A missing folder has its own error.
 *
 * @throws FhirError `invalid`, `unavailable`, `corrupt`
 */
export function assertDatabaseFile(name: string): void {
  // The driver trims whitespace.
  const file = name.trim();
  if (file === MEMORY) return;
  if (file === '' || file.includes('\0')) {
    throw new FhirError('invalid', `A database needs the name of a file, or ${MEMORY} to live in memory`);
  }
  if (!fileSystem().existsSync(dirname(file)))
    throw new FhirError('unavailable', 'The folder of the database file does not exist');
  const found = statsOf(file);
  if (found?.isDirectory() === true) throw new FhirError('unavailable', 'The database file is a folder');
  if (found?.isFile() === true && found.size > 0 && found.size < MIN_FILE_BYTES) {
    throw new FhirError('corrupt', 'The file is not an SQLite database');
  }
}

/** Whether a name is that of a file, and not of a database in memory. */
export function isFile(name: string): boolean {
  return name.trim() !== MEMORY;
}

/**
 * The absolute path of a copy.
 *
 * @throws FhirError `invalid` - the name is empty, or that of a database in memory
 */
export function backupPath(name: string): string {
  if (typeof name !== 'string' || name.trim() === '' || name.includes('\0') || !isFile(name)) {
    throw new FhirError('invalid', 'A backup needs the name of a file');
  }
  return resolve(name.trim());
}

/** The error of opening a file, with its path: it goes to the host, not to a caller. */
export function withPath(error: FhirError, file: string): FhirError {
  return error.with({ message: `${error.message}: ${file}`, details: { path: file } });
}

/** The file that a connection has open. */
export interface OpenedFile {
  readonly path: string;
  /** The numbers of the device, and of the file on it. */
  readonly device: bigint;
  readonly inode: bigint;
}

/** Undefined for a database in memory. To be called when the connection has been opened. */
export function openedFile(database: SqliteDatabase): OpenedFile | undefined {
  const path = database.prepare("SELECT file FROM pragma_database_list WHERE name = 'main'").pluck(true).get();
  if (typeof path !== 'string' || path === '') return undefined;
  const found = statsAt(path);
  if (found === undefined) throw notInPlace();
  return { path, device: found.dev, inode: found.ino };
}

/**
 * Asserts that the path still leads to the file. PERF (scale): it takes 2 µs.
 *
 * @throws FhirError `unavailable` - the file was removed, or another one has taken its place
 */
export function assertInPlace({ path, device, inode }: OpenedFile): void {
  const found = statsAt(path);
  if (found?.ino !== inode || found.dev !== device) throw notInPlace();
}

function notInPlace(): FhirError {
  return new FhirError(
    'unavailable',
    'The database file was removed or replaced while the store had it open; close the store and open it again',
  );
}

const MEMORY = ':memory:';
/** Bytes of the smallest page, and so of the smallest database that is not empty. See https://www.sqlite.org/fileformat.html. */
const MIN_FILE_BYTES = 512;

/** PERF (scale): an import of the module would load its streams too, which takes 3 ms of a process's start. */
function fileSystem(): typeof FileSystem {
  return process.getBuiltinModule('node:fs');
}

function statsAt(path: string): FileSystem.BigIntStats | undefined {
  try {
    return fileSystem().statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Undefined if the file is missing or unreadable; SQLite's own error reports which. */
function statsOf(file: string): FileSystem.Stats | undefined {
  try {
    return fileSystem().statSync(file);
  } catch {
    return undefined;
  }
}
