import { FhirError } from '../../fhir/error.js';
import { assertNotAborted } from '../../store/guards.js';
import { type Sql, sql } from '../sql/sql.js';
import type { PostgresClient, PostgresPool } from './driver.js';
import { isBroken } from './errors.js';
import { toStatement } from './statements.js';

/** One result row: the values of its columns in order. */
export type Row = readonly unknown[];

/** A connection while it is ours. */
export interface Connection {
  /** Runs one statement. @throws whatever the driver throws; FhirError `aborted` where the signal ended it. */
  run(statement: Sql): Promise<readonly Row[]>;
  /** Runs the end of a transaction, whatever the signal says. Where that fails, the connection is given up. */
  end(statement: Sql): Promise<void>;
}

/** Connections of a pool: waited for within bounds, given back whatever happens, their statements ended by a signal. */
export class Connections {
  readonly #pool: PostgresPool;
  readonly #wait: number;

  /** @param wait longest wait for a connection, in milliseconds. */
  constructor(pool: PostgresPool, wait: number) {
    this.#pool = pool;
    this.#wait = wait;
    heed(pool);
  }

  /** Leaves the pool as it was. */
  close(): void {
    heedNoMore(this.#pool);
  }

  /** Runs one statement on a connection of its own. */
  run(statement: Sql, signal?: AbortSignal): Promise<readonly Row[]> {
    return this.use((connection) => connection.run(statement), signal);
  }

  /**
   * Lends a connection for some work.
   *
   * @throws FhirError `unavailable` - none became free in time.
   */
  async use<Result>(work: (connection: Connection) => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const client = await this.#acquire();
    client.on?.('error', ignore);
    let broken = false;
    const run = async (statement: Sql, until?: AbortSignal): Promise<readonly Row[]> => {
      try {
        return await this.#run(client, statement, until);
      } catch (error) {
        broken ||= isBroken(error);
        throw error;
      }
    };
    const end = async (statement: Sql): Promise<void> => {
      try {
        await run(statement);
      } catch (error) {
        broken = true;
        throw error;
      }
    };
    try {
      assertNotAborted({ signal });
      return await work({ run: (statement) => run(statement, signal), end });
    } finally {
      client.off?.('error', ignore);
      client.release(broken);
    }
  }

  async #acquire(): Promise<PostgresClient> {
    const connecting = this.#pool.connect();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(noConnection(this.#wait)), this.#wait);
    });
    try {
      return await Promise.race([connecting, late]);
    } catch (error) {
      // It may come after all.
      connecting.then((client) => client.release(), ignore);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  async #run(client: PostgresClient, statement: Sql, signal: AbortSignal | undefined): Promise<readonly Row[]> {
    if (signal === undefined) return (await client.query(toStatement(statement))).rows;
    assertNotAborted({ signal });
    let cancelling: Promise<void> | undefined;
    const cancel = (): void => void (cancelling = this.#cancel(client));
    signal.addEventListener('abort', cancel, { once: true });
    try {
      return (await client.query(toStatement(statement))).rows;
    } catch (error) {
      assertNotAborted({ signal });
      throw error;
    } finally {
      signal.removeEventListener('abort', cancel);
      // A cancellation still on its way would end whatever the connection does next.
      await cancelling;
    }
  }

  /** Asks the server, over another connection, to end what this one waits for. */
  async #cancel({ processID }: PostgresClient): Promise<void> {
    if (processID === undefined || processID === null) return;
    await this.run(sql`SELECT pg_cancel_backend(${processID})`).catch(ignore);
  }
}

/** How many heed the lost connections of a pool. */
const heeded = new WeakMap<PostgresPool, number>();

/** A connection lost while idle is noticed by the call that needs one; unheard, it would end the process. */
function heed(pool: PostgresPool): void {
  const count = heeded.get(pool) ?? 0;
  if (count === 0) pool.on?.('error', ignore);
  heeded.set(pool, count + 1);
}

function heedNoMore(pool: PostgresPool): void {
  const count = heeded.get(pool)! - 1;
  if (count === 0) pool.off?.('error', ignore);
  heeded.set(pool, count);
}

function noConnection(wait: number): FhirError {
  return new FhirError('unavailable', `No connection to PostgreSQL became free within ${wait} ms; try again`);
}

function ignore(): void {
  // Nothing to do.
}
