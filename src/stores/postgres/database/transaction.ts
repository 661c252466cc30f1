import { Overtaken, withRetries } from '../../../store/with-retries.js';
import { type Sql, sql } from '../../sql/sql.js';
import type { Connections } from './connections.js';
import type { PostgresScriptStatement } from './driver.js';
import { isRetryable } from './errors.js';
import type { Connection, Row } from './lent-connection.js';
import { endsWhenSilent } from './silence.js';

export interface TransactionOptions {
  /** True if search results must still hold at commit, not only the written versions. */
  readonly serializable: boolean;
  /** Maximum number of attempts under concurrent writes. */
  readonly attempts: number;
  readonly signal?: AbortSignal | undefined;
  /** Called before each further attempt, while no connection is held. */
  readonly beforeRetry?: (() => Promise<unknown>) | undefined;
}

/**
 * Runs a writing action atomically. On conflicts with concurrent writes it is run again from the start, after growing
 * random pauses.
 *
 * @param action also gets the number of the attempt, from 1 up.
 */
export async function inTransaction<Result>(
  connections: Connections,
  options: TransactionOptions,
  action: (transaction: Transaction, attempt: number) => Promise<Result>,
): Promise<Result> {
  const { attempts, serializable, signal, beforeRetry } = options;
  return withRetries({ attempts, signal, pauses: true }, async ({ number }) => {
    if (number > 1) await beforeRetry?.();
    try {
      return await connections.use(
        (connection) =>
          runOnce(new Transaction(connection, serializable), (transaction) => action(transaction, number)),
        signal,
      );
    } catch (error) {
      if (!isRetryable(error)) throw error;
      return new Overtaken(error);
    }
  });
}

/** One attempt: begins with the first statement that needs it. */
export class Transaction {
  readonly #serializable: boolean;
  #begun = false;

  constructor(
    private readonly connection: Connection,
    serializable: boolean,
  ) {
    this.#serializable = serializable;
  }

  /** Runs a statement that depends on earlier ones, or on which later ones depend. */
  async run(statement: Sql): Promise<readonly Row[]> {
    if (!this.#begun) {
      // It may fail half-way.
      this.#begun = true;
      await this.connection.run(this.#begin.reduce((before, next) => sql`${before}; ${next}`));
    }
    return this.connection.run(statement);
  }

  /**
   * Runs an independent read; its result is checked again when it is written. With
   * {@link writeAlone} a usual commit is two round trips instead of four.
   */
  async readAlone(statement: Sql): Promise<readonly Row[]> {
    return this.#standsAlone ? this.connection.runAlone(statement) : this.run(statement);
  }

  /** Runs the only statement that writes. */
  async writeAlone(statement: Sql): Promise<readonly Row[]> {
    return this.#standsAlone ? this.connection.write(statement) : this.run(statement);
  }

  /** True if rows can be written by {@link copy}. */
  get copies(): boolean {
    return this.connection.hasScripts;
  }

  /**
   * Runs statements without values, some with rows for COPY, in one message.
   *
   * @param last true if the transaction writes nothing else; it is then committed with them
   */
  async copy(statements: readonly PostgresScriptStatement[], last: boolean): Promise<void> {
    const begins = !this.#begun;
    this.#begun = true;
    const before = begins ? this.#begin.map(({ text }) => ({ text })) : [];
    await this.connection.script([...before, ...statements, ...(last ? [{ text: 'COMMIT' }] : [])], last);
    if (last) this.#begun = false;
  }

  async commit(): Promise<void> {
    if (this.#begun) await this.connection.commit();
  }

  async rollBack(): Promise<void> {
    if (this.#begun) await this.connection.rollBack();
  }

  get #begin(): readonly Sql[] {
    return [...(this.#serializable ? BEGIN_SERIALIZABLE : BEGIN), endsWhenSilent()];
  }

  get #standsAlone(): boolean {
    return !this.#begun && !this.#serializable;
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
    await transaction.rollBack();
    throw error;
  }
}

/** Compiling a statement that writes thousands of resources takes a second, which no cancel request ends. */
const NOT_COMPILED = sql`SET LOCAL jit = off`;
const BEGIN = [sql`BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE`, NOT_COMPILED];
/**
 * The locks of a transaction whose first query fixes what it sees. With them, it misses no takeover of the database before, and
 * no list of segments: see `PostgresRefreshPort`. LOCK and SET are not queries.
 */
export const FIRST_LOCKS = [
  sql`LOCK TABLE fhirgraph_writer IN ACCESS SHARE MODE`,
  sql`LOCK TABLE fhirgraph_segment_written IN ROW EXCLUSIVE MODE`,
];
/** Statements without values are one message, and one round trip. */
const BEGIN_SERIALIZABLE = [sql`BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE`, NOT_COMPILED, ...FIRST_LOCKS];
