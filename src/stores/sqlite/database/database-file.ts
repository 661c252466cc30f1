import type * as FileSystem from 'node:fs';
import { dirname, resolve } from 'node:path';
import { FhirError } from '../../../fhir/error.js';

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

const MEMORY = ':memory:';
/** Bytes of the smallest page, and so of the smallest database that is not empty. See https://www.sqlite.org/fileformat.html. */
const MIN_FILE_BYTES = 512;

/** PERF: an import of the module would load its streams too, which takes 3 ms of a process's start. */
function fileSystem(): typeof FileSystem {
  return process.getBuiltinModule('node:fs');
}

/** Undefined if the file is missing or unreadable; SQLite's own error reports which. */
function statsOf(file: string): FileSystem.Stats | undefined {
  try {
    return fileSystem().statSync(file);
  } catch {
    return undefined;
  }
}
