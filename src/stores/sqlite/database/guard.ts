import { callAborted, callTimedOut } from '../../../store/guards.js';
import { type Sql, sql } from '../../sql/sql.js';
import type { SqliteDatabase } from './driver.js';

/**
 * Ends statements at the deadline of their call. A running SQLite statement cannot be interrupted from outside, so it
 * checks the time row by row: see {@link isInTime}.
 */
export class Guard {
  #deadline = Infinity;
  /** The time at which work in the event loop gives up. Infinity: never. */
  #pause = Infinity;
  /** The earlier of `#deadline` and `#pause`. */
  #limit = Infinity;
  readonly #isCancelled: (() => boolean) | undefined;

  /** @param isCancelled called at each check; true ends the work */
  constructor(isCancelled?: () => boolean) {
    this.#isCancelled = isCancelled;
  }

  /** Runs work that ends when the deadline has passed. @param deadline on the clock of `performance.now()` */
  run<Result>(deadline: number | undefined, work: () => Result): Result {
    const outer = this.#deadline;
    this.#deadline = Math.min(outer, deadline ?? Infinity);
    this.#limit = Math.min(this.#deadline, this.#pause);
    try {
      this.check();
      return work();
    } finally {
      this.#deadline = outer;
      this.#limit = Math.min(outer, this.#pause);
    }
  }

  /**
   * Runs work that must not hold the event loop for long.
   *
   * @param milliseconds how long it may take
   * @returns {@link TOO_LONG} if the work gave up and has had no effect
   */
  briefly<Result>(milliseconds: number, work: () => Result): Result | TooLong {
    this.#pause = performance.now() + milliseconds;
    this.#limit = Math.min(this.#deadline, this.#pause);
    try {
      return work();
    } catch (error) {
      if (error === TOO_LONG) return TOO_LONG;
      throw error;
    } finally {
      this.#pause = Infinity;
      this.#limit = this.#deadline;
    }
  }

  /**
   * Announces a statement over this many rows.
   *
   * Brief work that would not end in time gives up before the statement, because SQLite checks nothing while it
   * sorts.
   */
  expect(rows: number): void {
    if (rows > MAX_BRIEF_ROWS) this.assertPatient();
  }

  /** Announces long work that reads no rows: brief work gives up. */
  assertPatient(): void {
    if (this.isBrief) throw TOO_LONG;
  }

  /** Whether the work may give up: see {@link briefly}. */
  get isBrief(): boolean {
    return this.#pause !== Infinity;
  }

  /** Milliseconds until the deadline; infinite without one. */
  get left(): number {
    return this.#deadline - performance.now();
  }

  /** @throws FhirError `aborted` - the deadline has passed, or the work was cancelled */
  check(): void {
    if (this.#isCancelled?.() === true) throw callAborted(undefined);
    const now = performance.now();
    if (now <= this.#limit) return;
    if (now > this.#deadline) throw callTimedOut();
    throw TOO_LONG;
  }
}

/** The result of work that was too long for the event loop. */
export class TooLong extends Error {}

/** Thrown by brief work that takes too long; it never leaves {@link Guard.briefly}. */
export const TOO_LONG = new TooLong('The work takes too long for the event loop');

/** Sorting this many rows takes about 10 ms. */
const MAX_BRIEF_ROWS = 20_000;

const guards = new WeakMap<SqliteDatabase, Guard>();

/** The guard of a connection; stores over the same connection share it. */
export function guardOf(database: SqliteDatabase): Guard {
  let guard = guards.get(database);
  if (guard === undefined) {
    guard = new Guard();
    guards.set(database, guard);
  }
  return guard;
}

/** Sets the guard of a connection before its first use. */
export function setGuard(database: SqliteDatabase, guard: Guard): void {
  guards.set(database, guard);
}

/** Registers the SQL function behind {@link isInTime}. */
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
 * PERF (scale): a call from SQLite takes 0.1 µs, twice as long as a row of an index, so only one row in 251 makes it. The
 * prime ensures that evenly spaced keys are not all skipped.
 */
export function isInTime(key: Sql): Sql {
  return sql`(${key} % 251 <> 0 OR fhirgraph_in_time())`;
}
