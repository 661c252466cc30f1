import { FhirError } from '../../fhir/error.js';
import type { SqliteDatabase } from './driver.js';

/**
 * Runs an action that writes: all of it is kept, or after an error nothing.
 *
 * The lock is taken at the start, so two processes wait for each other instead of failing half-way.
 *
 * @param settle called at the end, with what became of the transaction.
 * @throws FhirError `unavailable` - the connection came from the host and has a transaction open already.
 */
export function inTransaction<Result>(
  database: SqliteDatabase,
  action: () => Result,
  settle: (committed: boolean) => void = () => undefined,
): Result {
  begin(database, 'BEGIN IMMEDIATE');
  try {
    const result = action();
    database.exec('COMMIT');
    settle(true);
    return result;
  } catch (error) {
    settle(false);
    // SQLite has ended it by itself where the disk failed.
    if (database.inTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/** Runs an action that only reads: it sees the database as it is at one moment, while others write. */
export function inSnapshot<Result>(database: SqliteDatabase, action: () => Result): Result {
  begin(database, 'BEGIN');
  try {
    return action();
  } finally {
    if (database.inTransaction) database.exec('ROLLBACK');
  }
}

/** The same where the host may have a transaction open: then what is read is as of that one. */
export function asOfNow<Result>(database: SqliteDatabase, action: () => Result): Result {
  return database.inTransaction ? action() : inSnapshot(database, action);
}

function begin(database: SqliteDatabase, statement: 'BEGIN' | 'BEGIN IMMEDIATE'): void {
  if (database.inTransaction) {
    throw new FhirError('unavailable', "The host's connection has a transaction open; it must end first");
  }
  database.exec(statement);
}
