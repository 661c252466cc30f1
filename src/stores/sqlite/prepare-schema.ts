import { FhirError } from '../../fhir/error.js';
import type { SqliteDatabase } from './driver.js';
import { MIGRATIONS } from './migrations.js';
import { APPLICATION_ID, INDEX_VERSION, SCHEMA } from './schema.js';
import type { Statements } from './statements.js';

/** The form of the tables, kept in `PRAGMA user_version`. */
export const SCHEMA_VERSION = 1 + MIGRATIONS.length;

/**
 * Makes the tables in a new file, or brings those of an older one to the present form: whole or not at all.
 *
 * @throws FhirError `unavailable` - a newer version of this library wrote the file.
 * @throws FhirError `conflict` - the file belongs to another application.
 * @throws FhirError `corrupt` - a store was there, and its tables are not.
 */
export function prepareSchema(database: SqliteDatabase): void {
  if (checkedVersion(database) === SCHEMA_VERSION) return;
  // Another process may be at the same point: whoever gets the lock first does the work.
  database.exec('BEGIN IMMEDIATE');
  try {
    const version = checkedVersion(database);
    if (version === 0) create(database);
    else for (const migrate of MIGRATIONS.slice(version - 1)) migrate(database);
    database.pragma(`user_version = ${SCHEMA_VERSION}`);
    database.exec('COMMIT');
  } catch (error) {
    if (database.inTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/**
 * Looks at a file before anything in it is changed.
 *
 * @throws as {@link prepareSchema}
 */
export function assertOwnDatabase(database: SqliteDatabase): void {
  checkedVersion(database);
}

/** The extraction that indexed the file. @throws FhirError `unavailable` - a newer one than ours */
export function indexVersion(statements: Statements): number {
  const row = statements.read(READ_INDEX_VERSION).get() as [string] | undefined;
  const version = Number(row?.[0] ?? 0);
  if (version > INDEX_VERSION) throw newer('index', version, INDEX_VERSION);
  return version;
}

/**
 * Ends a write to a file that a newer version of this library has taken over since it was opened: rows in the old form
 * would be missed by its searches.
 *
 * @throws FhirError `unavailable`
 */
export function assertNotOvertaken(statements: Statements): void {
  const [version] = statements.read('PRAGMA user_version').get() as [number];
  if (version !== SCHEMA_VERSION) throw newer('schema', version, SCHEMA_VERSION);
  indexVersion(statements);
}

function create(database: SqliteDatabase): void {
  database.exec(SCHEMA);
  database.prepare("INSERT INTO meta (name, value) VALUES ('index_version', ?)").run(String(INDEX_VERSION));
  database.pragma(`application_id = ${APPLICATION_ID}`);
}

/** The schema version of the file; 0 for an empty one. */
function checkedVersion(database: SqliteDatabase): number {
  // A host's database may be set to hand out big integers.
  const version = Number(database.pragma('user_version', { simple: true }));
  const application = Number(database.pragma('application_id', { simple: true }));
  const tables = Number(database.prepare(COUNT_TABLES).pluck(true).get());
  if (tables === 0 && application === APPLICATION_ID)
    throw new FhirError('corrupt', 'The database has lost its tables');
  if (tables === 0) return 0;
  if (application !== APPLICATION_ID || version < 1) {
    throw new FhirError('conflict', 'The SQLite database belongs to another application; name a file of its own');
  }
  if (version > SCHEMA_VERSION) throw newer('schema', version, SCHEMA_VERSION);
  return version;
}

function newer(what: 'schema' | 'index', version: number, known: number): FhirError {
  const message = `The database has ${what} version ${version}, written by a newer fhirgraph; this one knows up to ${known}`;
  return new FhirError('unavailable', message);
}

const COUNT_TABLES = "SELECT count(*) FROM sqlite_schema WHERE type = 'table'";
const READ_INDEX_VERSION = "SELECT value FROM meta WHERE name = 'index_version'";
