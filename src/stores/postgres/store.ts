import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { parametersOf, type TypeParameter } from '../../search/criteria/parameters-of.js';
import { isIndexTakenOver } from '../../store/index-state.js';
import { type JoinedStore, joinedStore } from '../../store/joined-store.js';
import { assertNotAborted, storeClosed } from '../../store/guards.js';
import { type CallOptions } from '../../store/call-options.js';
import type { ChangePage, ChangesQuery } from '../../store/changes.js';
import { untilCallEnds } from '../../store/guards.js';
import { Watchers } from '../../store/watchers.js';
import type { HistoryPage, TypeHistoryEntry, TypeHistoryQuery, VersionRange } from '../../store/history.js';
import type { StoreRemoval } from '../../store/removal.js';
import { SERVER_SCOPE, type ReferenceTarget, type ResourceKey } from '../../store/resource-key.js';
import type { SearchPage, SearchQuery } from '../../store/search-query.js';
import type { ResourceStore, StatementPlan, StoreCall } from '../../store/store.js';
import type { ReadResult } from '../../store/stored-resource.js';
import { CallTexts } from '../../store/text-budget.js';
import type { Change, Write, WriteResult } from '../../store/write.js';
import { readonlyStore } from '../sql/opening.js';
import type { BackgroundWork } from '../sql/background-work.js';
import { backgroundReindexing, reindex, type ReindexOptions } from '../sql/reindex.js';
import { readAccessEpoch } from './rows/access-epoch.js';
import { Commits } from './commit/commit.js';
import { type PostgresStoreConfig, type PostgresStoreOptions, resolveConfig } from './database/config.js';
import type { PostgresClient, PostgresPool } from './database/driver.js';
import { storeError } from './database/errors.js';
import { JoinedPool } from './database/joined-pool.js';
import { PostgresChanges } from './search/changes.js';
import { explainCall } from './search/explain.js';
import { IndexStatus } from './schema/index-status.js';
import { IndexWork } from './maintenance/index-work.js';
import { FeedUpkeep } from './maintenance/feed-upkeep.js';
import { type PostgresVerification, verify } from './maintenance/maintenance.js';
import { Preparation } from './preparation.js';
import { prepareSchema } from './schema/prepare-schema.js';
import { history, readProjects } from './search/reads.js';
import { purgeHistory, removeProject, vacuum } from './maintenance/removal.js';
import { SharedRead } from './search/shared-read.js';
import { readerOn } from './database/reader-on.js';
import { type PostgresPools, Routes } from './database/routes.js';
import { NO_WORK, SegmentRefresh } from '../sql/segment-refresh.js';
import { PostgresRefreshPort } from './refresh-port.js';
import { PostgresSegments } from './segments/segments.js';
import { SmallCommits } from './commit/small-commits.js';
import { SmallReads } from './search/small-reads.js';
import { Statistics } from './maintenance/statistics.js';
import { search, type SearchIndex } from './search/search.js';
import { searchByReference } from './search/search-by-reference.js';
import { typeHistory } from './search/type-history.js';
import { untilDeadline, writtenUntilDeadline } from './database/until-deadline.js';

/**
 * A store in a PostgreSQL database (13 or later), for any number of connections and processes.
 *
 * The first call creates or migrates the tables. Every statement names one project. Commits are atomic. A rejected
 * commit wrote nothing, unless the error's details have `unknown: true`: then the connection was lost or the signal
 * aborted during the write, and only a read shows the outcome.
 *
 * @example
 * const store = new PostgresStore(new Pool({ connectionString, max: 20 }));
 */
export class PostgresStore implements ResourceStore {
  readonly model: FhirModel;
  readonly maxResourceBytes: number;
  readonly maxResourceValues: number;
  /** False over replicas. */
  readonly readsAreCurrent: boolean;
  readonly removal: StoreRemoval = {
    purgeHistory: (request, options) =>
      this.#remove(request.project, options, (bounded) => purgeHistory(this.#routes.writer, request, bounded?.signal)),
    removeProject: (project, options) =>
      this.#remove(project, options, (bounded) => removeProject(this.#routes.writer, project, bounded?.signal)),
    scrub: (options) => this.vacuum(options),
  };
  readonly #routes: Routes;
  readonly #commits: Commits;
  readonly #smallCommits = new SmallCommits((writes, signal) => this.#commits.commit(writes, signal));
  readonly #smallReads = new SmallReads((keys, signal, texts) =>
    readProjects(keys, (project) => this.#routes.readerOf(project, { signal }).run, texts),
  );
  readonly #status: IndexStatus;
  readonly #work: IndexWork;
  readonly #background: BackgroundWork;
  readonly #preparation: Preparation;
  readonly #statistics: Statistics;
  readonly #segments: PostgresSegments;
  readonly #refresh: SegmentRefresh;
  readonly #config: PostgresStoreConfig;
  readonly #accessEpoch = new SharedRead(() => readAccessEpoch(this.#routes.readerOf(SERVER_SCOPE, undefined).run));
  readonly #changes = new PostgresChanges();
  readonly #feedUpkeep: FeedUpkeep;
  readonly #watchers = new Watchers();
  /** True for the store behind a {@link JoinedStore}, which leaves work beside the transaction to the other. */
  readonly #isJoined: boolean;
  /** Of a joined store: the changes until the host commits. */
  readonly #held: Change[] = [];
  #closed = false;

