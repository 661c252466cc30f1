import type * as FileSystem from 'node:fs';
import { FhirError } from '../../../fhir/error.js';
import type { SqliteDatabase } from '../database/driver.js';
import { withPath } from '../database/database-file.js';
import { storeError } from '../database/errors.js';
import type { Guard } from '../database/guard.js';
import type { Statements } from '../database/statements.js';

/**
 * Copies the database, as it is at one moment, to a new file.
 *
 * SQLite's backup interface begins again whenever another connection has written, so beside steady writes it never ends.
 * `VACUUM INTO` reads in one transaction. It also leaves out pages without content, and so what was erased.
 *
 * The copy gets its name when the disk has all of it. A process that ends before leaves a file `*.partial`.
 *
 * @param file an absolute path
 * @throws FhirError `conflict` - the file exists
 * @throws FhirError `unavailable` - it cannot be written, or the host's connection has a transaction open
 * @throws FhirError `aborted` - by the guard; no copy is left
 */
export function backUp(database: SqliteDatabase, statements: Statements, guard: Guard, file: string): void {
  if (database.inTransaction) {
    throw new FhirError('unavailable', "The host's connection has a transaction open; it must end first");
  }
  const fs = process.getBuiltinModule('node:fs');
  const partial = `${file}.${process.getBuiltinModule('node:crypto').randomBytes(4).toString('hex')}.partial`;
  inFileSystem(file, () => {
    if (fs.existsSync(file)) throw Object.assign(new Error('The file exists'), { code: 'EEXIST' });
    // SQLite itself would make a file that others may read where they may not read the database.
    fs.closeSync(fs.openSync(partial, 'wx', modeOf(fs, statements)));
  });
  try {
    // Vacuuming asks no function row by row, so nothing ends it early.
    copyTo(database, partial);
    guard.check();
    inFileSystem(file, () => {
      sync(fs, partial);
      if (fs.existsSync(file)) throw Object.assign(new Error('The file exists'), { code: 'EEXIST' });
      fs.renameSync(partial, file);
      syncFolderOf(fs, file);
    });
  } catch (error) {
    fs.rmSync(partial, { force: true });
    throw error instanceof FhirError ? error : withPath(storeError(error), file);
  }
}

function copyTo(database: SqliteDatabase, file: string): void {
  try {
    database.prepare('VACUUM INTO ?').run(file);
  } catch (cause) {
    const { code } = cause as { readonly code?: unknown };
    if (code !== 'SQLITE_FULL') throw cause;
    throw new FhirError('unavailable', 'The disk of the backup is full', { cause });
  }
}

/** The permissions of the database's own file; of a database in memory, those of its owner alone. */
function modeOf(fs: typeof FileSystem, statements: Statements): number {
  const [file] = statements.read("SELECT file FROM pragma_database_list WHERE name = 'main'").get() as [string | null];
  return file === null || file === '' ? 0o600 : fs.statSync(file).mode & 0o777;
}

function sync(fs: typeof FileSystem, file: string): void {
  const opened = fs.openSync(file, 'r+');
  try {
    fs.fsyncSync(opened);
  } finally {
    fs.closeSync(opened);
  }
}

/** Makes a new name outlast a power cut. Windows opens no folders, and needs none of this. */
function syncFolderOf(fs: typeof FileSystem, file: string): void {
  if (process.platform === 'win32') return;
  const folder = fs.openSync(process.getBuiltinModule('node:path').dirname(file), 'r');
  try {
    fs.fsyncSync(folder);
  } finally {
    fs.closeSync(folder);
  }
}

/** Runs steps whose faults are those of the file system. */
function inFileSystem(file: string, steps: () => void): void {
  try {
    steps();
  } catch (cause) {
    const { code } = cause as { readonly code?: unknown };
    throw withPath(faultOf(String(code), cause), file);
  }
}

function faultOf(code: string, cause: unknown): FhirError {
  switch (code) {
    case 'EEXIST':
      return new FhirError('conflict', 'The file of the backup exists; a backup replaces nothing', { cause });
    case 'ENOENT':
    case 'ENOTDIR':
      return new FhirError('unavailable', 'The folder of the backup does not exist', { cause });
    case 'ENOSPC':
      return new FhirError('unavailable', 'The disk of the backup is full', { cause });
    default:
      return new FhirError('unavailable', 'The backup cannot be written', { cause });
  }
}
