import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  CallOptions,
  Change,
  HistoryPage,
  ReadResult,
  ReferenceTarget,
  ResourceKey,
  ResourceStore,
  SearchPage,
  SearchQuery,
  StatementPlan,
  StoreCall,
  Write,
  WriteResult,
} from '../../store/store.js';
import type { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { parametersOf, type TypeParameter } from '../../search/criteria/parameters-of.js';
import { ChangeFeed } from '../../store/change-feed.js';
import { assertFewResources, assertNotAborted, storeClosed } from '../../store/guards.js';
import { registerChecksums } from './checksum.js';
import { Commits } from './commit.js';
import { resolveConfig, type SqliteStoreConfig, type SqliteStoreOptions } from './config.js';
import { Contents } from './contents.js';
import { assertDatabaseFile, withPath } from './database-file.js';
import { createDictionaries } from './dictionary.js';
import { openDatabase, type SqliteDatabase } from './driver.js';
import { storeError } from './errors.js';
import { explainCall } from './explain.js';
import { type Guard, guardOf, registerGuard } from './guard.js';
import { IndexStatus } from './index-status.js';
import { takeOver } from './index-takeover.js';
import { IndexWork } from './index-work.js';
import { Maintenance } from './maintenance.js';
import { Reads } from './reads.js';
import { assertOwnDatabase, prepareSchema } from './prepare-schema.js';
import { type KeyPage, Searches } from './search.js';
import type { ReindexOptions } from '../sql/reindex.js';
import { Reindexing } from './reindexing.js';
import { Statements } from './statements.js';
import { registerTextTest } from './text-test.js';
import { asOfNow } from './transaction.js';
import type { Verification } from './verify.js';

/**
 * A store in one SQLite file, for any number of connections and processes.
 *
 * SQLite answers in the calling thread: a promise of this store is settled when it is returned. Commits are durable
 * (`synchronous=FULL`, write-ahead log) unless the options say otherwise.
 *
 * @example
 * const store = new SqliteStore('clinic.db');
 */
export class SqliteStore implements ResourceStore {
  readonly model: FhirModel;
  readonly maxResourceBytes: number;
  readonly #database: SqliteDatabase;
  readonly #ownsDatabase: boolean;
  readonly #feed = new ChangeFeed();
  readonly #contents: Contents;
  readonly #guard: Guard;
  readonly #reads: Reads;
  readonly #searches: Searches;
  readonly #commits: Commits;
  readonly #maintenance: Maintenance;
  readonly #statements: Statements;
  readonly #status: IndexStatus;
  readonly #reindexing: Reindexing;
  #closed = false;

  /**
   * @param database a file name (made if need be; `:memory:` for a store that lives with this object) or an open
   * better-sqlite3 database, which stays open when the store closes. The database holds nothing but the store.
   * @throws FhirError `invalid` - the name is empty.
   * @throws FhirError `unavailable` - better-sqlite3 is missing, the file cannot be opened, or a newer version wrote it.
   * @throws FhirError `corrupt` - the file is no SQLite database.
   * @throws FhirError `conflict` - the database belongs to another application.
   * Their messages end with the path, which is `details.path`.
   */
  constructor(database: string | SqliteDatabase, options: SqliteStoreOptions = {}) {
    const config = resolveConfig(options);
    this.model = config.model;
    this.maxResourceBytes = config.maxResourceBytes;
    this.#ownsDatabase = typeof database === 'string';
    const fault = (error: unknown): FhirError =>
      typeof database === 'string' ? withPath(storeError(error), database) : storeError(error);
    try {
      if (typeof database === 'string') assertDatabaseFile(database);
      this.#database = typeof database === 'string' ? openDatabase(database, config.busyTimeout) : database;
    } catch (error) {
      throw fault(error);
    }
    this.#statements = new Statements(this.#database);
    const dictionaries = createDictionaries(this.#database, this.#statements);
    this.#guard = guardOf(this.#database);
    this.#contents = new Contents(this.#statements, config.cacheBytes, this.#guard);
    this.#reads = new Reads(this.#statements, dictionaries, this.#contents);
    this.#searches = new Searches(config.model, this.#statements, dictionaries, this.#guard, (work) =>
      asOfNow(this.#database, work),
    );
    this.#status = new IndexStatus(this.#statements, this.model);
    this.#commits = new Commits(
      config.model,
      this.#database,
      this.#statements,
      dictionaries,
      this.#searches,
      this.#status,
      config.clock,
    );
    this.#maintenance = new Maintenance(config.model, this.#database, this.#statements, dictionaries, this.#status);
    this.#reindexing = new Reindexing(
      this.#database,
      new IndexWork(config.model, this.#database, this.#statements, dictionaries, this.#status),
      config.busyTimeout,
    );
    try {
      assertOwnDatabase(this.#database);
      configureConnection(this.#database, config);
      registerTextTest(config.model, this.#database);
      registerChecksums(this.#database);
      registerGuard(this.#database);
      prepareSchema(this.#database, this.#statements, this.model);
      takeOver(this.#database, this.#statements, this.model);
      if (config.reindex === 'background') this.#reindexing.begin();
    } catch (error) {
      if (this.#ownsDatabase) this.#database.close();
      throw fault(error);
    }
  }

  async read(keys: readonly ResourceKey[], options?: CallOptions): Promise<readonly ReadResult[]> {
    return this.#answer(options, () => this.#reads.read(keys));
  }

  async search(query: SearchQuery, options?: CallOptions): Promise<SearchPage> {
    // A page and a count are several statements.
    const find = (): KeyPage => this.#searches.search(query);
    return this.#answer(options, () => this.#fill(this.#searched(query, [], find)));
  }

  async searchByReference(
    query: SearchQuery,
    parameter: string,
    targets: readonly ReferenceTarget[],
    options?: CallOptions,
  ): Promise<readonly SearchPage[]> {
    const find = (): readonly KeyPage[] => this.#searches.searchByReference(query, parameter, targets);
    return this.#answer(options, () => {
      const pages = this.#searched(query, [parameter], find);
      assertFewResources(
        pages.reduce((sum, { keys }) => sum + keys.length, 0),
        options,
      );
      return pages.map((page) => this.#fill(page));
    });
  }

  async commit(writes: readonly Write[], options?: CallOptions): Promise<readonly WriteResult[]> {
    const { results, changes } = this.#answer(options, () => this.#commits.commit(writes));
    this.#feed.publish(changes);
    return results;
  }

  async history(
    key: ResourceKey,
    page: { readonly offset: number; readonly limit: number },
    options?: CallOptions,
  ): Promise<HistoryPage> {
    return this.#answer(options, () => asOfNow(this.#database, () => this.#reads.history(key, page)));
  }

  subscribe(listener: (changes: readonly Change[]) => void): () => void {
    return this.#feed.subscribe(listener);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#reindexing.stop();
    if (this.#ownsDatabase) this.#database.close();
  }

  /**
   * Verifies the whole database: the file, the text of every version, the sequence of versions, and the index rows of
   * every current resource. It only reads, from one moment's state; {@link SqliteStore.reindex} repairs derived data.
   *
   * Takes about 100 µs per resource, during which other processes can read and write, and this one is blocked.
   */
  async verify(options?: CallOptions): Promise<Verification> {
    return this.#answer(options, () => this.#maintenance.verify());
  }

  /**
   * Rebuilds index rows from the resources.
   *
   * Without options, and as the repair of what {@link SqliteStore.verify} finds, all derived data is rebuilt in one
   * transaction: the index rows of every current resource, and SQLite's own indexes. This process is blocked during
   * that time. With `pendingOnly` or `project` it works in batches of about 10 ms, each a transaction, between
   * which this and other processes read and write; if the process ends, the next call resumes.
   *
   * @returns how many resources were indexed
   * @throws FhirError `corrupt` - a resource itself is damaged; its batch is not written then
   * @throws FhirError `aborted` - by the signal; completed batches are kept
   */
  async reindex(options: ReindexOptions = {}): Promise<number> {
    const { project, pendingOnly = false, onProgress } = options;
    let count = 0;
    if (project === undefined && !pendingOnly) {
      for (const progress of this.#answer(options, () => this.#maintenance.reindex())) {
        onProgress?.(progress);
        count += progress.done;
      }
      return count;
    }
    if (project !== undefined && !pendingOnly) this.#answer(options, () => this.#reindexing.askAgain(project));
    for (;;) {
      const batch = this.#answer(options, () => this.#reindexing.step(project));
      if (batch === undefined) return count;
      count += batch.resources;
      onProgress?.(batch.progress);
      await nextTurn();
    }
  }

  async pendingParameters(project: string, options?: CallOptions): Promise<readonly TypeParameter[]> {
    return this.#answer(options, () => asOfNow(this.#database, () => this.#status.pendingIn(project)));
  }

  async explain(call: StoreCall, options?: CallOptions): Promise<readonly StatementPlan[]> {
    const parts = { statements: this.#statements, reads: this.#reads, searches: this.#searches };
    return this.#answer(options, () => explainCall(call, parts));
  }

  /** What a search finds while all that it uses is searchable. */
  #searched<Result>(
    { project, type, criteria, sort }: SearchQuery,
    beside: readonly string[],
    find: () => Result,
  ): Result {
    return this.#status.whileSearchable(project, () => parametersOf(type, criteria, sort, beside), find);
  }

  #fill({ keys, total }: KeyPage): SearchPage {
    const matches = this.#contents.load(keys);
    return total === undefined ? { matches } : { matches, total };
  }

  /** Runs the work of one call. Everything it throws becomes a `FhirError`. */
  #answer<Result>(options: CallOptions | undefined, work: () => Result): Result {
    if (this.#closed || !this.#database.open) throw storeClosed();
    assertNotAborted(options);
    try {
      return this.#guard.run(options?.deadline, work);
    } catch (error) {
      throw storeError(error);
    }
  }
}

function configureConnection(database: SqliteDatabase, { busyTimeout, synchronous }: SqliteStoreConfig): void {
  database.pragma(`busy_timeout = ${busyTimeout}`);
  database.pragma(`cache_size = -${CACHE_KIB}`);
  database.pragma('journal_mode = WAL');
  database.pragma(`synchronous = ${synchronous}`);
  database.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
}

/**
 * SQLite's own cache of pages, in KiB: 64 MB. It fills as pages are read.
 *
 * PERF: a broad search reads rows all over the file, and takes a third less time than with the 16 MB of the driver.
 */
const CACHE_KIB = 65_536;

/**
 * Length of the write-ahead log at which its pages go to the database file: 32 MB.
 *
 * PERF: a commit of a few hundred resources changes about 1,000 pages, most of them the same as the commit before. At
 * SQLite's default of 1,000 each would be written back every time.
 */
const CHECKPOINT_PAGES = 8_000;
