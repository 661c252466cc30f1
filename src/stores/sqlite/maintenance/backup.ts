import type * as FileSystem from 'node:fs';
import type * as FilePromises from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { FhirError } from '../../../fhir/error.js';
import type { SqliteDatabase } from '../database/driver.js';
import { withPath } from '../database/database-file.js';
import { storeError } from '../database/errors.js';
import type { Statements } from '../database/statements.js';

/**
 * Copies the database in a temporary folder, and then renames the copy. SQLite has a journal beside the copy.
 *
 * The copying thread does not rename it, because a call may end before its thread notices, and an abandoned thread
 * removes nothing. A process that ends before the renaming leaves a folder `*.partial`.
 *
 * @param file an absolute path
 * @param mode permissions of the copy
 * @param copy see {@link copyDatabase}
 * @throws FhirError `conflict` - the file exists
 * @throws FhirError `unavailable` - the file cannot be written. Errors of `copy` are thrown too; no copy is left
 */
export async function backUp(file: string, mode: number, copy: (partial: string) => Promise<unknown>): Promise<void> {
  const fs = process.getBuiltinModule('node:fs/promises');
  const folder = `${file}.${process.getBuiltinModule('node:crypto').randomBytes(4).toString('hex')}.partial`;
  const partial = join(folder, basename(file));
  // The folder stays if Windows refuses to remove it because an abandoned thread still writes the copy.
  const clean = (): Promise<void> =>
    fs.rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined);
  try {
    await assertMissing(fs, file);
    await fs.mkdir(folder, { mode: 0o700 });
    // SQLite itself would create a file that others may read even if they may not read the database.
    await (await fs.open(partial, 'wx', mode)).close();
  } catch (cause) {
    await clean();
    throw withPath(faultOf(cause), file);
  }
  try {
    await copy(partial);
    await assertMissing(fs, file);
    await fs.rename(partial, file);
    await clean();
    await syncFolderOf(fs, file);
  } catch (error) {
    await clean();
    throw error instanceof FhirError ? error : withPath(faultOf(error), file);
  }
}

/**
 * Copies a consistent state of the database to an empty file, and syncs the file.
 *
 * SQLite's backup interface starts again whenever another connection has written, so under steady writes it never ends.
 * `VACUUM INTO` reads in one transaction. It also omits unused pages, and so erased content.
 *
 * @throws FhirError `unavailable` - the disk is full, or the host's connection has a transaction open
 */
export function copyDatabase(database: SqliteDatabase, partial: string): void {
  if (database.inTransaction) {
    throw new FhirError('unavailable', "The host's connection has a transaction open; it must end first");
  }
  try {
    database.prepare('VACUUM INTO ?').run(partial);
  } catch (cause) {
    const { code } = cause as { readonly code?: unknown };
    throw code === 'SQLITE_FULL' ? diskFull(cause) : storeError(cause);
  }
  sync(process.getBuiltinModule('node:fs'), partial);
}

/** The permissions of the database's own file; for a database in memory, access by the owner only. */
export function modeOf(statements: Statements): number {
  const [file] = statements.read("SELECT file FROM pragma_database_list WHERE name = 'main'").get() as [string | null];
  return file === null || file === '' ? 0o600 : process.getBuiltinModule('node:fs').statSync(file).mode & 0o777;
}

async function assertMissing(fs: typeof FilePromises, file: string): Promise<void> {
  const exists = await fs.stat(file).then(
    () => true,
    () => false,
  );
  if (exists) throw Object.assign(new Error('The file exists'), { code: 'EEXIST' });
}

function sync(fs: typeof FileSystem, file: string): void {
  const opened = fs.openSync(file, 'r+');
  try {
    fs.fsyncSync(opened);
  } finally {
    fs.closeSync(opened);
  }
}

/** Syncs a folder, so that a new name in it survives a power cut. Windows opens no folders, and needs no sync. */
async function syncFolderOf(fs: typeof FilePromises, file: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = await fs.open(dirname(file), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function faultOf(cause: unknown): FhirError {
  const { code } = cause as { readonly code?: unknown };
  switch (code) {
    case 'EEXIST':
      return new FhirError('conflict', 'The file of the backup exists; a backup replaces nothing', { cause });
    case 'ENOENT':
    case 'ENOTDIR':
      return new FhirError('unavailable', 'The folder of the backup does not exist', { cause });
    case 'ENOSPC':
      return diskFull(cause);
    default:
      return new FhirError('unavailable', 'The backup cannot be written', { cause });
  }
}

function diskFull(cause: unknown): FhirError {
  return new FhirError('unavailable', 'The disk of the backup is full', { cause });
}
