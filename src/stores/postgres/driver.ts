/** The part of a `pg` Pool that the store uses. Anything that has it serves. */
export interface PostgresPool {
  /** A connection that is nobody else's until it is released. */
  connect(): Promise<PostgresClient>;
  /** Left out by pools that never tell of lost idle connections. */
  on?(event: 'error', listener: (error: Error) => void): unknown;
  off?(event: 'error', listener: (error: Error) => void): unknown;
}

/** The part of a `pg` PoolClient that the store uses. */
export interface PostgresClient {
  /** Rows come as arrays, their values as the driver reads them. */
  query(statement: PostgresStatement): Promise<PostgresAnswer>;
  /** @param broken the connection must not be used again. */
  release(broken?: boolean): void;
  /** The server's process behind the connection, for ending its statement. Left out where there is none. */
  readonly processID?: number | null;
  on?(event: 'error', listener: (error: Error) => void): unknown;
  off?(event: 'error', listener: (error: Error) => void): unknown;
}

export interface PostgresStatement {
  /** With `$1`, `$2` … for the values. */
  text: string;
  values: (string | number | null)[];
  rowMode: 'array';
}

export interface PostgresAnswer {
  readonly rows: readonly (readonly unknown[])[];
}