  /**
   * @param pools a `pg` Pool, or two: they stay open when the store closes. The tables are in the first schema of the
   * connections' `search_path`. Tables of the host may be in another schema; see {@link PostgresStore.join}.
   * @throws FhirError `invalid` - an option is out of its range.
   */
  constructor(pools: PostgresPool | PostgresPools, options: PostgresStoreOptions = {}) {
    this.#config = resolveConfig(options);
    this.#isJoined = pools instanceof JoinedPool;
    this.model = this.#config.model;
    this.maxResourceBytes = this.#config.maxResourceBytes;
    this.maxResourceValues = this.#config.maxResourceValues;
    this.#routes = new Routes(pools, this.#config);
    this.readsAreCurrent = !this.#routes.hasReplicas;
    const { writer } = this.#routes;
    this.#status = new IndexStatus(writer, this.model);
    this.#segments = new PostgresSegments(this.model);
    this.#refresh = new SegmentRefresh(
      new PostgresRefreshPort(writer, this.#status, this.#segments),
      // Commits of a load note no write before there is a list.
      Infinity,
    );
    this.#commits = new Commits(writer, this.#config, this.#status, this.#segments);
    this.#work = new IndexWork(writer, this.#status, this.model, this.#config.attempts);
    this.#background = backgroundReindexing(this.#work, storeError);
    this.#preparation = new Preparation(writer, this.#config, this.#status, this.#work, this.#background);
    this.#statistics = new Statistics(writer);
    this.#feedUpkeep = new FeedUpkeep(writer, this.#config.changeRetention);
  }

  async read(keys: readonly ResourceKey[], options?: CallOptions): Promise<readonly ReadResult[]> {
    const texts = new CallTexts(options);
    const sized = await this.#answer(options, (bounded) => this.#smallReads.run(keys, bounded?.signal, texts));
    for (const { bytes } of sized) texts.takes(bytes);
    const results = sized.map(({ result }) => result);
    this.#commits.missing.note(keys, results);
    return results;
  }

