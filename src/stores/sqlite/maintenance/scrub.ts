import { FhirError } from '../../../fhir/error.js';
import type { SqliteDatabase } from '../database/driver.js';
import type { IndexStatus } from '../schema/index-status.js';
import { assertNotOvertaken } from '../schema/prepare-schema.js';
import { removeUnusedCodes } from '../rows/frequent-codes.js';
import { noteRemoval } from '../rows/removal-epoch.js';
import type { Statements } from '../database/statements.js';
import { inTransaction, untilUnlocked } from '../database/transaction.js';

/**
 * Overwrites the remains of removed content in the file and its log.
 *
 * `secure_delete` is not enough, because SQLite leaves a copy when it moves a cell to another page. Only VACUUM, which
 * rewrites the whole file, leaves nothing; then a checkpoint truncates the log.
 *
 * @throws FhirError `unavailable` - another connection reads an old state, or holds the lock
 */
export function scrub(database: SqliteDatabase, statements: Statements, status: IndexStatus): void {
  if (database.inTransaction) {
    throw new FhirError('unavailable', "The host's connection has a transaction open; it must end first");
  }
  try {
    inTransaction(database, () => {
      assertNotOvertaken(statements, status);
      noteRemoval(database, statements);
      for (const text of FORGET_NAMES) statements.write(text).run();
      removeUnusedCodes(statements);
      database.exec(DROP_ZONES);
      // Samples of indexed values, which exist if the host had SQLite gather statistics.
      if (statements.read(HAS_SAMPLES).get() !== undefined) database.exec('DELETE FROM sqlite_stat4');
    });
  } finally {
    status.forgetRemovals();
  }
  untilUnlocked(database, () => database.exec('VACUUM'));
  untilUnlocked(database, () => {
    const [row] = database.pragma('wal_checkpoint(TRUNCATE)') as readonly { readonly busy: number | bigint }[];
    if (row !== undefined && Number(row.busy) !== 0) throw logInUse();
  });
}

/** An error that counts as a lock: see `isBusy`. */
function logInUse(): Error {
  return Object.assign(new Error('The log is in use'), { code: 'SQLITE_BUSY' });
}

/** Removes names that are no longer used: targets of references, systems of codes. */
const FORGET_NAMES = [
  'DELETE FROM resource WHERE version = 0 AND key NOT IN (SELECT target FROM reference)',
  `DELETE FROM system WHERE key NOT IN
    (SELECT system FROM token UNION SELECT system FROM quantity WHERE system IS NOT NULL)`,
] as const;

/** Previews of schema version 3 kept dates and numbers of resources in this table. Nothing reads it anymore. */
const DROP_ZONES = 'DROP TABLE IF EXISTS zone';

const HAS_SAMPLES = "SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat4'";
