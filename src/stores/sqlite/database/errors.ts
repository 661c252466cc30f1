import { type ErrorCode, FhirError } from '../../../fhir/error.js';

/**
 * The error that callers of the store get for a fault of SQLite; a `FhirError` is returned as it is.
 *
 * SQLite's own message may name files and is kept as `cause` only. See https://www.sqlite.org/rescode.html.
 */
export function storeError(error: unknown): FhirError {
  if (error instanceof FhirError) return error;
  if (error instanceof RangeError) return tooDeep(error);
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  if (typeof code !== 'string' || !code.startsWith('SQLITE_')) {
    return new FhirError('internal', 'Internal error of the SQLite store', { cause: error });
  }
  if (code === 'SQLITE_ERROR' && LIMIT_MESSAGE.test(String(message))) return tooDeep(error);
  if (code === 'SQLITE_ERROR' && LOST_MESSAGE.test(String(message))) {
    return new FhirError('corrupt', 'The database lacks a table or column of the store', { cause: error });
  }
  if (code === 'SQLITE_ERROR' && DAMAGED_JSON.test(String(message))) {
    return new FhirError('corrupt', 'The database file is damaged', { cause: error });
  }
  const known = FAULTS.find(({ name }) => code === name || code.startsWith(`${name}_`));
  if (known === undefined) return new FhirError('internal', 'Internal error of the SQLite store', { cause: error });
  return new FhirError(known.as, known.message, { cause: error });
}

/** SQLite's static limits. See https://www.sqlite.org/limits.html. */
const LIMIT_MESSAGE =
  /expression tree is too large|parser stack overflow|too many (?:terms|SQL variables|columns)|at most \d+ tables in a join|too many levels/i;

/** Every file of this schema version has the tables that our statements use; if one is missing, the file is damaged. */
const LOST_MESSAGE = /^no such (?:table|column)|has no column named/;

/** The store writes the JSON in statements, so malformed JSON was read from the file. */
const DAMAGED_JSON = /^malformed JSON/;

const FAULTS: readonly { readonly name: string; readonly as: ErrorCode; readonly message: string }[] = [
  { name: 'SQLITE_BUSY', as: 'unavailable', message: 'The database is locked by another connection; try again' },
  { name: 'SQLITE_LOCKED', as: 'unavailable', message: 'The database is locked by another connection; try again' },
  { name: 'SQLITE_FULL', as: 'unavailable', message: 'The disk of the database is full' },
  { name: 'SQLITE_READONLY', as: 'unavailable', message: 'The database cannot be written' },
  { name: 'SQLITE_IOERR', as: 'unavailable', message: 'The database file could not be read or written' },
  { name: 'SQLITE_CANTOPEN', as: 'unavailable', message: 'The database file cannot be opened' },
  { name: 'SQLITE_PERM', as: 'unavailable', message: 'The database file cannot be opened for lack of permission' },
  { name: 'SQLITE_AUTH', as: 'unavailable', message: 'The database file cannot be opened for lack of permission' },
  { name: 'SQLITE_PROTOCOL', as: 'unavailable', message: 'The database is locked by another connection; try again' },
  { name: 'SQLITE_NOMEM', as: 'unavailable', message: 'SQLite ran out of memory' },
  { name: 'SQLITE_CORRUPT', as: 'corrupt', message: 'The database file is damaged' },
  { name: 'SQLITE_NOTADB', as: 'corrupt', message: 'The file is not an SQLite database' },
  { name: 'SQLITE_CONSTRAINT', as: 'conflict', message: 'The write contradicts what the database holds' },
  { name: 'SQLITE_TOOBIG', as: 'too-costly', message: 'A value is larger than SQLite can hold' },
];

function tooDeep(cause: unknown): FhirError {
  return new FhirError('too-costly', 'The search is too large or too deeply nested for SQLite; ask for less at once', {
    cause,
  });
}