  async search(query: SearchQuery, options?: CallOptions): Promise<SearchPage> {
    return this.#answer(options, (bounded) =>
      this.#searched(query, [], bounded, (index) =>
        search(this.model, query, { ...index, texts: new CallTexts(options, query.shortens) }),
      ),
    );
  }

  async searchByReference(
    query: SearchQuery,
    parameter: string,
    targets: readonly ReferenceTarget[],
    options?: CallOptions,
  ): Promise<readonly SearchPage[]> {
    return this.#answer(options, (bounded) =>
      this.#searched(query, [parameter], bounded, (index) =>
        searchByReference(this.model, query, parameter, targets, { ...index, texts: new CallTexts(options) }, options),
      ),
    );
  }

  async commit(writes: readonly Write[], options?: CallOptions): Promise<readonly WriteResult[]> {
    this.#assertWritable();
    const commit: Work<readonly WriteResult[]> = async (bounded) => {
      const { results, changes } = await this.#smallCommits.run(writes, bounded?.signal);
      if (this.#isJoined) this.#held.push(...changes);
      else this.#noteWritten(changes);
      return results;
    };
    return writtenUntilDeadline(options, (bounded) =>
      this.#perform(bounded, (call) => this.#ofFirst(() => commit(call))),
    );
  }

  #noteWritten(changes: readonly Change[]): void {
    for (const { key } of changes) this.#routes.wrote(key.project);
    this.#statistics.wrote(changes.length);
    this.#refresh.wrote(changes);
    this.#publish(changes);
  }

  /**
   * A view of this store inside the transaction that the host has open on a client: FHIR's resources and the host's own
   * rows are committed together, or not at all.
   *
   * Join right after BEGIN: the transaction becomes SERIALIZABLE, so its first query must not come before. A commit
   * through the view that is refused leaves the transaction as it was before it. If PostgreSQL refuses the transaction
   * (40001 at any statement or at COMMIT, a `conflict` of the view), roll back and repeat it all.
   *
   * @param client of `pg`, or compatible; its `search_path` leads to the tables of this store
   * @throws FhirError `invalid` - no transaction is open, or it has a query already
   * @throws FhirError `unavailable` - the store only reads, or its definitions are not those of the database
   * @example
   * await client.query('BEGIN');
   * const joined = await store.join(client);
   * await createRepository({ store: joined, caller }).create(appointment);
   * await client.query('INSERT INTO booking (room) VALUES ($1)', [room]);
   * await client.query('COMMIT');
   * joined.committed();
   */
  async join(client: Pick<PostgresClient, 'query'>): Promise<JoinedStore> {
    this.#assertWritable();
    // The tables must be there, and not be made in the transaction.
    await this.#perform(undefined, async () => this.#status.refresh());
    this.#status.assertOurs();
    const pool = await JoinedPool.over(client).catch((error: unknown) => Promise.reject(storeError(error)));
    const inside = new PostgresStore(pool, {
      ...this.#config,
      ...{ reindex: 'manual', preparedStatements: false, attempts: 1, connectionWait: LONGEST_WAIT },
    });
    return joinedStore(
      inside,
      (writes, options) => inside.commit(writes, options),
      () => this.#noteWritten(inside.#held.splice(0)),
    );
  }

  /**
   * Another process with other definitions may have prepared the database while it was empty: it belongs to the first
   * that writes.
   */
  async #ofFirst<Result>(commit: () => Promise<Result>): Promise<Result> {
    try {
      return await commit();
    } catch (error) {
      if (!(error instanceof FhirError) || !isIndexTakenOver(error)) throw error;
      await prepareSchema(this.#routes.writer, { ...this.#config, opening: 'user' });
      if (!(await this.#status.load()).isOurs) throw error;
      return commit();
    }
  }

  async history(key: ResourceKey, page: VersionRange, options?: CallOptions): Promise<HistoryPage> {
    return this.#answer(options, (bounded) =>
      history(key, page, this.#routes.readerOf(key.project, bounded).run, new CallTexts(options, page.shortens)),
    );
  }

  async typeHistory(query: TypeHistoryQuery, options?: CallOptions): Promise<readonly TypeHistoryEntry[]> {
    return this.#answer(options, (bounded) =>
      typeHistory(query, this.#routes.readerOf(query.project, bounded).run, new CallTexts(options, query.shortens)),
    );
  }

  /**
   * Counted in the database, by the commits of every process. It is read from the same server as resources, so that a
   * replica reports a change when it has it.
   */
  async accessEpoch(options?: CallOptions): Promise<string> {
    // Every request that signs in reads it, so concurrent requests share a read.
    return this.#answer(options, () => this.#accessEpoch.get());
  }

  async changes(query: ChangesQuery, options?: CallOptions): Promise<ChangePage> {
    return this.#answer(options, async (bounded) => {
      const { run } = readerOn(this.#routes.writer, bounded);
      const again = (): void => this.#watchers.notify([query.project]);
      const page = await this.#changes.page(query, this.#config.changeRetention, run, again);
      // The versions are read where they are there already.
      if (page.changes.length > 0) this.#routes.wrote(query.project);
      return page;
    });
  }

  /** Hears of the commits of this store, not of those of other processes. */
  watch(project: string, listener: () => void): () => void {
    return this.#watchers.watch(project, listener);
  }

  async explain(call: StoreCall, options?: CallOptions): Promise<readonly StatementPlan[]> {
    const project = call.kind === 'read' ? (call.keys[0]?.project ?? '') : call.query.project;
    return this.#answer(options, (bounded) =>
      explainCall(this.model, call, {
        epoch: this.#status.known.epoch,
        segments: this.#segments,
        work: NO_WORK,
        ...this.#routes.readerOf(project, bounded),
      }),
    );
  }

  /**
   * Rebuilds index rows from the resources: all of them, those of a project, or the pending ones. It works in batches of
   * 200, between which others can read and write. If interrupted, the next call resumes; several processes share the
   * work.
   *
   * @returns how many resources this call indexed
   * @throws FhirError `corrupt` - a resource itself is damaged. Its type is left to re-index, and all others are done
   * @throws FhirError `aborted` - by the signal; completed batches are kept
   */
  async reindex(options: ReindexOptions = {}): Promise<number> {
    this.#assertWritable();
    const { project, pendingOnly = false, signal } = options;
    if (!pendingOnly) await this.#perform(options, () => this.#work.askAgain(project, signal));
    return reindex(options, (failed) => this.#perform(options, () => this.#work.step(failed, signal, project)));
  }

  /** @internal Whether the index of the database is of the definitions of this store. */
  async hasSameDefinitions(): Promise<boolean> {
    return this.#answer(undefined, async () => (await this.#status.load()).isOurs);
  }

  /**
   * The search parameters that are pending in a project, to the knowledge of this process: it notices a takeover by
   * another process on its next search or commit.
   */
  async pendingParameters(project: string, options?: CallOptions): Promise<readonly TypeParameter[]> {
    return this.#answer(options, () => this.#status.pendingIn(project));
  }

  /**
   * Verifies the whole database: the text of every resource, its versions and its index rows. Concurrent reads and
   * writes are possible.
   */
  async verify(options?: CallOptions): Promise<PostgresVerification> {
    const parts = { status: this.#status, segments: this.#segments };
    return this.#answer(options, (bounded) => verify(this.model, this.#routes.writer, parts, bounded?.signal));
  }

  /**
   * Vacuums all tables: rows of removed data become free space, and statistics are gathered again.
   *
   * PostgreSQL does not overwrite free space. Only `full`, which rewrites every table and locks it while it does,
   * leaves nothing of removed data in the files of the tables; the write-ahead log keeps it until it is recycled, and
   * backups keep it too.
   *
   * @param options `full`: default false
   */
  async vacuum(options: CallOptions & { readonly full?: boolean | undefined } = {}): Promise<void> {
    this.#assertWritable();
    await untilDeadline(options, (bounded) =>
      this.#perform(bounded, () => vacuum(this.#routes.writer, options.full === true, bounded?.signal)),
    );
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.all([this.#background.stop(), this.#statistics.stop(), this.#feedUpkeep.stop()]);
    await this.#refresh.close();
    this.#routes.close();
  }

  #publish(changes: readonly Change[]): void {
    const byProject = Map.groupBy(changes, ({ key }) => key.project);
    for (const [project, { length }] of byProject) this.#feedUpkeep.wrote(project, length);
    this.#watchers.notify(byProject.keys());
  }

  async #remove<Result>(project: string, options: CallOptions | undefined, work: Work<Result>): Promise<Result> {
    this.#assertWritable();
    return writtenUntilDeadline(options, async (bounded) => {
      const result = await this.#perform(bounded, work);
      this.#routes.wrote(project);
      this.#watchers.notify([project]);
      return result;
    });
  }

  #searched<Result>(
    query: SearchQuery,
    beside: readonly string[],
    options: CallOptions | undefined,
    find: (index: SearchIndex) => Promise<Result>,
  ): Promise<Result> {
    const { project, type, criteria, sort } = query;
    const parameters = (): readonly TypeParameter[] => parametersOf(type, criteria, sort, beside);
    const places = {
      reader: this.#routes.readerOf(project, options),
      writer: readerOn(this.#routes.writer, options),
    };
    const work = this.#config.opening === 'reader' || this.#isJoined ? NO_WORK : this.#refresh;
    return this.#status.whileSearchable(project, parameters, places, (index) =>
      find({ ...index, segments: this.#segments, work }),
    );
  }

  #assertWritable(): void {
    if (this.#config.opening === 'reader') throw readonlyStore();
  }

  /** A read-only call: its signal ends it at once; pending work is cleaned up in the background. */
  #answer<Result>(options: CallOptions | undefined, work: Work<Result>): Promise<Result> {
    return untilDeadline(options, (bounded) =>
      untilCallEnds(this.#perform(bounded, work), { signal: bounded?.signal }),
    );
  }

  /** Runs the work of one call. Everything it throws becomes a `FhirError`. */
  async #perform<Result>(options: CallOptions | undefined, work: Work<Result>): Promise<Result> {
    if (this.#closed) throw storeClosed();
    assertNotAborted(options);
    try {
      // Other calls wait for the same preparation, so it continues.
      await untilCallEnds(this.#preparation.done(), { signal: options?.signal });
      return await work(options);
    } catch (error) {
      throw storeError(error);
    }
  }
}

/** In milliseconds. The calls of a transaction wait for each other, however long one takes. */
const LONGEST_WAIT = 0x7fffffff;

type Work<Result> = (options: CallOptions | undefined) => Promise<Result>;
