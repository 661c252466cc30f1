import { type ErrorCode, FhirError } from '../../../fhir/error.js';
import { type Sql, sql } from '../../sql/sql.js';

/**
 * Maps an error of PostgreSQL or of the connection to a `FhirError`; existing `FhirError`s pass unchanged.
 *
 * The server's own message may hold values and is kept as `cause` only.
 * See https://www.postgresql.org/docs/current/errcodes-appendix.html.
 */
export function storeError(error: unknown): FhirError {
  if (error instanceof FhirError) return error;
  // The value is nested deeper than a recursion here can follow.
  if (error instanceof RangeError) return new FhirError('too-costly', TOO_LARGE, { cause: error });
  const state = sqlState(error);
  if (state === undefined) {
    if (isProgrammingError(error)) return new FhirError('internal', INTERNAL, { cause: error });
    return new FhirError('unavailable', 'The connection to PostgreSQL was lost or could not be made', { cause: error });
  }
  const known = FAULTS.find(([start]) => state.startsWith(start));
  return known === undefined
    ? new FhirError('internal', `${INTERNAL} (SQLSTATE ${state})`, { cause: error })
    : new FhirError(known[1], known[2], { cause: error });
}

/** True if a retry of the transaction may succeed. */
export function isRetryable(error: unknown): boolean {
  const state = sqlState(error);
  return state !== undefined && RETRYABLE.has(state);
}

/** Selects a value if the condition holds; otherwise the whole statement fails and can be retried. */
export function rollbackUnless(condition: Sql): Sql {
  return sql`1 / CASE WHEN ${condition} THEN 1 ELSE 0 END`;
}

/** True if the condition of {@link rollbackUnless} did not hold: division_by_zero. */
export function isRolledBack(error: unknown): boolean {
  return sqlState(error) === '22012';
}

/** True if the connection is no longer usable. */
export function isBroken(error: unknown): boolean {
  if (error instanceof FhirError) return false;
  const state = sqlState(error);
  return state === undefined ? !isProgrammingError(error) : /^(?:08|57P|F0)/.test(state) || SESSION_ENDED.test(state);
}

/**
 * True if the statement had no effect: the server rejected it, or it was never sent. After a lost connection, or an
 * error that ends the connection, the outcome of a pending statement is unknown.
 */
export function isDefinite(error: unknown): boolean {
  if (error instanceof FhirError || isProgrammingError(error)) return true;
  const state = sqlState(error);
  if (state !== undefined && SESSION_ENDED.test(state)) return true;
  return state !== undefined && !isBroken(error) && state !== STATEMENT_COMPLETION_UNKNOWN;
}

/** The server's code for an error that it reported; undefined for connection errors. */
export function sqlState(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { code, severity } = error as { readonly code?: unknown; readonly severity?: unknown };
  return typeof severity === 'string' && typeof code === 'string' ? code : undefined;
}

/**
 * serialization_failure, deadlock_detected, unique_violation (the retry sees the other writer), and division_by_zero,
 * by which a statement rolls itself back: see {@link rollbackUnless}.
 */
const RETRYABLE: ReadonlySet<string> = new Set(['40001', '40P01', '23505', '22012']);

/** idle_in_transaction_session_timeout and transaction_timeout: the server rolled the transaction back and ended the session. */
const SESSION_ENDED = /^25P0[34]$/;

const STATEMENT_COMPLETION_UNKNOWN = '40003';

const INTERNAL = 'Internal error of the PostgreSQL store';
const OVERTAKEN = 'Other commits kept changing the same resources; try again';
const TOO_LARGE = 'The search is too large or too deeply nested for PostgreSQL; ask for less at once';
const ENDED = 'PostgreSQL ended the session, as its transaction was idle or took too long; try again';
const UNREACHABLE = 'PostgreSQL is not available now';

/** Faults by code prefix; the first match applies. */
const FAULTS: readonly (readonly [start: string, code: ErrorCode, message: string])[] = [
  ['40', 'conflict', OVERTAKEN],
  ['23505', 'conflict', OVERTAKEN],
  ['22012', 'conflict', OVERTAKEN],
  ['55P03', 'unavailable', 'The database is locked by another connection; try again'],
  ['42P07', 'conflict', 'The schema of PostgreSQL belongs to another application; name one of its own in search_path'],
  ['42P01', 'corrupt', 'The schema lacks a table of the store: it was dropped, or search_path names another schema'],
  ['22P02', 'invalid', 'A position of the search does not fit its sort'],
  ['22003', 'invalid', 'A number of the search is out of range'],
  ['57014', 'unavailable', 'PostgreSQL ended the statement, as it took too long'],
  ['54', 'too-costly', TOO_LARGE],
  ['XX001', 'corrupt', 'The database is damaged'],
  ['XX002', 'corrupt', 'The database is damaged'],
  ['08', 'unavailable', UNREACHABLE],
  ['25P03', 'unavailable', ENDED],
  ['25P04', 'unavailable', ENDED],
  ['25006', 'unavailable', 'PostgreSQL takes no writes now'],
  ['28', 'unavailable', 'PostgreSQL refused the connection'],
  ['3D', 'unavailable', 'There is no such database'],
  ['3F', 'unavailable', 'There is no schema of the search_path'],
  ['42501', 'unavailable', 'PostgreSQL refused the access'],
  ['53', 'unavailable', 'PostgreSQL is out of connections, memory or disk space'],
  ['57P', 'unavailable', UNREACHABLE],
  ['58', 'unavailable', UNREACHABLE],
];

/** Bugs in this code rather than lost connections. */
function isProgrammingError(error: unknown): boolean {
  return error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError;
}
