import { setTimeout as delay } from 'node:timers/promises';
import { assertNotAborted } from '../../store/guards.js';
import { sql } from '../sql/sql.js';
import type { Connection, Connections } from './connections.js';
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
  action: (connection: Connection, attempt: number) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await connections.use(
        (connection) => runOnce(connection, options, () => action(connection, attempt)),
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

async function runOnce<Result>(
  connection: Connection,
  { serializable }: TransactionOptions,
  action: () => Promise<Result>,
): Promise<Result> {
  await connection.run(serializable ? BEGIN_SERIALIZABLE : BEGIN);
  try {
    const result = await action();
    await connection.end(COMMIT);
    return result;
  } catch (error) {
    if (!isBroken(error)) await connection.end(ROLLBACK).catch(() => undefined);
    throw error;
  }
}

const BEGIN = sql`BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE`;
const BEGIN_SERIALIZABLE = sql`BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE`;
const COMMIT = sql`COMMIT`;
const ROLLBACK = sql`ROLLBACK`;
