import { resolve } from 'node:path';
import type { CallOptions } from '../../store/call-options.js';
import type { ChangePage, ChangesQuery } from '../../store/changes.js';
import type { HistoryPage, TypeHistoryEntry, TypeHistoryQuery, VersionRange } from '../../store/history.js';
import type { StoreRemoval } from '../../store/removal.js';
import type { ReferenceTarget, ResourceKey } from '../../store/resource-key.js';
import type { SearchPage, SearchQuery } from '../../store/search-query.js';
import type { ResourceStore, StatementPlan, StoreCall } from '../../store/store.js';
import type { ReadResult } from '../../store/stored-resource.js';
import type { Change, EraseWrite, Write, WriteResult } from '../../store/write.js';
import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { TypeParameter } from '../../search/criteria/parameters-of.js';
import { isIndexTakenOver } from '../../store/index-state.js';
import { type JoinedStore, joinedStore } from '../../store/joined-store.js';
import { runNow } from '../ask.js';
import type { BackgroundWork } from '../sql/background-work.js';
import { Watchers } from '../../store/watchers.js';
import { CallRunner, notInTransaction } from './call-runner.js';
import { resolveConfig, type SqliteStoreConfig, type SqliteStoreOptions } from './config.js';
import { configureConnection } from './database/configure.js';
import { Connection } from './connection.js';
import { asDriver, type NodeSqliteDatabase } from './database/node-sqlite.js';
import {
  assertDatabaseFile,
  backupPath,
  isFile,
  type OpenedFile,
  openedFile,
  withPath,
} from './database/database-file.js';
import { openDatabase, type SqliteDatabase } from './database/driver.js';
import { storeError } from './database/errors.js';
import { explainCall } from './explain.js';
import { backUp, modeOf } from './maintenance/backup.js';
import { IndexWork } from './maintenance/index-work.js';
import { IndexesOnDemand } from './indexes-on-demand.js';
import { assertOpenable, prepareSchema, takeFileOver } from './schema/prepare-schema.js';
import { warnOfOtherDefinitions } from '../sql/opening.js';
import { backgroundReindexing, reindex, reindexFew, type ReindexOptions } from '../sql/reindex.js';
import { ReadCalls } from './read-calls.js';
import { SegmentRefresh } from '../sql/segment-refresh.js';
import { FLUSH_LOADING, SqliteRefreshPort } from './refresh-port.js';
import { SqliteChanges } from './search/changes.js';
import { Lookout } from './lookout.js';
import { Threads } from './threads/threads.js';
import type { WorkArguments, WorkName, WorkResult } from './threads/work.js';
import { asOfNow, assertNoTransaction } from './database/transaction.js';
import type { Verification } from './maintenance/verify.js';

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
  readonly maxResourceValues: number;
  readonly readsAreCurrent = true;
  readonly removal: StoreRemoval = {
    purgeHistory: (request, options) => this.#remove('purge-history', [request], options),
    removeProject: async (project, options) => {
      await this.#indexes.ready(options);
      const step = await this.#remove('remove-project', [project], options);
      this.#watchers.notify([project]);
      return step;
    },
    scrub: (options) => this.#remove('scrub', [], options),
  };
  readonly #database: SqliteDatabase;
  readonly #ownsDatabase: boolean;
  readonly #changes: SqliteChanges;
  readonly #watchers = new Watchers();
  readonly #config: Pick<SqliteStoreConfig, 'changeRetention' | 'clock'>;
  readonly #connection: Connection;
  readonly #work: IndexWork;
  readonly #reindexing: BackgroundWork;
  readonly #calls: CallRunner;
  readonly #removals: Lookout;
  readonly #commits = new Lookout('commitMs', () => this.#lookForCommits());
  /** What SQLite changes when another connection commits. */
  #dataVersion: unknown;
  readonly #indexes: IndexesOnDemand;
  readonly #refreshPort: SqliteRefreshPort;
  readonly #segments: SegmentRefresh;
  readonly #reads: ReadCalls;

  /**
   * @param database a file name (a missing file is created; `:memory:` for a store that lives with this object), or an
   * open database of better-sqlite3 or `node:sqlite`, which stays open when the store closes. A new file becomes the
   * store's; the host may add tables of its own, see {@link SqliteStore.join}.
   * @throws FhirError `invalid` - the name is empty, or the database is of another driver.
   * @throws FhirError `unavailable` - better-sqlite3 is missing, the file cannot be opened, a newer version wrote it, or
   * an older one did and the option `takeOver` is not true.
   * @throws FhirError `corrupt` - the file is not a SQLite database.
   * @throws FhirError `conflict` - the database belongs to another application.
   * Their messages end with the path, which is `details.path`.
   */
  constructor(database: string | SqliteDatabase | NodeSqliteDatabase, options: SqliteStoreOptions = {}) {
    const config = resolveConfig(options);
    const { model, busyTimeout, readers, opening } = config;
    this.#config = config;
    const isReader = opening === 'reader';
    this.model = model;
    this.maxResourceBytes = config.maxResourceBytes;
    this.maxResourceValues = config.maxResourceValues;
    this.#ownsDatabase = typeof database === 'string';
    const fault = (error: unknown): FhirError =>
      typeof database === 'string' ? withPath(storeError(error), database) : storeError(error);
    try {
      if (typeof database === 'string') assertDatabaseFile(database);
      this.#database =
        typeof database === 'string'
          ? openDatabase(database, { timeout: busyTimeout, readonly: isReader })
          : asDriver(database);
    } catch (error) {
      throw fault(error);
    }
    let opened: OpenedFile | undefined;
    try {
      opened = openedFile(this.#database);
    } catch (error) {
      if (this.#ownsDatabase) this.#database.close();
      throw fault(error);
    }
    const ownsFile = typeof database === 'string' && isFile(database);
    const connection = (this.#connection = new Connection(model, this.#database, {
      ...config,
      ownsFile,
      opened,
    }));
    const calls = (this.#calls = new CallRunner(connection, config, this.#ownsDatabase));
    this.#removals = new Lookout('removalMs', () => this.#lookForRemovals());
    connection.contents.onFilled = () => this.#removals.start();
    this.#indexes = new IndexesOnDemand(connection, calls);
    this.#refreshPort = new SqliteRefreshPort(connection, calls);
    this.#segments = new SegmentRefresh(this.#refreshPort, FLUSH_LOADING);
    if (!isReader) connection.segments.needs = this.#segments;
    this.#reads = new ReadCalls(connection, calls, this.#indexes);
    const { statements, dictionaries, status } = connection;
    this.#changes = new SqliteChanges(statements);
    const work = (this.#work = new IndexWork(model, this.#database, statements, dictionaries, status));
    this.#reindexing = backgroundReindexing(work, storeError);
    try {
      assertOpenable(this.#database, opening);
      const synchronous = isReader ? undefined : config.synchronous;
      const hasLog = configureConnection(this.#database, { busyTimeout, synchronous });
      Connection.prepare(model, this.#database);
      prepareSchema(this.#database, statements, model);
      takeFileOver(this.#database, statements, model, opening);
      const { isOurs } = status;
      if (opening === 'user' && !isOurs) warnOfOtherDefinitions();
      status.noteRemovals();
      if (ownsFile && hasLog && readers > 0) {
        const file = resolve(database.trim());
        calls.useThreads(() => new Threads({ ...config, file, opened }));
      }
      if (config.reindex === 'background' && isOurs && !isReader && !runNow(reindexFew(), work))
        this.#reindexing.start();
      if (!isReader) this.#noteSegments();
    } catch (error) {
      if (this.#ownsDatabase) this.#database.close();
      throw fault(error);
    }
  }

  read(keys: readonly ResourceKey[], options?: CallOptions): Promise<readonly ReadResult[]> {
    return this.#reads.read(keys, options);
  }

  search(query: SearchQuery, options?: CallOptions): Promise<SearchPage> {
    return this.#reads.search(query, options);
  }

  searchByReference(
    query: SearchQuery,
    parameter: string,
    targets: readonly ReferenceTarget[],
    options?: CallOptions,
  ): Promise<readonly SearchPage[]> {
    return this.#reads.searchByReference(query, parameter, targets, options);
  }

  async commit(writes: readonly Write[], options?: CallOptions): Promise<readonly WriteResult[]> {
    this.#calls.assertWritable();
    if (writes.some(({ kind }) => kind === 'assert-no-match')) await this.#indexes.ready(options);
    const erased = writes.filter(({ kind }) => kind === 'erase').map((write) => (write as EraseWrite).key);
    const forget = erased.length === 0 ? undefined : await this.#refreshPort.prepareErase(erased);
    const { results, changes } = await this.#calls
      .commit(writes, options)
      .catch((error: unknown) => {
        if (!this.#tookOverEmpty(error)) throw error;
        return this.#calls.commit(writes, options);
      })
      .finally(forget);
    if (changes.some(({ kind }) => kind === 'erase')) this.#connection.status.noteRemovals();
    this.#noteWritten(changes);
    return results;
  }

  #noteWritten(changes: readonly Change[]): void {
    this.#watchers.notify(new Set(changes.map(({ key }) => key.project)));
    this.#segments.wrote(changes);
  }

  /**
   * A view of this store inside the transaction that the host has open on its database: FHIR's resources and the host's
   * own rows are committed together, or not at all.
   *
   * Begin the transaction with `BEGIN IMMEDIATE`. A commit through the view that is refused leaves the transaction as
   * it was before it. Until the host has committed or rolled back, reads of this store see what is not committed yet,
   * and its other commits are `unavailable`, so keep the transaction short.
   *
   * @throws FhirError `unsupported` - the store opened the file itself
   * @throws FhirError `invalid` - no transaction is open; later calls throw it if it has ended
   * @throws FhirError `unavailable` - the store only reads
   * @example
   * database.exec('BEGIN IMMEDIATE');
   * const joined = store.join();
   * await createRepository({ store: joined, caller }).create(appointment);
   * database.prepare('INSERT INTO slot (room) VALUES (?)').run(room);
   * database.exec('COMMIT');
   * joined.committed();
   */
  join(): JoinedStore {
    this.#calls.assertWritable();
    if (this.#ownsDatabase) {
      throw new FhirError(
        'unsupported',
        'A store joins the transactions of a database that the host opened and gave it',
      );
    }
    if (!this.#database.inTransaction) throw notInTransaction();
    const held: Change[] = [];
    const commit: ResourceStore['commit'] = (writes, options) => {
      const { results, changes } = this.#calls.commitJoined(writes, options);
      held.push(...changes);
      return Promise.resolve(results);
    };
    return joinedStore(this, commit, () => this.#noteWritten(held.splice(0)));
  }

  /** Counted in the file, by the commits of every process. */
  async accessEpoch(options?: CallOptions): Promise<string> {
    return this.#calls.run(options, () => this.#connection.status.accessEpoch());
  }

  history(key: ResourceKey, page: VersionRange, options?: CallOptions): Promise<HistoryPage> {
    return this.#reads.history(key, page, options);
  }

  typeHistory(query: TypeHistoryQuery, options?: CallOptions): Promise<readonly TypeHistoryEntry[]> {
    return this.#reads.typeHistory(query, options);
  }

  async changes(query: ChangesQuery, options?: CallOptions): Promise<ChangePage> {
    const { changeRetention, clock } = this.#config;
    return this.#calls.run(options, () => {
      // What the host may still roll back has not happened.
      if (this.#connection.isUnsettled) return unchangedSince(query.after);
      return asOfNow(this.#database, () => this.#changes.page(query, clock().getTime() - changeRetention));
    });
  }

  /** Hears of the commits of every process within 50 ms, but not to which project those of others were. */
  watch(project: string, listener: () => void): () => void {
    if (!this.#watchers.hasAny) this.#lookForCommits();
    const stop = this.#watchers.watch(project, listener);
    this.#commits.start();
    return stop;
  }

  async close(): Promise<void> {
    if (!this.#calls.isClosed && !this.#calls.isReadonly) {
      if (this.#ownsDatabase) await this.#indexes.finish();
      await this.#segments.close();
    }
    if (!this.#calls.close()) return;
    this.#removals.stop();
    this.#commits.stop();
    await this.#reindexing.stop();
    await this.#calls.closeThreads();
    if (this.#ownsDatabase) this.#database.close();
  }

  /**
   * Verifies the whole database: the file, the text of every version, the sequence of versions, and the index rows of
   * every current resource. It only reads one consistent state; {@link SqliteStore.reindex} repairs derived data.
   *
   * Takes about 100 µs per resource, in a thread if the store has threads; otherwise this process is blocked.
   */
  async verify(options?: CallOptions): Promise<Verification> {
    return this.#calls.call('verify', [], options);
  }

  /**
   * Copies one consistent state of the whole database to a new file. Reads and commits continue while it does.
   *
   * The copy is smaller than the original if content was removed, and contains no erased content. It has the
   * permissions of the original, and is complete as soon as the file exists. Takes about 6 s per gigabyte, in a thread
   * if the store has threads; otherwise this process is blocked. Until then, the write-ahead log grows with every
   * commit.
   *
   * @param file its folder must exist, the file must not
   * @throws FhirError `invalid` - the name is empty
   * @throws FhirError `conflict` - the file exists
   * @throws FhirError `unavailable` - the file cannot be written, or the disk is full
   * @throws FhirError `aborted` - by the signal or the deadline; no copy is left
   * @example
   * await store.backup(`backups/clinic-${new Date().toISOString().slice(0, 10)}.db`);
   */
  async backup(file: string, options?: CallOptions): Promise<void> {
    const path = backupPath(file);
    const mode = this.#calls.run(options, () => modeOf(this.#connection.statements));
    await backUp(path, mode, async (partial) => {
      await this.#calls.call('backup', [partial], options);
      // The deadline may have passed while SQLite wrote.
      this.#calls.run(options, () => undefined);
    });
  }

  /**
   * Rebuilds index rows from the resources.
   *
   * Without options, as the repair for problems that {@link SqliteStore.verify} finds, all derived data is rebuilt in
   * one transaction: the index rows of every current resource, and SQLite's own indexes. Reads continue during that
   * time, and commits wait; without threads this process is blocked. With `pendingOnly` or `project` it works in
   * batches of about 10 ms, each a transaction, between which this and other processes read and write; if the process
   * ends, the next call resumes.
   *
   * @returns how many resources were indexed
   * @throws FhirError `corrupt` - a resource itself is damaged. Without options, nothing is written then. Otherwise its type is
   * left to re-index, and all others are done
   * @throws FhirError `aborted` - by the signal; completed batches are kept
   */
  async reindex(options: ReindexOptions = {}): Promise<number> {
    const { project, pendingOnly = false, onProgress } = options;
    this.#calls.assertWritable();
    let count = 0;
    if (project === undefined && !pendingOnly) {
      const done = await this.#calls.call('reindex', [], options);
      this.#connection.forget();
      for (const progress of done) {
        onProgress?.(progress);
        count += progress.done;
      }
    } else {
      let isAsked = pendingOnly;
      count = await reindex(options, (failed) =>
        this.#calls.run(options, () => {
          assertNoTransaction(this.#database);
          if (!isAsked) isAsked = this.#work.askAgain(project!);
          return isAsked ? this.#work.step(failed, undefined, project) : 'later';
        }),
      );
    }
    this.#noteSegments();
    await this.#segments.finish();
    return count;
  }

  async #remove<Name extends WorkName>(
    name: Name,
    args: WorkArguments<Name>,
    options: CallOptions | undefined,
  ): Promise<WorkResult<Name>> {
    const result = await this.#calls.call(name, args, options);
    this.#calls.run(undefined, () => this.#connection.status.noteRemovals());
    this.#noteSegments();
    return result;
  }

  /** Begins the work on segments that is left, of all types. */
  #noteSegments(): void {
    this.#segments.note(this.#calls.run(undefined, () => this.#connection.segments.types()));
  }

  /** @internal Whether the index of the file is of the definitions of this store. */
  async hasSameDefinitions(): Promise<boolean> {
    return this.#calls.run(undefined, () => this.#connection.status.isOurs);
  }

  async pendingParameters(project: string, options?: CallOptions): Promise<readonly TypeParameter[]> {
    const { status } = this.#connection;
    return this.#calls.run(options, () =>
      status.isComplete() ? [] : asOfNow(this.#database, () => status.pendingIn(project)),
    );
  }

  async explain(call: StoreCall, options?: CallOptions): Promise<readonly StatementPlan[]> {
    await this.#indexes.ready(options);
    return this.#calls.run(options, () => explainCall(call, this.#connection));
  }

  /**
   * Another process with other definitions may have opened the file while it was empty: it belongs to the first that
   * writes.
   *
   * @returns whether the refused commit can be repeated
   */
  #tookOverEmpty(error: unknown): boolean {
    if (!(error instanceof FhirError) || !isIndexTakenOver(error)) return false;
    const { statements, status } = this.#connection;
    return this.#calls.run(undefined, () => {
      takeFileOver(this.#database, statements, this.model, 'user');
      status.forget();
      return status.isOurs;
    });
  }

  /** @returns whether somebody watches */
  #lookForCommits(): boolean {
    if (this.#calls.isClosed) return false;
    try {
      const version = this.#database.pragma('data_version', { simple: true });
      if (version !== this.#dataVersion) this.#watchers.notifyAll();
      this.#dataVersion = version;
    } catch {
      // The file is locked or lost; the next look may succeed.
    }
    return this.#watchers.hasAny;
  }

  /** @returns whether the cache holds resources that may be removed later */
  #lookForRemovals(): boolean {
    if (this.#calls.isClosed) return false;
    try {
      this.#connection.status.noteRemovals();
    } catch {
      // The file is locked or lost; the next check may succeed.
    }
    return this.#connection.contents.cachedBytes > 0;
  }
}

/** @throws FhirError `unavailable` - the current position is not known yet */
function unchangedSince(after: string | undefined): ChangePage {
  if (after !== undefined) return { changes: [], position: after, isReset: false };
  throw new FhirError('unavailable', 'The feed waits for the end of the transaction of the host; try again');
}
