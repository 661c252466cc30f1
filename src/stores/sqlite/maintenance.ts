import { FhirError } from '../../fhir/error.js';
import { indexEntries } from '../../search/index/index-resource.js';
import { currentResources } from './current-resources.js';
import { createDictionaries, type Dictionaries, forgetAll } from './dictionary.js';
import type { SqliteDatabase } from './driver.js';
import { INDEX_TABLES } from '../sql/index-tables.js';
import { IndexWriter } from './index-writer.js';
import { parseKept } from './kept-text.js';
import { assertNotOvertaken, indexVersion } from './prepare-schema.js';
import { INDEX_VERSION } from './schema.js';
import type { Statements } from './statements.js';
import { inTransaction } from './transaction.js';
import { type Verification, verifyDatabase } from './verify.js';

/** Rebuilds and checks what is derived. */
export class Maintenance {
  readonly #database: SqliteDatabase;
  readonly #statements: Statements;
  readonly #dictionaries: Dictionaries;

  constructor(database: SqliteDatabase, statements: Statements, dictionaries: Dictionaries) {
    this.#database = database;
    this.#statements = statements;
    this.#dictionaries = dictionaries;
  }

  /** Indexes everything anew if the file was written by an older extraction. @throws FhirError `unavailable` - by a newer */
  reindexIfOld(): void {
    if (indexVersion(this.#statements) < INDEX_VERSION) this.reindex();
  }

  /** Makes all index rows and SQLite's indexes anew, in one transaction. @returns how many resources were indexed */
  reindex(): number {
    const count = inTransaction(this.#database, () => this.#reindex());
    // Numbers of names may have changed where their tables were damaged.
    forgetAll(this.#dictionaries);
    return count;
  }

  verify(): Verification {
    return verifyDatabase(this.#database, this.#statements);
  }

  #reindex(): number {
    assertNotOvertaken(this.#statements);
    // Without a condition SQLite drops the pages of a table and of its indexes, whatever is in them.
    for (const table of INDEX_TABLES) this.#database.exec(`DELETE FROM ${table}`);
    this.#remakeIndexes();
    const index = new IndexWriter(this.#statements, createDictionaries(this.#database, this.#statements));
    let count = 0;
    for (const { project, collection, key, kept } of currentResources(this.#statements)) {
      index.add({ project, collection, resource: key }, indexEntries(parseKept(kept).resource));
      count++;
    }
    index.flush();
    this.#statements
      .write("INSERT OR REPLACE INTO meta (name, value) VALUES ('index_version', ?)")
      .run(String(INDEX_VERSION));
    return count;
  }

  #remakeIndexes(): void {
    try {
      this.#database.exec('REINDEX');
    } catch (cause) {
      const { code } = cause as { readonly code?: unknown };
      if (typeof code !== 'string' || !code.startsWith('SQLITE_CONSTRAINT')) throw cause;
      throw new FhirError('corrupt', 'The database holds rows twice that must be unique; restore a backup', { cause });
    }
  }
}
