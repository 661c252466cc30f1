import type { Sql } from '../../sql/sql.js';
import type { Row } from './lent-connection.js';

/** Runs statements; concurrent calls run in parallel, unless they share a connection. */
export type Run = (statement: Sql) => Promise<readonly Row[]>;

/** Runs statements: a connection, or a pool for independent statements. */
export interface Runner {
  readonly run: Run;
}

/** Runs the statements of searches. */
export interface Reader extends Runner {
  /** Runs several statements, one after the other, that see one consistent state and read indexes in order. */
  snapshot<Result>(work: (run: Run) => Promise<Result>): Promise<Result>;
}
