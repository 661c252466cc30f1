import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { parametersOf } from '../../search/criteria/parameters-of.js';
import type { ReferenceTarget } from '../../store/resource-key.js';
import type { SearchQuery } from '../../store/search-query.js';
import { registerChecksums } from './rows/checksum.js';
import { sqliteDialect } from './rows/dialect.js';
import { Commits } from './commit/commit.js';
import { Contents } from './rows/contents.js';
import { createDictionaries, type Dictionaries, forgetAll } from './rows/dictionary.js';
import type { OpenedFile } from './database/database-file.js';
import type { SqliteDatabase } from './database/driver.js';
import { type Guard, guardOf, registerGuard } from './database/guard.js';
import { IndexStatus } from './schema/index-status.js';
import { Maintenance } from './maintenance/maintenance.js';
import { Reads } from './search/reads.js';
import { Removal } from './maintenance/removal.js';
import { scrub } from './maintenance/scrub.js';
import { type KeyPage, Searches } from './search/search.js';
import { ConnectionSegments } from './segments/connection-segments.js';
import { Statements } from './database/statements.js';
import { registerTextTest } from './rows/text-test.js';
import { asOfNow } from './database/transaction.js';
import { ValueIndexes } from './schema/value-indexes.js';

/** The synchronous work on a connection to the store's file: the same in the event loop and in a thread. */
export class Connection {
  readonly database: SqliteDatabase;
  readonly statements: Statements;
  readonly dictionaries: Dictionaries;
  readonly guard: Guard;
  readonly contents: Contents;
  readonly reads: Reads;
  readonly searches: Searches;
  readonly status: IndexStatus;
  readonly commits: Commits;
  readonly maintenance: Maintenance;
  readonly removal: Removal;
  readonly valueIndexes: ValueIndexes;
  readonly segments: ConnectionSegments;
  /** True from a commit within the host's transaction until the first call after it: see {@link Connection.settle}. */
  isUnsettled = false;

  constructor(
    model: FhirModel,
    database: SqliteDatabase,
    {
      cacheBytes,
      clock,
      ownsFile,
      opened,
    }: {
      readonly cacheBytes: number;
      readonly clock: () => Date;
      readonly ownsFile: boolean;
      readonly opened?: OpenedFile | undefined;
    },
  ) {
    this.database = database;
    const statements = (this.statements = new Statements(database));
    const dictionaries = (this.dictionaries = createDictionaries(database, statements));
    const guard = (this.guard = guardOf(database));
    this.contents = new Contents(statements, cacheBytes, guard);
    this.reads = new Reads(statements, dictionaries, this.contents);
    const snapshot = <Result>(work: () => Result): Result => asOfNow(database, work);
    const status = (this.status = new IndexStatus(statements, model, dictionaries.frequentCodes, opened, () => {
      forgetAll(dictionaries);
      this.contents.forget();
      this.segments.forget();
    }));
    const dialect = sqliteDialect(model, dictionaries);
    const segments = (this.segments = new ConnectionSegments({ model, database, statements, dialect, status }, guard));
    this.searches = new Searches(model, statements, dictionaries, guard, snapshot, segments);
    const valueIndexes = (this.valueIndexes = new ValueIndexes(database, statements, ownsFile));
    this.commits = new Commits(
      model,
      database,
      statements,
      dictionaries,
      this.searches,
      this.status,
      guard,
      clock,
      valueIndexes,
      segments,
    );
    this.removal = new Removal(database, statements, dictionaries, this.status, guard);
    this.maintenance = new Maintenance(model, database, statements, dictionaries, this.status, segments);
  }

  /** Registers the SQL functions that our statements use. */
  static prepare(model: FhirModel, database: SqliteDatabase): void {
    registerTextTest(model, database);
    registerChecksums(database);
    registerGuard(database);
  }

  search(query: SearchQuery): KeyPage {
    return this.#whileSearchable(query, [], () => this.searches.search(query));
  }

  /** @param withTexts the number of texts to read with the page of a single target */
  searchByReference(
    query: SearchQuery,
    parameter: string,
    targets: readonly ReferenceTarget[],
    withTexts = 0,
  ): readonly KeyPage[] {
    const find = (): readonly KeyPage[] => this.searches.searchByReference(query, parameter, targets, withTexts);
    return this.#whileSearchable(query, [parameter], find);
  }

  /** Overwrites the remains of removed content. */
  scrub(): void {
    scrub(this.database, this.statements, this.status);
  }

  /** Clears the caches of the file, after a repair by another connection. */
  forget(): void {
    forgetAll(this.dictionaries);
    this.contents.forget();
    this.segments.forget();
    this.status.forget();
  }

  /**
   * Clears the caches, because the host may have rolled back what they hold, and then the keys that they are keyed by
   * are used again.
   */
  settle(): void {
    this.forget();
    this.valueIndexes.forget();
    this.isUnsettled = this.database.inTransaction;
  }

  /** Runs a search of which every parameter must be searchable throughout. */
  #whileSearchable<Result>(
    { project, type, criteria, sort }: SearchQuery,
    others: readonly string[],
    find: () => Result,
  ): Result {
    return this.status.whileSearchable(project, () => parametersOf(type, criteria, sort, others), find);
  }
}
