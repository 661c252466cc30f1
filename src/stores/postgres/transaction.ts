import { setTimeout as delay } from 'node:timers/promises';
import { assertNotAborted } from '../../store/guards.js';
import { type Sql, sql } from '../sql/sql.js';
import type { Connection, Connections, Row } from './connections.js';
import { isBroken, isRetryable } from './errors.js';

export interface TransactionOptions {
  /** What was searched must still be so at the end, not only what was written. */
  readonly serializable: boolean;
  /** How often it is tried while others stand in the way. */
  readonly attempts: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs an action that writes: all of it is kept, or after an error nothing. While others stand in the way it is run again
 * from the start, with growing random pauses.
 *
 * @param action also gets the number of the attempt, from 1 up.
 */
export async function inTransaction<Result>(
  connections: Connections,
  options: TransactionOptions,
  action: (transaction: Transaction, attempt: number) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await connections.use(
        (connection) =>
          runOnce(new Transaction(connection, options.serializable), (transaction) => action(transaction, attempt)),
        options.signal,
      );
    } catch (error) {
      if (!isRetryable(error) || attempt >= options.attempts) throw error;
      await delay(Math.random() * Math.min(2 ** attempt, LONGEST_PAUSE));
      assertNotAborted(options);
    }
  }
}

/** Milliseconds. */
const LONGEST_PAUSE = 250;

/** One attempt: begins with the first statement that needs it. */
export class Transaction {
  readonly #connection: Connection;
  readonly #serializable: boolean;
  #begun = false;

  constructor(connection: Connection, serializable: boolean) {
    this.#connection = connection;
    this.#serializable = serializable;
  }

  /** Runs a statement that rests on those before it, or those after on it. */
  async run(statement: Sql): Promise<readonly Row[]> {
    if (!this.#begun) {
      await this.#connection.run(this.#serializable ? BEGIN_SERIALIZABLE : BEGIN);
      this.#begun = true;
    }
    return this.#connection.run(statement);
  }

  /**
   * Runs a statement that rests on nothing: a read of what is checked once more where it is written, or the one statement
   * that writes. PERF: so a usual commit is two round trips instead of four.
   */
  async runAlone(statement: Sql): Promise<readonly Row[]> {
    return this.#begun || this.#serializable ? this.run(statement) : this.#connection.run(statement);
  }

  async commit(): Promise<void> {
    if (this.#begun) await this.#connection.end(COMMIT);
  }

  async rollBack(): Promise<void> {
    if (this.#begun) await this.#connection.end(ROLLBACK);
  }
}

async function runOnce<Result>(
  transaction: Transaction,
  action: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  try {
    const result = await action(transaction);
    await transaction.commit();
    return result;
  } catch (error) {
    if (!isBroken(error)) await transaction.rollBack().catch(() => undefined);
    throw error;
  }
}

const BEGIN = sql`BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE`;
const BEGIN_SERIALIZABLE = sql`BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE`;
const COMMIT = sql`COMMIT`;
const ROLLBACK = sql`ROLLBACK`;
