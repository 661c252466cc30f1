import { callTimedOut } from '../../store/guards.js';
import { type Sql, sql } from '../sql/sql.js';
import type { SqliteDatabase } from './driver.js';

/**
 * Ends statements at the deadline of their call. A running SQLite statement cannot be interrupted from outside, so it
 * checks the time row by row: see {@link isInTime}.
 */
export class Guard {
  #deadline = Infinity;

  /** Runs work that ends when the deadline has passed. @param deadline on the clock of `performance.now()` */
  run<Result>(deadline: number | undefined, work: () => Result): Result {
    const outer = this.#deadline;
    this.#deadline = Math.min(outer, deadline ?? Infinity);
    try {
      this.check();
      return work();
    } finally {
      this.#deadline = outer;
    }
  }

  /** @throws FhirError `aborted` - the deadline has passed */
  check(): void {
    if (performance.now() > this.#deadline) throw callTimedOut();
  }
}

const guards = new WeakMap<SqliteDatabase, Guard>();

/** The guard of a connection; stores over the same one share it. */
export function guardOf(database: SqliteDatabase): Guard {
  let guard = guards.get(database);
  if (guard === undefined) {
    guard = new Guard();
    guards.set(database, guard);
  }
  return guard;
}

/** Gives SQLite the function behind {@link isInTime}. */
export function registerGuard(database: SqliteDatabase): void {
  const guard = guardOf(database);
  const check = (): number => {
    guard.check();
    return 1;
  };
  database.function('fhirgraph_in_time', { deterministic: false, directOnly: true, safeIntegers: false }, check);
}

/**
 * A condition that is always true, and ends the statement once the deadline has passed.
 *
 * PERF: a call from SQLite takes 0.1 µs, twice as long as a row of an index, so only one row in 251 makes it. The
 * prime ensures that evenly spaced keys are not all skipped.
 */
export function isInTime(key: Sql): Sql {
  return sql`(${key} % 251 <> 0 OR fhirgraph_in_time())`;
}
