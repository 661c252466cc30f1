import { randomNumber } from '../../sql/random-number.js';
import type { SqliteDatabase } from '../database/driver.js';
import type { Statements } from '../database/statements.js';

// The caches of connections (parsed resources by the key of their version, numbers of names) stay valid while resources
// are written, but not when content is removed. So each removal changes an epoch in the file, and a connection that
// finds another epoch clears its caches.

/** The entry of `meta` that changes with each removal. */
export const REMOVAL_EPOCH = 'removal_epoch';

/** The entry of `meta` with the highest key of a version that was ever removed with its project. */
export const LAST_VERSION_KEY = 'last_version_key';

/**
 * Announces that this transaction removes content, and makes SQLite overwrite it.
 *
 * `secure_delete` zeroes cells and pages as they are freed. It is off otherwise, because it writes even pages that
 * become free; `scrub` overwrites the remains of earlier updates and moves of cells.
 */
export function noteRemoval(database: SqliteDatabase, statements: Statements): void {
  database.pragma('secure_delete = ON');
  const text = `INSERT OR REPLACE INTO meta (name, value) VALUES ('${REMOVAL_EPOCH}', ?)`;
  statements.write(text).run(randomNumber(60));
}

/** Prevents the keys of all existing versions from being used again. */
export function keepVersionKeys(statements: Statements): void {
  const text = `INSERT INTO meta (name, value) SELECT '${LAST_VERSION_KEY}', coalesce(max(key), 0) FROM version WHERE true
    ON CONFLICT (name) DO UPDATE SET value = max(CAST(value AS INTEGER), CAST(excluded.value AS INTEGER))`;
  statements.write(text).run();
}
