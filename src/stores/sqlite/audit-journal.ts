import { FhirError } from '../../fhir/error.js';
import { assertWholeNumber } from '../../fhir/whole-number.js';
import { assertDatabaseFile, isFile, withPath } from './database/database-file.js';
import { openDatabase, type SqliteDatabase, type SqliteStatement } from './database/driver.js';
import { storeError } from './database/errors.js';

/** How a `SqliteAuditJournal` behaves. */
export interface SqliteAuditJournalOptions {
  /**
   * How durable an append is (`PRAGMA synchronous`). Default `full`: appended events survive a power cut. `normal`:
   * they survive the end of the process, but a power cut may lose the last ones.
   */
  readonly synchronous?: 'full' | 'normal' | undefined;
  /** Maximum number of events that wait for the store; further events are refused. Default 1,000,000, about 2 GB. */
  readonly maxEntries?: number | undefined;
}

/**
 * A journal for `createAuditLog`, in a SQLite file of its own. Only one process can have it open: give each process of
 * a host its own file, and the same file after a restart, so that it delivers the events that the previous process
 * left.
 *
 * @example
 * const journal = new SqliteAuditJournal('audit-journal.db', { synchronous: 'normal' });
 * const log = createAuditLog({ store, journal });
 */
export class SqliteAuditJournal {
  /** True with `normal`: appends do not wait for the disk, so the log does not batch records. */
  readonly isImmediate: boolean;
  readonly #database: SqliteDatabase;
  readonly #insert: SqliteStatement;
  readonly #select: SqliteStatement;
  readonly #delete: SqliteStatement;
  readonly #maxEntries: number;
  #count: number;

  /**
   * @param file the name of the file; a missing file is created
   * @throws FhirError `invalid` - an option is invalid, or the name is that of a database in memory
   * @throws FhirError `conflict` - the file is a database of another application
   * @throws FhirError `unavailable` - another process has the journal open, or the file cannot be opened
   */
  constructor(file: string, { synchronous = 'full', maxEntries = 1_000_000 }: SqliteAuditJournalOptions = {}) {
    assertWholeNumber('maxEntries', maxEntries, 1);
    if (synchronous !== 'full' && synchronous !== 'normal') {
      throw new FhirError('invalid', `synchronous must be full or normal, not ${String(synchronous)}`);
    }
    if (!isFile(file)) throw new FhirError('invalid', 'The journal of the audit log needs a file');
    assertDatabaseFile(file);
    let database: SqliteDatabase | undefined;
    try {
      database = openDatabase(file, { timeout: LOCK_MS });
      prepare(database, synchronous);
      this.#insert = database.prepare('INSERT INTO entry (text) VALUES (?)');
      this.#select = database.prepare('SELECT text FROM entry ORDER BY key LIMIT ?').pluck();
      this.#delete = database.prepare('DELETE FROM entry WHERE key IN (SELECT key FROM entry ORDER BY key LIMIT ?)');
      this.#count = database.prepare('SELECT count(*) FROM entry').pluck().get() as number;
    } catch (error) {
      database?.close();
      throw withPath(storeError(error), file);
    }
    this.#database = database;
    this.#maxEntries = maxEntries;
    this.isImmediate = synchronous === 'normal';
  }

  /**
   * Appends texts, all or none.
   *
   * @throws FhirError `unavailable` - the journal or its disk is full, or it is closed
   */
  append(texts: readonly string[]): void {
    if (this.#count + texts.length > this.#maxEntries) {
      throw new FhirError('unavailable', 'The journal of the audit log is full');
    }
    this.#answer(() => {
      // PERF (scale): a statement outside a transaction is its own transaction.
      if (texts.length === 1) return this.#insert.run(texts[0]!);
      this.#database.exec('BEGIN IMMEDIATE');
      try {
        for (const text of texts) this.#insert.run(text);
        this.#database.exec('COMMIT');
      } catch (error) {
        if (this.#database.inTransaction) this.#database.exec('ROLLBACK');
        throw error;
      }
    });
    this.#count += texts.length;
  }

  /** The oldest texts, in the order in which they were appended. */
  oldest(limit: number): readonly string[] {
    return this.#answer(() => this.#select.all(limit) as string[]);
  }

  /** Removes the oldest texts. */
  drop(count: number): void {
    this.#count -= this.#answer(() => this.#delete.run(count)).changes;
  }

  /** Closes the file. Its events stay. Closing twice is allowed. */
  close(): void {
    this.#database.close();
  }

  #answer<Result>(work: () => Result): Result {
    if (!this.#database.open) throw new FhirError('unavailable', 'The journal of the audit log is closed');
    try {
      return work();
    } catch (error) {
      throw storeError(error);
    }
  }
}

/** How long opening waits for a process that is closing the file, in milliseconds. */
const LOCK_MS = 100;
/** Marks the file, so that no other database is mistaken for a journal. */
const APPLICATION = 0x4647414a;

function prepare(database: SqliteDatabase, synchronous: 'full' | 'normal'): void {
  database.pragma('locking_mode = EXCLUSIVE');
  const application = database.pragma('application_id', { simple: true });
  const tables = database.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() as number;
  if (application !== APPLICATION && (application !== 0 || tables > 0)) {
    throw new FhirError('conflict', 'The file is a database of another application, not the journal of an audit log');
  }
  database.pragma('journal_mode = WAL');
  database.pragma(`synchronous = ${synchronous}`);
  // The first write takes the lock, and the connection keeps it.
  database.exec('BEGIN IMMEDIATE');
  database.exec('CREATE TABLE IF NOT EXISTS entry (key INTEGER PRIMARY KEY, text TEXT NOT NULL)');
  database.pragma(`application_id = ${APPLICATION}`);
  database.exec('COMMIT');
}
