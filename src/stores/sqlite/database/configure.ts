import type { SqliteDatabase } from './driver.js';

/** Settings of a connection. @param synchronous undefined for a connection that only reads. @returns whether there is a write-ahead log */
export function configureConnection(
  database: SqliteDatabase,
  {
    busyTimeout,
    synchronous,
  }: { readonly busyTimeout: number; readonly synchronous: 'full' | 'normal' | 'off' | undefined },
): boolean {
  database.pragma(`busy_timeout = ${busyTimeout}`);
  database.pragma(`cache_size = -${CACHE_KIB}`);
  if (synchronous === undefined) return database.pragma('journal_mode', { simple: true }) === 'wal';
  const mode = database.pragma('journal_mode = WAL', { simple: true });
  database.pragma(`synchronous = ${synchronous}`);
  database.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  return mode === 'wal';
}

/**
 * SQLite's own cache of pages, in KiB: 64 MB. It fills as pages are read.
 *
 * PERF (scale): a broad search reads rows all over the file, and takes a third less time than with the 16 MB of the driver.
 */
const CACHE_KIB = 65_536;

/**
 * Length of the write-ahead log at which its pages are written to the database file: 32 MB.
 *
 * PERF (scale): a commit of a few hundred resources changes about 1,000 pages, most of them the same as the commit before. At
 * SQLite's default of 1,000, every commit would write all of them back.
 */
export const CHECKPOINT_PAGES = 8_000;
