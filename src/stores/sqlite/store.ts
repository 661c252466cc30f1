import { resolve } from 'node:path';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import type {
  CallOptions,
  Change,
  HistoryPage,
  ReadResult,
  ReferenceTarget,
  ResourceKey,
  ResourceStore,
  StoreRemoval,
  SearchPage,
  SearchQuery,
  TypeHistoryEntry,
  TypeHistoryQuery,
  StatementPlan,
  StoreCall,
  StoredResource,
  Write,
  WriteResult,
} from '../../store/store.js';
import type { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { TypeParameter } from '../../search/criteria/parameters-of.js';
import { decidesAccess } from '../../store/access-epoch.js';
import { ChangeFeed } from '../../store/change-feed.js';
import { assertFewResources, assertNotAborted, storeClosed } from '../../store/guards.js';
import type { Committed } from '../sql/commit-results.js';
import { resolveConfig, type SqliteStoreOptions } from './config.js';
import { CHECKPOINT_PAGES, configureConnection } from './configure.js';
import { Connection } from './connection.js';
import { asDriver, type NodeSqliteDatabase } from './node-sqlite.js';
import { assertDatabaseFile, isFile, withPath } from './database-file.js';
import { openDatabase, type SqliteDatabase } from './driver.js';
import { storeError } from './errors.js';
import { explainCall } from './explain.js';
import { TOO_LONG, TooLong } from './guard.js';
import { takeOver } from './index-takeover.js';
import { IndexWork } from './index-work.js';
import { assertOwnDatabase, prepareSchema } from './prepare-schema.js';
import type { KeyPage } from './search.js';
import type { ReindexOptions } from '../sql/reindex.js';
import { Reindexing } from './reindexing.js';
import { NoThreads } from './threads/pool.js';
import { isTextLost } from './kept-text.js';
import { RemovalWatch } from './removal-watch.js';
import { storeRemoval } from './store-removal.js';
import { ATTEMPTS } from '../../store/with-retries.js';
import type { ResultOf, ThreadCall } from './threads/protocol.js';
import { Threads } from './threads/threads.js';
import { THREAD_TUNING } from './threads/tuning.js';
import { Turn } from './threads/turn.js';
import { asOfNow, isBusy } from './transaction.js';
import { typeHistory } from './type-history.js';
import type { Verification } from './verify.js';

/**
 * A store in one SQLite file, for any number of connections and processes.
 *
 * Short statements run in the event loop, long ones in threads; see {@link SqliteStoreOptions.readers}. Commits are
 * durable (`synchronous=FULL`, write-ahead log) unless the options say otherwise.
 *
 * @example
 * const store = new SqliteStore('clinic.db');
 */
export class SqliteStore implements ResourceStore {
  readonly model: FhirModel;
  readonly maxResourceBytes: number;
  readonly removal: StoreRemoval;
  readonly #database: SqliteDatabase;
  readonly #ownsDatabase: boolean;
  readonly #feed = new ChangeFeed();
  #ownAccessEpoch = 0;
  readonly #connection: Connection;
  readonly #reindexing: Reindexing;
  readonly #clock: () => Date;
  readonly #busyTimeout: number;
  readonly #turn = new Turn();
  readonly #watch: RemovalWatch;
  /** Undefined: everything runs in the event loop. */
  #threads: Threads | undefined;
  #closed = false;

  /**
   * @param database a file name (made if need be; `:memory:` for a store that lives with this object), or an open
   * database of better-sqlite3 or `node:sqlite`, which stays open when the store closes. The database holds nothing but the store.
   * @throws FhirError `invalid` - the name is empty.
   * @throws FhirError `unavailable` - better-sqlite3 is missing, the file cannot be opened, or a newer version wrote it.
   * @throws FhirError `corrupt` - the file is not a SQLite database.
   * @throws FhirError `conflict` - the database belongs to another application.
   * Their messages end with the path, which is `details.path`.
   */
  constructor(database: string | SqliteDatabase | NodeSqliteDatabase, options: SqliteStoreOptions = {}) {
    const config = resolveConfig(options);
    const { model, busyTimeout, readers, clock } = config;
    this.model = model;
    this.maxResourceBytes = config.maxResourceBytes;
    this.#clock = clock;
    this.#busyTimeout = busyTimeout;
    this.#ownsDatabase = typeof database === 'string';
    const fault = (error: unknown): FhirError =>
      typeof database === 'string' ? withPath(storeError(error), database) : storeError(error);
    try {
      if (typeof database === 'string') assertDatabaseFile(database);
      this.#database =
        typeof database === 'string' ? openDatabase(database, { timeout: busyTimeout }) : asDriver(database);
    } catch (error) {
      throw fault(error);
    }
    const connection = (this.#connection = new Connection(model, this.#database, config));
    this.removal = storeRemoval({
      connection,
      write: (call, options, inline) => this.#write(call, options, inline),
      publish: (changes) => this.#feed.publish(changes),
    });
    this.#watch = new RemovalWatch(() => this.#lookForRemovals());
    connection.contents.onFilled = () => this.#watch.start();
    const { statements, dictionaries, status } = connection;
    const work = new IndexWork(model, this.#database, statements, dictionaries, status);
    this.#reindexing = new Reindexing(this.#database, work);
    try {
      assertOwnDatabase(this.#database);
      const hasLog = configureConnection(this.#database, config);
      Connection.prepare(model, this.#database);
      prepareSchema(this.#database, statements, model);
      takeOver(this.#database, statements, model);
      status.noteRemovals();
      if (typeof database === 'string' && isFile(database) && hasLog && readers > 0) {
        const file = resolve(database.trim());
        this.#threads = new Threads({ ...config, file }, this.#turn);
        this.#database.pragma(`wal_autocheckpoint = ${LATE_CHECKPOINT_PAGES}`);
        // Waiting for a lock happens in a thread.
        this.#database.pragma('busy_timeout = 0');
      }
      if (config.reindex === 'background') this.#reindexing.begin();
    } catch (error) {
      if (this.#ownsDatabase) this.#database.close();
      throw fault(error);
    }
  }

  read(keys: readonly ResourceKey[], options?: CallOptions): Promise<readonly ReadResult[]> {
    return whileKept(() => this.#read(keys, options));
  }

  search(query: SearchQuery, options?: CallOptions): Promise<SearchPage> {
    return whileKept(() => this.#search(query, options));
  }

  searchByReference(
    query: SearchQuery,
    parameter: string,
    targets: readonly ReferenceTarget[],
    options?: CallOptions,
  ): Promise<readonly SearchPage[]> {
    return whileKept(() => this.#searchByReference(query, parameter, targets, options));
  }

  async #read(keys: readonly ResourceKey[], options?: CallOptions): Promise<readonly ReadResult[]> {
    const { reads } = this.#connection;
    if (this.#threads === undefined) return this.#answer(options, () => reads.read(keys));
    if (this.#turn.isSpent) await this.#turn.next();
    if (keys.length <= THREAD_TUNING.slice) return this.#answer(options, () => reads.read(keys));
    const states = this.#answer(options, () => reads.statesOf(keys));
    const contents = await this.#load(reads.contentsOf(states), options);
    return this.#answer(options, () => reads.resultsOf(keys, states, contents));
  }

  async #search(query: SearchQuery, options?: CallOptions): Promise<SearchPage> {
    const find = (): KeyPage => this.#connection.search(query);
    const load = (keys: readonly number[]): StoredResource[] => this.#connection.contents.load(keys);
    if (this.#threads === undefined) {
      return this.#answer(options, () => {
        const page = find();
        return filled(page, load(page.keys));
      });
    }
    const page = await this.#find({ kind: 'search', query }, options, find);
    return filled(page, await this.#load(page.keys, options));
  }

  async #searchByReference(
    query: SearchQuery,
    parameter: string,
    targets: readonly ReferenceTarget[],
    options?: CallOptions,
  ): Promise<readonly SearchPage[]> {
    const find = (): readonly KeyPage[] => this.#connection.searchByReference(query, parameter, targets);
    const load = (keys: readonly number[]): StoredResource[] => this.#connection.contents.load(keys);
    if (this.#threads === undefined) {
      return this.#answer(options, () => fewEnough(find(), options).map((page) => filled(page, load(page.keys))));
    }
    const call = { kind: 'search-by-reference', query, parameter, targets } as const;
    const pages = fewEnough(await this.#find(call, options, find), options);
    const resources = await this.#load(
      pages.flatMap(({ keys }) => keys),
      options,
    );
    let start = 0;
    return pages.map((page) => filled(page, resources.slice(start, (start += page.keys.length))));
  }

  async commit(writes: readonly Write[], options?: CallOptions): Promise<readonly WriteResult[]> {
    const commit = (): Committed => this.#connection.commits.commit(writes);
    const { results, changes } =
      this.#threads === undefined
        ? this.#answer(options, commit)
        : await this.#commit(this.#threads, writes, options, commit);
    if (changes.some(({ kind }) => kind === 'erase')) this.#connection.status.noteRemovals();
    if (changes.some(decidesAccess)) this.#ownAccessEpoch += 1;
    this.#feed.publish(changes);
    return results;
  }

  /** SQLite counts the commits of all other connections; ours are counted here. */
  async accessEpoch(options?: CallOptions): Promise<string> {
    return this.#answer(options, () => {
      const [others] = this.#connection.statements.read('PRAGMA data_version').get() as [number];
      return `${others}.${this.#ownAccessEpoch}`;
    });
  }

  async history(
    key: ResourceKey,
    page: { readonly offset: number; readonly limit: number },
    options?: CallOptions,
  ): Promise<HistoryPage> {
    if (this.#threads !== undefined && this.#turn.isSpent) await this.#turn.next();
    return this.#answer(options, () => asOfNow(this.#database, () => this.#connection.reads.history(key, page)));
  }

  async typeHistory(query: TypeHistoryQuery, options?: CallOptions): Promise<readonly TypeHistoryEntry[]> {
    if (this.#threads !== undefined && this.#turn.isSpent) await this.#turn.next();
    const { statements, dictionaries } = this.#connection;
    return this.#answer(options, () => asOfNow(this.#database, () => typeHistory(statements, dictionaries, query)));
  }

  subscribe(listener: (changes: readonly Change[]) => void): () => void {
    return this.#feed.subscribe(listener);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#watch.stop();
    await this.#reindexing.stop();
    await this.#threads?.close();
    if (this.#ownsDatabase) this.#database.close();
  }

  /**
   * Verifies the whole database: the file, the text of every version, the sequence of versions, and the index rows of
   * every current resource. It only reads, from one moment's state; {@link SqliteStore.reindex} repairs derived data.
   *
   * Takes about 100 µs per resource, in a thread if the store has threads; otherwise this process is blocked.
   */
  async verify(options?: CallOptions): Promise<Verification> {
    const verify = (): Verification => this.#connection.maintenance.verify();
    if (this.#isSmall()) return this.#answer(options, verify);
    return this.#inThread(options, (threads) => threads.read({ kind: 'verify' }, options), verify);
  }

  /**
   * Rebuilds index rows from the resources.
   *
   * Without options, and as the repair of what {@link SqliteStore.verify} finds, all derived data is rebuilt in one
   * transaction: the index rows of every current resource, and SQLite's own indexes. Reads go on during that time, and
   * commits wait; without threads this process is blocked. With `pendingOnly` or `project` it works in batches of about
   * 10 ms, each a transaction, between which this and other processes read and write; if the process ends, the next call
   * resumes.
   *
   * @returns how many resources were indexed
   * @throws FhirError `corrupt` - a resource itself is damaged; its batch is not written then
   * @throws FhirError `aborted` - by the signal; completed batches are kept
   */
  async reindex(options: ReindexOptions = {}): Promise<number> {
    const { project, pendingOnly = false, onProgress } = options;
    let count = 0;
    if (project === undefined && !pendingOnly) {
      const { maintenance } = this.#connection;
      const reindex = (threads: Threads) => threads.reindex(options);
      const inline = () => maintenance.reindex();
      const brief = this.#isSmall() ? this.#answer(options, () => unlessLocked(inline)) : TOO_LONG;
      const done = brief instanceof TooLong ? await this.#inThread(options, reindex, inline) : brief;
      this.#connection.forget();
      for (const progress of done) {
        onProgress?.(progress);
        count += progress.done;
      }
      return count;
    }
    if (project !== undefined && !pendingOnly) {
      await this.#whenUnlocked(options, () => this.#reindexing.askAgain(project));
    }
    for (;;) {
      const batch = await this.#whenUnlocked(options, () => this.#reindexing.step(project));
      if (batch === undefined) return count;
      count += batch.resources;
      onProgress?.(batch.progress);
      await nextTurn();
    }
  }

  async pendingParameters(project: string, options?: CallOptions): Promise<readonly TypeParameter[]> {
    return this.#answer(options, () => asOfNow(this.#database, () => this.#connection.status.pendingIn(project)));
  }

  async explain(call: StoreCall, options?: CallOptions): Promise<readonly StatementPlan[]> {
    return this.#answer(options, () => explainCall(call, this.#connection));
  }

  /** All of the file is read in some milliseconds. */
  #isSmall(): boolean {
    return this.#answer(undefined, () => {
      const [pages] = this.#connection.statements.read('PRAGMA page_count').get() as [number];
      return pages < THREAD_TUNING.smallFile;
    });
  }

  /** Runs a removal: in the event loop if the file is small, else in the thread that writes. */
  async #write<Call extends ThreadCall>(
    call: Call,
    options: CallOptions | undefined,
    inline: () => ResultOf<Call>,
  ): Promise<ResultOf<Call>> {
    const isBrief = this.#threads?.isWriting !== true && this.#isSmall();
    const brief = isBrief ? this.#briefly(options, inline) : TOO_LONG;
    const result =
      brief instanceof TooLong
        ? await this.#inThread(options, (threads) => threads.write(call, options), inline)
        : brief;
    this.#answer(undefined, () => this.#connection.status.noteRemovals());
    return result;
  }

  /** @returns whether anything is remembered that may be removed later */
  #lookForRemovals(): boolean {
    if (this.#closed || !this.#database.open) return false;
    try {
      this.#connection.status.noteRemovals();
    } catch {
      // The file is locked or lost; the next look may find it.
    }
    return this.#connection.contents.cachedBytes > 0;
  }

  /** Begins in the event loop, and ends there if that does not take long. */
  async #find<Result>(call: ThreadCall, options: CallOptions | undefined, find: () => Result): Promise<Result> {
    if (this.#turn.isSpent) await this.#turn.next();
    const found = this.#briefly(options, find);
    if (!(found instanceof TooLong)) return found;
    return this.#inThread(options, (threads) => threads.read(call, options) as Promise<Result>, find);
  }

  /** The resources of versions, which never change: between some of them others have their turn. */
  async #load(keys: readonly number[], options: CallOptions | undefined): Promise<readonly StoredResource[]> {
    const { contents } = this.#connection;
    const { slice } = THREAD_TUNING;
    if (keys.length <= slice) return this.#answer(options, () => contents.load(keys));
    const resources: StoredResource[] = [];
    for (let start = 0; start < keys.length; start += slice) {
      if (this.#turn.isSpent) await this.#turn.next();
      resources.push(...this.#answer(options, () => contents.load(keys.slice(start, start + slice))));
    }
    return resources;
  }

  async #commit(
    threads: Threads,
    writes: readonly Write[],
    options: CallOptions | undefined,
    commit: () => Committed,
  ): Promise<Committed> {
    if (this.#turn.isSpent) await this.#turn.next();
    if (!threads.isWriting && writes.length < THREAD_TUNING.largeCommit) {
      const done = this.#briefly(options, commit);
      if (!(done instanceof TooLong)) {
        threads.noteCommit(writes.length);
        return done;
      }
    }
    return this.#inThread(options, () => threads.commit(writes, this.#clock().getTime(), options), commit);
  }

  /** Work that gives up where it takes long, or another process has the lock that it needs. */
  #briefly<Result>(options: CallOptions | undefined, work: () => Result): Result | TooLong {
    const { inlineMs } = THREAD_TUNING;
    if (inlineMs < 0) return TOO_LONG;
    return this.#answer(options, () => unlessLocked(() => this.#connection.guard.briefly(inlineMs, work)));
  }

  /** Runs a short write as soon as no other connection writes. Other work continues only where there are threads. */
  async #whenUnlocked<Result>(options: CallOptions | undefined, write: () => Result): Promise<Result> {
    const end = performance.now() + this.#busyTimeout;
    while (this.#threads !== undefined) {
      await this.#threads.untilWritten();
      const done = this.#answer(options, () => unlessLocked(write));
      if (!(done instanceof TooLong)) return done;
      if (performance.now() >= end) break;
      await delay(LOCK_STEP_MS);
    }
    return this.#answer(options, write);
  }

  /** Runs in a thread, or in the event loop where there are none. */
  async #inThread<Result>(
    options: CallOptions | undefined,
    inThread: (threads: Threads) => Promise<Result>,
    inline: () => Result,
  ): Promise<Result> {
    const threads = this.#threads;
    if (threads === undefined) return this.#answer(options, inline);
    this.#answer(options, () => undefined);
    try {
      return await inThread(threads);
    } catch (error) {
      if (!(error instanceof NoThreads)) throw error;
      this.#goOnWithout(threads, error);
      return this.#answer(options, inline);
    }
  }

  #goOnWithout(threads: Threads, { message, cause }: NoThreads): void {
    if (this.#threads !== threads) return;
    this.#threads = undefined;
    void threads.close();
    if (this.#database.open) {
      this.#database.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
      this.#database.pragma(`busy_timeout = ${this.#busyTimeout}`);
    }
    const reason = cause instanceof Error ? ` (${cause.message})` : '';
    process.emitWarning(`${message}${reason}; long statements run in the event loop`, { code: 'FHIRGRAPH_THREADS' });
  }

  /** Runs the work of one call. Everything it throws becomes a `FhirError`. */
  #answer<Result>(options: CallOptions | undefined, work: () => Result): Result {
    if (this.#closed || !this.#database.open) throw storeClosed();
    assertNotAborted(options);
    try {
      return this.#connection.guard.run(options?.deadline, work);
    } catch (error) {
      throw storeError(error);
    }
  }
}

/**
 * Runs a read of several statements again if a removal came between them, so that the content of what the first ones
 * found was gone.
 */
async function whileKept<Result>(read: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await read();
    } catch (error) {
      if (attempt >= ATTEMPTS.read || !isTextLost(error)) throw error;
    }
  }
}

/** @throws FhirError `too-costly` */
function fewEnough(pages: readonly KeyPage[], options: CallOptions | undefined): readonly KeyPage[] {
  assertFewResources(
    pages.reduce((sum, { keys }) => sum + keys.length, 0),
    options,
  );
  return pages;
}

/** @returns {@link TOO_LONG} where another connection has the lock */
function unlessLocked<Result>(work: () => Result): Result | TooLong {
  try {
    return work();
  } catch (error) {
    if (isBusy(error)) return TOO_LONG;
    throw error;
  }
}

function filled({ total }: KeyPage, matches: readonly StoredResource[]): SearchPage {
  return total === undefined ? { matches } : { matches, total };
}

/** Time between attempts to get a lock, in milliseconds. */
const LOCK_STEP_MS = 20;

/** Where a thread carries the log to the database: it is late if the event loop does it. */
const LATE_CHECKPOINT_PAGES = 4 * CHECKPOINT_PAGES;
