import { FhirError } from '../../../fhir/error.js';
import { assertNotAborted, callAborted } from '../../../store/guards.js';
import type { CallOptions } from '../../../store/call-options.js';
import { Sql, sql } from '../../sql/sql.js';
import { type Cancel, cancelOver } from './cancel.js';
import type { PostgresStoreConfig } from './config.js';
import type { PostgresClient, PostgresPool } from './driver.js';
import { type Connection, LentConnection, type Row } from './lent-connection.js';
import { PreparedStatements } from './prepared-statements.js';
import type { Run } from './run.js';
import { endsWhenSilent } from './silence.js';

/** The options for connections. Statements are not prepared by default. */
type ConnectionsConfig = Pick<PostgresStoreConfig, 'connectionWait' | 'cancelWait'> &
  Partial<Pick<PostgresStoreConfig, 'preparedStatements'>>;

/**
 * Borrows connections from a pool: waits are bounded, connections are always returned, and signals end statements.
 *
 * Work that holds a connection never waits for the pool.
 */
export class Connections {
  readonly #cancel: Cancel | undefined;
  readonly #connectionWait: number;
  readonly #cancelWait: number;
  readonly #prepared: PreparedStatements | undefined;

  constructor(
    private readonly pool: PostgresPool,
    config: ConnectionsConfig,
  ) {
    this.#prepared = config.preparedStatements === true ? new PreparedStatements() : undefined;
    this.#cancel = cancelOver(pool);
    this.#connectionWait = config.connectionWait;
    this.#cancelWait = config.cancelWait;
    subscribe(pool);
  }

  /** Removes the listeners from the pool, which stays open. */
  close(): void {
    unsubscribe(this.pool);
  }

  /** How many connections can be lent at a time. */
  get size(): number {
    return (this.pool.options as { readonly max?: number } | undefined)?.max ?? DEFAULT_SIZE;
  }

  /** Runs one statement on a connection of its own. */
  run(statement: Sql, signal?: AbortSignal): Promise<readonly Row[]> {
    return this.use((connection) => connection.runAlone(statement), signal);
  }

  /**
   * Lends a connection for some work.
   *
   * @throws FhirError `unavailable` - none became free in time.
   * @throws FhirError `aborted` - the signal fired before.
   */
  async use<Result>(work: (connection: Connection) => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const client = await this.#acquire(signal);
    const connection = this.#lent(client, signal);
    try {
      return await work(connection);
    } finally {
      connection.giveBack();
    }
  }

  /**
   * Lends a connection for reads that see one consistent state and read indexes in order.
   *
   * Without statistics of an index, the planner would read and sort a whole range of it, and compile statements
   * that look expensive. The result does not wait for the end of the transaction.
   *
   * The server itself ends a statement that runs past the deadline and `cancelWait`: the cancel request may be lost, or
   * this process may have died.
   *
   * @throws FhirError as {@link use}
   */
  async snapshot<Result>(work: (run: Run) => Promise<Result>, options: CallOptions = {}): Promise<Result> {
    const { signal, deadline } = options;
    const client = await this.#acquire(signal);
    const connection = this.#lent(client, signal);
    try {
      await connection.run(sql`${BEGIN_SNAPSHOT}; ${endsWhenSilent()}${this.#until(deadline)}`);
      return await work((statement) => connection.run(statement));
    } finally {
      void connection.rollBack().finally(() => connection.giveBack());
    }
  }

  #until(deadline = Infinity): Sql {
    const left = Math.max(0, deadline - performance.now()) + this.#cancelWait;
    return left >= MAX_TIMEOUT ? sql`` : sql`; SET LOCAL statement_timeout = ${whole(left)}`;
  }

  #lent(client: PostgresClient, signal: AbortSignal | undefined): LentConnection {
    const terms = { cancel: this.#cancel, cancelWait: this.#cancelWait, signal, prepared: this.#prepared };
    return new LentConnection(client, terms);
  }

  async #acquire(signal: AbortSignal | undefined): Promise<PostgresClient> {
    assertNotAborted({ signal });
    const connecting = this.pool.connect();
    const { promise: ended, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(noConnection(this.#connectionWait)), this.#connectionWait);
    const abort = (): void => reject(callAborted(signal));
    signal?.addEventListener('abort', abort, { once: true });
    try {
      return await Promise.race([connecting, ended]);
    } catch (error) {
      // The connection may still arrive later.
      connecting.then((client) => client.release(), ignore);
      throw error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }
}

const BEGIN_SNAPSHOT = sql`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL enable_seqscan = off;
  SET LOCAL enable_bitmapscan = off; SET LOCAL jit = off; SET LOCAL work_mem = '64MB'`;

/** The default of a Pool of `pg`. */
const DEFAULT_SIZE = 10;

/** The longest `statement_timeout`, in milliseconds. */
const MAX_TIMEOUT = 0x7fffffff;

/** `SET` takes no bound values. */
function whole(milliseconds: number): Sql {
  return new Sql(String(Math.ceil(milliseconds) + 1), []);
}

const subscribers = new WeakMap<PostgresPool, number>();

/** The next call notices a connection lost while idle; an unhandled `error` event would end the process. */
function subscribe(pool: PostgresPool): void {
  const count = subscribers.get(pool) ?? 0;
  if (count === 0) {
    pool.on?.('error', ignore);
    pool.on?.('connect', guard);
  }
  subscribers.set(pool, count + 1);
}

function unsubscribe(pool: PostgresPool): void {
  const count = subscribers.get(pool)! - 1;
  if (count === 0) {
    pool.off?.('error', ignore);
    pool.off?.('connect', guard);
  }
  subscribers.set(pool, count);
}

/** A connection lost between creation and hand-out would also end the process. Its first statement fails instead. */
function guard(client: PostgresClient): void {
  client.on?.('error', ignore);
}

function noConnection(wait: number): FhirError {
  return new FhirError('unavailable', `No connection to PostgreSQL became free within ${wait} ms; try again`);
}

function ignore(): void {
  // Nothing to do.
}
