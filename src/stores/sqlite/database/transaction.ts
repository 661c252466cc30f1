import { FhirError, inDoubt } from '../../../fhir/error.js';
import type { SqliteDatabase } from './driver.js';
import { storeError } from './errors.js';
import { guardOf } from './guard.js';

/**
 * Runs a write action atomically.
 *
 * The lock is taken at the start, so two processes wait for each other instead of failing half-way.
 *
 * @param settle called at the end with whether the transaction was committed.
 * @throws FhirError `unavailable` - the connection came from the host and has a transaction open already.
 */
export function inTransaction<Result>(
  database: SqliteDatabase,
  action: () => Result,
  settle: (committed: boolean) => void = () => undefined,
): Result {
  const transaction = new OpenTransaction(database, settle);
  const result = transaction.run(action);
  transaction.commit();
  return result;
}

/** A write transaction whose work comes in several parts. See {@link inTransaction}. */
export class OpenTransaction {
  readonly #database: SqliteDatabase;
  readonly #settle: (committed: boolean) => void;
  readonly #isJoined: boolean;

  /** @param isJoined whether it is a part of the transaction that the host has open */
  constructor(database: SqliteDatabase, settle: (committed: boolean) => void, isJoined = false) {
    if (isJoined) database.exec('SAVEPOINT fhirgraph');
    else begin(database, 'BEGIN IMMEDIATE');
    this.#database = database;
    this.#settle = settle;
    this.#isJoined = isJoined;
  }

  /** Does a part of the work. An error rolls the transaction back and ends it. */
  run<Result>(action: () => Result): Result {
    try {
      return action();
    } catch (error) {
      this.rollback();
      throw error;
    }
  }

  commit(): void {
    try {
      this.#database.exec(this.#isJoined ? 'RELEASE fhirgraph' : 'COMMIT');
      this.#settle(true);
    } catch (error) {
      this.rollback();
      throw isDiskFault(error) ? inDoubt(storeError(error)) : error;
    }
  }

  rollback(): void {
    this.#settle(false);
    // SQLite ends the transaction itself if the disk fails.
    if (!this.#database.inTransaction) return;
    this.#database.exec(this.#isJoined ? 'ROLLBACK TO fhirgraph; RELEASE fhirgraph' : 'ROLLBACK');
  }
}

/**
 * True if the disk failed. The log may hold the whole transaction, though perhaps not on disk. This process continues
 * without the transaction; after a power cut it may reappear.
 */
function isDiskFault(error: unknown): boolean {
  return String((error as { readonly code?: unknown }).code).startsWith('SQLITE_IOERR');
}

/** Runs a read-only action on a consistent snapshot, while other connections may write. */
export function inSnapshot<Result>(database: SqliteDatabase, action: () => Result): Result {
  begin(database, 'BEGIN');
  try {
    return action();
  } finally {
    if (database.inTransaction) database.exec('ROLLBACK');
  }
}

/** Like {@link inSnapshot}, but reads within the host's transaction if one is open. */
export function asOfNow<Result>(database: SqliteDatabase, action: () => Result): Result {
  return database.inTransaction ? action() : inSnapshot(database, action);
}

/** @throws FhirError `unavailable` */
export function assertNoTransaction(database: SqliteDatabase): void {
  if (!database.inTransaction) return;
  throw new FhirError('unavailable', "The host's connection has a transaction open; it must end first");
}

function begin(database: SqliteDatabase, statement: 'BEGIN' | 'BEGIN IMMEDIATE'): void {
  assertNoTransaction(database);
  untilUnlocked(database, () => database.exec(statement));
}

/** Runs an action that needs a lock, again and again within the patience of the connection. */
export function untilUnlocked(database: SqliteDatabase, action: () => void): void {
  const end = performance.now() + (patience.get(database) ?? 0);
  for (;;) {
    try {
      action();
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() >= end) throw error;
      guardOf(database).check();
    }
  }
}

const patience = new WeakMap<SqliteDatabase, number>();

/**
 * Sets how long transactions of a connection wait for another connection's lock, in steps of its own busy timeout, so
 * that the wait ends at the deadline of the call. Milliseconds.
 */
export function setPatience(database: SqliteDatabase, milliseconds: number): void {
  patience.set(database, milliseconds);
}

/** Never waits for another process's lock, because the wait would block everything else in this process. */
export function withoutWaiting<Result>(database: SqliteDatabase, action: () => Result): Result {
  const timeout = Number(database.pragma('busy_timeout', { simple: true }));
  database.pragma('busy_timeout = 0');
  try {
    return action();
  } finally {
    database.pragma(`busy_timeout = ${timeout}`);
  }
}

/** True if another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return (error as { readonly code?: unknown }).code === 'SQLITE_BUSY';
}
