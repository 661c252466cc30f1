import { FhirError } from '../../../fhir/error.js';
import { isTakeoverDue, takeOver } from '../../sql/index-takeover.js';
import { emptyDatabase, newerSchema, type Opening, outdated } from '../../sql/opening.js';
import type { SqliteDatabase } from '../database/driver.js';
import { ADD_FEED_SECRET, MIGRATIONS, PREVIEW_OF_3 } from './migrations.js';
import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import type { IndexStatus } from './index-status.js';
import { APPLICATION_ID, SCHEMA } from './schema.js';
import type { Statements } from '../database/statements.js';
import { inTransaction } from '../database/transaction.js';
import { onIndexOfFile } from '../rows/index-port.js';
import { CREATE_VALUE_INDEXES } from './value-indexes.js';

/** The schema version, kept in `PRAGMA user_version`. */
export const SCHEMA_VERSION = 1 + MIGRATIONS.length;

/**
 * Creates the tables of a new file, or migrates those of an older one, atomically.
 *
 * @throws FhirError `unavailable` - a newer version of this library wrote the file.
 * @throws FhirError `conflict` - the file belongs to another application.
 * @throws FhirError `corrupt` - the file was a store, but its tables are missing.
 */
export function prepareSchema(database: SqliteDatabase, statements: Statements, model: FhirModel): void {
  if (checkedVersion(database) === SCHEMA_VERSION) return;
  // Another process may be at the same point: the first to get the lock does the work.
  database.exec('BEGIN IMMEDIATE');
  try {
    const version = checkedVersion(database);
    if (version === 0) create(database, statements, model);
    else {
      if (version === PREVIEW_VERSION) PREVIEW_OF_3(database);
      for (const migrate of MIGRATIONS.slice(Math.ceil(version) - 1)) migrate(database);
    }
    database.pragma(`user_version = ${SCHEMA_VERSION}`);
    database.exec('COMMIT');
  } catch (error) {
    if (database.inTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/**
 * Takes a file over for these definitions, in a transaction of its own: for its owner, and for a user if nothing was ever
 * written to it.
 *
 * @throws FhirError `unavailable` - a newer version of this library has the file
 */
export function takeFileOver(
  database: SqliteDatabase,
  statements: Statements,
  model: FhirModel,
  opening: Opening,
): void {
  const isDue = (): boolean => onIndexOfFile(statements, isTakeoverDue(model, opening === 'user'));
  if (!isDue() || opening === 'reader') return;
  inTransaction(database, () => {
    // Another process may have taken the file over, or written to it, first.
    if (isDue()) onIndexOfFile(statements, takeOver(model, false));
  });
}

/**
 * Checks a file before changing anything in it.
 *
 * @throws FhirError `unavailable` - an older version of this library wrote the file, and the store is not its owner; or
 * the file is empty, and the store only reads. Otherwise as {@link prepareSchema}
 */
export function assertOpenable(database: SqliteDatabase, opening: Opening): void {
  const version = checkedVersion(database);
  if (version === 0 && opening === 'reader') throw emptyDatabase();
  if (version !== 0 && version !== SCHEMA_VERSION && opening !== 'owner') throw outdated(nameOf(version));
}

/**
 * Refuses a write to a file that a newer version of this library, or a process with other definitions, has taken over
 * since it was opened: the new owner's searches would miss rows in the old form.
 *
 * @throws FhirError `unavailable`
 */
export function assertNotOvertaken(statements: Statements, status: IndexStatus): void {
  const [version] = statements.read('PRAGMA user_version').get() as [number];
  if (version !== SCHEMA_VERSION) throw newerSchema(version, SCHEMA_VERSION);
  status.assertOurs();
}

function create(database: SqliteDatabase, statements: Statements, model: FhirModel): void {
  database.exec(SCHEMA);
  database.exec(ADD_FEED_SECRET);
  database.exec(CREATE_VALUE_INDEXES);
  onIndexOfFile(statements, takeOver(model, true));
  database.pragma(`application_id = ${APPLICATION_ID}`);
}

/** The schema version of the file; 0 for an empty one, {@link PREVIEW_VERSION} for one of a preview. */
function checkedVersion(database: SqliteDatabase): number {
  // A database of the host may return big integers.
  const state = (database.prepare(STATE).raw(true).get() as unknown[]).map(Number) as Numbers;
  const [version, application, tables, zones] = state;
  if (tables === 0 && application === APPLICATION_ID)
    throw new FhirError('corrupt', 'The database has lost its tables');
  if (tables === 0) return 0;
  if (application !== APPLICATION_ID || version < 1) {
    throw new FhirError('conflict', 'The SQLite database belongs to another application; name a file of its own');
  }
  if (version > SCHEMA_VERSION) throw newerSchema(version, SCHEMA_VERSION);
  return version === 3 && zones > 0 ? PREVIEW_VERSION : version;
}

/** A preview of schema version 3: see {@link PREVIEW_OF_3}. */
const PREVIEW_VERSION = 2.5;

function nameOf(version: number): string {
  return version === PREVIEW_VERSION ? 'the tables of a preview of schema version 3' : `schema version ${version}`;
}

type Numbers = [version: number, application: number, tables: number, zones: number];

/** One statement reads one state: another process may create the tables between two. */
const STATE = `SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema WHERE type = 'table'),
    (SELECT count(*) FROM sqlite_schema WHERE name = 'zone') AND NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'skip')
  FROM pragma_user_version, pragma_application_id`;
