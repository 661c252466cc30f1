/** The part of a `pg` Pool that the store uses. Any compatible object works. */
export interface PostgresPool {
  /** Acquires a connection for exclusive use until it is released. */
  connect(): Promise<PostgresClient>;
  /** Absent for pools that do not report new connections or lost idle ones. */
  readonly on?: PoolListening | undefined;
  readonly off?: PoolListening | undefined;
  /**
   * Makes a connection outside of the pool, over which a running statement is cancelled: the Client class of `pg`,
   * called with `options`. A wrapper around a Pool passes both on. Without it, an aborted statement keeps running, and
   * its connection is closed after `cancelWait`.
   */
  readonly Client?: (new (options: never) => object) | undefined;
  /** The options with which the pool creates its connections. */
  readonly options?: object | undefined;
}

/** How a pool reports new connections and lost idle ones. */
export interface PoolListening {
  (event: 'error', listener: (error: Error) => void): unknown;
  (event: 'connect', listener: (client: PostgresClient) => void): unknown;
}

/** The part of a `pg` PoolClient that the store uses. */
export interface PostgresClient {
  /** Rows come as arrays, their values as the driver reads them. */
  query(statement: PostgresStatement): Promise<PostgresAnswer>;
  /** @param broken the connection must not be used again; it is closed even while a statement runs. */
  release(broken?: boolean): void;
  /** The server's process behind the connection. Without it and {@link secretKey} no statement is cancelled. */
  readonly processID?: number | null | undefined;
  /** The key that the server requires to cancel a statement of that process. */
  readonly secretKey?: number | null | undefined;
  /**
   * Holds the socket as `stream`; cancel requests go to its remote address. The connection of `pg` also sends the rows
   * of COPY, with which bulk commits write (see {@link script}), and keeps statements prepared.
   */
  readonly connection?: object | undefined;
  /**
   * Runs statements one after the other, within the transaction that the first of them begins. Without it, and without the
   * {@link connection} of `pg`, bulk commits write by arrays, which takes about twice the CPU time.
   */
  script?(statements: readonly PostgresScriptStatement[]): Promise<void>;
  on?(event: 'error' | 'notice', listener: (error: Error) => void): unknown;
  off?(event: 'error' | 'notice', listener: (error: Error) => void): unknown;
}

/** A statement with its values, as `pg` takes it. */
export interface PostgresStatement {
  /** With `$1`, `$2` … for the values. */
  text: string;
  values: (string | number | null)[];
  rowMode: 'array';
  /** The connection keeps it prepared under this name. Only for clients with the {@link PostgresClient.connection} of `pg`. */
  name?: string | undefined;
}

/** A statement without values. */
export interface PostgresScriptStatement {
  readonly text: string;
  /** For `COPY … FROM STDIN`: the rows in its text format, in pieces of whole lines. */
  readonly rows?: Iterable<string> | undefined;
}

/** The answer to a statement, as `pg` returns it. */
export interface PostgresAnswer {
  readonly rows: readonly (readonly unknown[])[];
}
