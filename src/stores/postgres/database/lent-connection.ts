import { setTimeout as delay } from 'node:timers/promises';
import { FhirError, inDoubt } from '../../../fhir/error.js';
import { assertNotAborted, callAborted } from '../../../store/guards.js';
import { type Sql, sql } from '../../sql/sql.js';
import { type Cancel, isCancellable } from './cancel.js';
import type { PostgresAnswer, PostgresClient, PostgresScriptStatement } from './driver.js';
import { isBroken, isDefinite, storeError } from './errors.js';
import type { PreparedStatements } from './prepared-statements.js';
import { type RunScript, scriptOf } from './script.js';
import { PreparedSql, toStatement } from './statements.js';

/** One result row: the values of its columns in order. */
export type Row = readonly unknown[];

/** A borrowed connection. */
export interface Connection {
  /** Runs one statement. @throws whatever the driver throws; FhirError `aborted` if the signal ended it. */
  run(statement: Sql): Promise<readonly Row[]>;
  /** Like {@link run}, outside a transaction: the statement may be prepared. @throws as {@link run} */
  runAlone(statement: Sql): Promise<readonly Row[]>;
  /**
   * Runs a statement outside a transaction; its writes are committed when it ends.
   *
   * @throws as {@link run}; FhirError with `details.unknown` if the outcome is unknown.
   */
  write(statement: Sql): Promise<readonly Row[]>;
  /** True if the connection can run a {@link script}. */
  readonly hasScripts: boolean;
  /**
   * Runs statements without values, some with rows for COPY.
   *
   * @param writes true if the last statement makes the writes permanent
   * @throws as {@link run}, or as {@link write}
   */
  script(statements: readonly PostgresScriptStatement[], writes: boolean): Promise<void>;
  /** Ends a transaction. @throws as {@link write} */
  commit(): Promise<void>;
  /** Rolls a transaction back. If that fails, the connection is closed, which has the same effect. */
  rollBack(): Promise<void>;
}

/** How a connection is lent. */
interface Terms {
  readonly cancel: Cancel | undefined;
  /** How long an aborted statement may take to end, in milliseconds; after that, its connection is closed. */
  readonly cancelWait: number;
  readonly signal: AbortSignal | undefined;
  /** Undefined: no statement is prepared. */
  readonly prepared?: PreparedStatements | undefined;
}

/**
 * A connection of the pool from checkout to release.
 *
 * It is never released with a pending statement or cancel request: if they do not settle in time, it is closed.
 */
export class LentConnection implements Connection {
  readonly #script: RunScript | undefined;
  /** True if the connection sends no further statement. */
  #closing = false;
  readonly #onError = (): void => void (this.#closing = true);

