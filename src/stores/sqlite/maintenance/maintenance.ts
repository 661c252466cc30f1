import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { FhirError } from '../../../fhir/error.js';
import { indexEntries } from '../../../search/index/index-resource.js';
import { markEntries } from '../../sql/extremes.js';
import { currentResources } from '../rows/current-resources.js';
import { createDictionaries, type Dictionaries, forgetAll } from '../rows/dictionary.js';
import type { SqliteDatabase } from '../database/driver.js';
import { INDEX_TABLES } from '../../sql/index-tables.js';
import { IndexWriter } from '../rows/index-writer.js';
import { parseKept } from '../rows/kept-text.js';
import type { ReindexProgress } from '../../sql/reindex.js';
import type { IndexStatus } from '../schema/index-status.js';
import { endAllWork } from '../../sql/index-takeover.js';
import { onIndexOfFile } from '../rows/index-port.js';
import { assertNotOvertaken } from '../schema/prepare-schema.js';
import { FILL_PAST } from '../schema/migrations.js';
import type { ConnectionSegments } from '../segments/connection-segments.js';
import { removeAllSegments } from '../rows/segment-tables.js';
import type { Statements } from '../database/statements.js';
import { inTransaction } from '../database/transaction.js';
import { type Verification, verifyDatabase } from './verify.js';

/** Rebuilds and checks derived data. */
export class Maintenance {
  constructor(
    private readonly model: FhirModel,
    private readonly database: SqliteDatabase,
    private readonly statements: Statements,
    private readonly dictionaries: Dictionaries,
    private readonly status: IndexStatus,
    private readonly segments: ConnectionSegments,
  ) {}

  /** Rebuilds all index rows and SQLite's indexes, in one transaction. @returns the progress by project and type */
  reindex(): readonly ReindexProgress[] {
    const counts = new Map<string, ReindexProgress>();
    inTransaction(this.database, () => this.#reindex(counts));
    // Damaged tables may have given names other numbers.
    forgetAll(this.dictionaries);
    this.status.forget();
    return [...counts.values()];
  }

  verify(): Verification {
    return verifyDatabase(this.model, this.database, this.statements, this.status, this.segments);
  }

  #reindex(counts: Map<string, ReindexProgress>): void {
    assertNotOvertaken(this.statements, this.status);
    const indexes = this.#dropIndexes();
    // Without a condition SQLite drops the pages of a table and of its indexes without reading them.
    for (const table of [...INDEX_TABLES, 'past']) this.database.exec(`DELETE FROM ${table}`);
    removeAllSegments(this.statements);
    this.#remakeIndexes();
    this.database.exec(FILL_PAST);
    const dictionaries = createDictionaries(this.database, this.statements);
    const index = new IndexWriter(this.statements, dictionaries);
    for (const { project, type, collection, key, kept } of currentResources(this.statements)) {
      const marked = markEntries(indexEntries(this.model, parseKept(kept).resource));
      index.add({ project, collection, resource: key }, marked);
      const name = `${project}/${type}`;
      const done = (counts.get(name)?.done ?? 0) + 1;
      counts.set(name, { project, type, done, total: done });
    }
    index.flush();
    for (const { text } of indexes) this.database.exec(text);
    onIndexOfFile(this.statements, endAllWork());
  }

  /** Drops the indexes by value. An index created after its rows is sorted once. @returns their definitions */
  #dropIndexes(): readonly { readonly name: string; readonly text: string }[] {
    const rows = this.statements.read(INDEXES_BY_VALUE).all(JSON.stringify(INDEX_TABLES)) as [string, string][];
    for (const [name] of rows) this.database.exec(`DROP INDEX ${name}`);
    return rows.map(([name, text]) => ({ name, text }));
  }

  #remakeIndexes(): void {
    try {
      this.database.exec('REINDEX');
    } catch (cause) {
      const { code } = cause as { readonly code?: unknown };
      if (typeof code !== 'string' || !code.startsWith('SQLITE_CONSTRAINT')) throw cause;
      throw new FhirError('corrupt', 'The database holds duplicates of rows that must be unique; restore a backup', {
        cause,
      });
    }
  }
}

const INDEXES_BY_VALUE = `SELECT name, sql FROM sqlite_schema
  WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN (SELECT value FROM json_each(?)) ORDER BY rowid`;
