import { LRUCache } from 'lru-cache';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { ChangeFeed } from '../../store/change-feed.js';
import { assertNotAborted, callAborted, storeClosed } from '../../store/guards.js';
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
import { Commits } from './commit.js';
import { type PostgresStoreConfig, type PostgresStoreOptions, resolveConfig } from './config.js';
import { Connections } from './connections.js';
import type { PostgresPool } from './driver.js';
import { storeError } from './errors.js';
import { explainCall } from './explain.js';
import { type PostgresVerification, reindex, verify } from './maintenance.js';
import { history, read } from './reads.js';
import { prepareSchema } from './schema.js';
import { type Run, search, searchByReference } from './search.js';
import { untilDeadline } from './until-deadline.js';
import type { Committed } from '../sql/commit-results.js';

/** Where a store writes, and where it reads what it has not just written itself. */
export interface PostgresPools {
  readonly writer: PostgresPool;
  /** A pool over replicas. */
  readonly readers: PostgresPool;
}

/**
 * A store in a PostgreSQL database (13 or later), for any number of connections and processes.
 *
 * The first call makes or updates the tables. Every statement names one project. Nothing of a commit that rejects is half
 * written, and nothing of it is written at all unless the error's details say `unknown: true`: then it was lost on the way,
 * or its signal fired while it was being written, and only a read tells.
 *
 * @example
 * const store = new PostgresStore(new Pool({ connectionString, max: 20 }));
 */
export class PostgresStore implements ResourceStore {
  readonly model: FhirModel;
  readonly #writer: Connections;
  readonly #readers: Connections;
  readonly #commits: Commits;
  readonly #config: PostgresStoreConfig;
  readonly #feed = new ChangeFeed();
  /** Projects that this process has just written. */
  readonly #written: LRUCache<string, true> | undefined;
  #prepared: Promise<void> | undefined;
  #closed = false;

  /**
   * @param pools a `pg` Pool, or two: they stay open when the store closes. The tables are in the first schema of the
   * connections' `search_path`, which holds nothing else.
   * @throws FhirError `invalid` - an option is out of its range.
   */
  constructor(pools: PostgresPool | PostgresPools, options: PostgresStoreOptions = {}) {
    this.#config = resolveConfig(options);
    this.model = this.#config.model;
    const { readOwnWrites } = this.#config;
    const { writer, readers } = 'writer' in pools ? pools : { writer: pools, readers: pools };
    this.#writer = new Connections(writer, this.#config);
    this.#readers = readers === writer ? this.#writer : new Connections(readers, this.#config);
    this.#commits = new Commits(this.#writer, this.#config);
    if (readers !== writer && readOwnWrites > 0) this.#written = new LRUCache({ max: MAX_WRITTEN, ttl: readOwnWrites });
  }

  async read(keys: readonly ResourceKey[], options?: CallOptions): Promise<readonly ReadResult[]> {
    return this.#answer(options, async (bounded) => {
      const results: ReadResult[] = [];
      await Promise.all(
        [...Map.groupBy(keys.entries(), ([, { project }]) => project)].map(async ([project, ofProject]) => {
          const answers = await read(
            ofProject.map(([, key]) => key),
            this.#runOn(project, bounded),
          );
          ofProject.forEach(([index], position) => (results[index] = answers[position]!));
        }),
      );
      return results;
    });
  }

  async search(query: SearchQuery, options?: CallOptions): Promise<SearchPage> {
    return this.#answer(options, (bounded) => search(this.model, query, this.#runOn(query.project, bounded)));
  }

  async searchByReference(
    query: SearchQuery,
    parameter: string,
    targets: readonly ReferenceTarget[],
    options?: CallOptions,
  ): Promise<readonly SearchPage[]> {
    return this.#answer(options, (bounded) =>
      searchByReference(this.model, query, parameter, targets, this.#runOn(query.project, bounded)),
    );
  }

  async commit(writes: readonly Write[], options?: CallOptions): Promise<readonly WriteResult[]> {
    const commit: Work<Committed> = (bounded) => this.#commits.commit(writes, bounded?.signal);
    const { results, changes } = await untilDeadline(options, (bounded) => this.#perform(bounded, commit));
    for (const { key } of changes) this.#written?.set(key.project, true);
    this.#feed.publish(changes);
    return results;
  }

  async history(
    key: ResourceKey,
    page: { readonly offset: number; readonly limit: number },
    options?: CallOptions,
  ): Promise<HistoryPage> {
    return this.#answer(options, (bounded) => history(key, page, this.#runOn(key.project, bounded)));
  }

  /** Tells of the commits of this store; those of other processes are not heard. */
  subscribe(listener: (changes: readonly Change[]) => void): () => void {
    return this.#feed.subscribe(listener);
  }

  async explain(call: StoreCall, options?: CallOptions): Promise<readonly StatementPlan[]> {
    const project = call.kind === 'read' ? (call.keys[0]?.project ?? '') : call.query.project;
    return this.#answer(options, (bounded) => explainCall(this.model, call, this.#runOn(project, bounded)));
  }

  /**
   * Indexes every current resource anew while others read and write, a few hundred at a time.
   *
   * To be run once, when all processes have a version of this library that extracts more than the one before: the changes
   * say so, and the first call of a store warns of it (`FHIRGRAPH_INDEX`). Until it is done, searches may miss what only the
   * new version extracts. Broken off, it starts over.
   *
   * @returns how many.
   */
  async reindex(options?: CallOptions): Promise<number> {
    return this.#perform(options, (bounded) =>
      reindex(this.model, this.#writer, this.#config.attempts, bounded?.signal),
    );
  }

  /**
   * Looks at the whole database: the text of every resource, its versions and its index rows. Others read and write
   * meanwhile.
   */
  async verify(options?: CallOptions): Promise<PostgresVerification> {
    return this.#answer(options, (bounded) => verify(this.model, this.#writer, bounded?.signal));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#writer.close();
    if (this.#readers !== this.#writer) this.#readers.close();
  }

  /** Statements about a project, each on a connection of its own. */
  #runOn(project: string, options: CallOptions | undefined): Run {
    const connections = this.#written?.has(project) === true ? this.#writer : this.#readers;
    return (statement) => connections.run(statement, options?.signal);
  }

  /** A call that only reads: its signal ends it at once, and what it waited for is cleared away behind. */
  #answer<Result>(options: CallOptions | undefined, work: Work<Result>): Promise<Result> {
    return untilDeadline(options, (bounded) => untilAborted(this.#perform(bounded, work), bounded?.signal));
  }

  /** Runs the work of one call. Everything it throws becomes a `FhirError`. */
  async #perform<Result>(options: CallOptions | undefined, work: Work<Result>): Promise<Result> {
    if (this.#closed) throw storeClosed();
    assertNotAborted(options);
    try {
      // Others wait for the same preparation, so it goes on.
      await untilAborted(this.#prepare(), options?.signal);
      return await work(options);
    } catch (error) {
      throw storeError(error);
    }
  }

  /** Once; after a failure the next call tries again. */
  #prepare(): Promise<void> {
    this.#prepared ??= prepareSchema(this.#writer, this.#config.partitions).catch((error: unknown) => {
      this.#prepared = undefined;
      throw error;
    });
    return this.#prepared;
  }
}

/** What a call does, under its signal. */
type Work<Result> = (options: CallOptions | undefined) => Promise<Result>;

/** What the promise comes to, or `aborted` when the signal fires before. */
async function untilAborted<Result>(promise: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (signal === undefined) return promise;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(callAborted(signal));
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Projects remembered as just written; beyond that the oldest may be read from replicas. */
const MAX_WRITTEN = 100_000;