  constructor(
    private readonly client: PostgresClient,
    private readonly terms: Terms,
  ) {
    this.#script = scriptOf(client);
    client.on?.('error', this.#onError);
  }

  run(statement: Sql): Promise<readonly Row[]> {
    assertNotAborted(this.terms);
    return this.#send(statement, { cancels: true, writes: false });
  }

  runAlone(statement: Sql): Promise<readonly Row[]> {
    assertNotAborted(this.terms);
    return this.#sendAlone(statement, { cancels: true, writes: false });
  }

  write(statement: Sql): Promise<readonly Row[]> {
    assertNotAborted(this.terms);
    return this.#sendAlone(statement, { cancels: true, writes: true });
  }

  get hasScripts(): boolean {
    return this.#script !== undefined;
  }

  async script(statements: readonly PostgresScriptStatement[], writes: boolean): Promise<void> {
    assertNotAborted(this.terms);
    await this.#perform(() => this.#script!(statements), { cancels: true, writes });
  }

  async commit(): Promise<void> {
    await this.write(COMMIT);
  }

  async rollBack(): Promise<void> {
    try {
      await this.#send(ROLLBACK, { cancels: false, writes: false });
    } catch {
      this.#closing = true;
    }
  }

  giveBack(): void {
    this.client.off?.('error', this.#onError);
    this.client.release(this.#closing);
  }

  /** Sends a statement under its name, if it has one. Not within a transaction, which would end with a lost name. */
  async #sendAlone(statement: Sql, how: Handling): Promise<readonly Row[]> {
    const { prepared } = this.terms;
    const named = statement instanceof PreparedSql ? prepared?.named(this.client, statement) : undefined;
    if (named === undefined) return this.#send(statement, how);
    try {
      return (await this.#perform(() => this.client.query(named), how)).rows;
    } catch (error) {
      if (!prepared!.isLost(this.client, named, error)) throw error;
      return this.#send(statement, how);
    }
  }

  async #send(statement: Sql, how: Handling): Promise<readonly Row[]> {
    return (await this.#perform<PostgresAnswer>(() => this.client.query(toStatement(statement)), how)).rows;
  }

  async #perform<Answer>(start: () => Promise<Answer>, how: Handling): Promise<Answer> {
    if (this.#closing) throw this.#fault(new Error('The connection was lost before the statement was sent'));
    const { signal } = this.terms;
    let query: Promise<Answer> | undefined;
    try {
      query = start();
      return await (signal === undefined ? query : this.#watched(query, how, signal));
    } catch (error) {
      if (isBroken(error)) this.#closing = true;
      const doubtful = how.writes && query !== undefined && !isDefinite(error);
      throw doubtful ? inDoubt(storeError(this.#fault(error))) : this.#fault(error);
    }
  }

  /** Once the signal has fired, every error counts as caused by it. */
  #fault(error: unknown): unknown {
    const { signal } = this.terms;
    return signal?.aborted !== true || error instanceof FhirError ? error : callAborted(signal);
  }

  /** The answer to a statement, which ends when the signal fires, if necessary by closing the connection. */
  async #watched<Answer>(query: Promise<Answer>, how: Handling, signal: AbortSignal): Promise<Answer> {
    const { promise: hung, reject } = Promise.withResolvers<never>();
    let warned = false;
    const onNotice = (notice: unknown): void => void (warned ||= isWarning(notice));
    let stopping: Promise<void> | undefined;
    const stop = (): void => {
      this.client.on?.('notice', onNotice);
      stopping = this.#stop(query, how.cancels).then((ended) => {
        if (!ended) reject(new Error('The statement did not end in time'));
      });
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    try {
      const answer = await Promise.race([query, hung]);
      await stopping;
      // The cancel request ended the server's wait for its standbys, which may lack the write.
      if (warned && how.writes) throw new Error('The wait for the standbys was cancelled');
      return answer;
    } finally {
      signal.removeEventListener('abort', stop);
      await stopping;
      this.client.off?.('notice', onNotice);
    }
  }

  /**
   * Waits until the statement has ended and no cancel request is pending. If that takes longer than `cancelWait`, the
   * connection becomes unusable.
   *
   * @returns whether the statement has ended
   */
  async #stop(query: Promise<unknown>, cancels: boolean): Promise<boolean> {
    const { cancel, cancelWait } = this.terms;
    const controller = new AbortController();
    const { signal } = controller;
    let ended = false;
    const end = query.then(ignore, ignore).then(() => void (ended = true));
    const timer = setTimeout(() => controller.abort(), cancelWait);
    const late = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    try {
      // A request that overtakes its statement does nothing, so it is repeated until the statement ends.
      for (let pause = FIRST_PAUSE; cancels && cancel !== undefined && isCancellable(this.client); pause *= 2) {
        await cancel(this.client, signal);
        await Promise.race([end, late, delay(pause, undefined, { ref: false })]);
        if (ended || signal.aborted) break;
      }
    } catch {
      // The request may still be on its way.
      this.#closing = true;
    }
    await Promise.race([end, late]);
    clearTimeout(timer);
    this.#closing ||= !ended;
    return ended;
  }
}

/** The state of a statement that is aborted while it runs. */
interface Handling {
  /** True if it is cancelled on the server; otherwise it has time to end. */
  readonly cancels: boolean;
  /** True if its end makes writes permanent. */
  readonly writes: boolean;
}

const COMMIT = sql`COMMIT`;
const ROLLBACK = sql`ROLLBACK`;

/** Milliseconds between the first cancel request and the second. */
const FIRST_PAUSE = 50;

/** Class 01 of the server's codes. */
function isWarning(notice: unknown): boolean {
  const { code } = notice as { readonly code?: unknown };
  return typeof code === 'string' && code.startsWith('01');
}

function ignore(): void {
  // Nothing to do.
}
