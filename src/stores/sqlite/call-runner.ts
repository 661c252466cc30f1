import { FhirError } from '../../fhir/error.js';
import { LOOP_TURN } from '../../platform/pace.js';
import { assertNotAborted, storeClosed } from '../../store/guards.js';
import type { CallOptions } from '../../store/call-options.js';
import type { Write } from '../../store/write.js';
import type { Committed, LongCommitted } from '../sql/commit-results.js';
import { readonlyStore } from '../sql/opening.js';
import { CommitGroups, type CommitRunner } from './commit-groups.js';
import type { SqliteStoreConfig } from './config.js';
import { CHECKPOINT_PAGES } from './database/configure.js';
import type { Connection } from './connection.js';
import { storeError } from './database/errors.js';
import { TOO_LONG, TooLong } from './database/guard.js';
import { NoThreads } from './threads/pool.js';
import { isLarge } from './threads/text-writes.js';
import type { Threads } from './threads/threads.js';
import { doWork, SEARCHES, type WorkArguments, type WorkName, type WorkResult, WRITING } from './threads/work.js';
import { THREAD_TUNING } from './database/tuning.js';
import { isBusy } from './database/transaction.js';

/**
 * Decides where the work of a call runs. Without threads it all runs in the event loop. With threads it begins there, and
 * a thread takes over where the work takes long or another connection holds the lock.
 *
 * Whatever the work throws becomes a `FhirError`.
 */
export class CallRunner {
  readonly #busyTimeout: number;
  readonly #clock: () => Date;
  readonly #groups: CommitGroups;
  #startedThreads: Threads | undefined;
  readonly isReadonly: boolean;
  #isClosed = false;
  #newThreads: (() => Threads) | undefined;
  /** When threads that could not start are tried again, on the clock of `performance.now()`. */
  #retryAt = Infinity;
  /** How often in succession they could not start. */
  #failures = 0;

  /** @param busyTimeout how long a write waits for the lock of another connection, in milliseconds */
  constructor(
    private readonly connection: Connection,
    { busyTimeout, clock, opening }: Pick<SqliteStoreConfig, 'busyTimeout' | 'clock' | 'opening'>,
    private readonly ownsDatabase: boolean,
  ) {
    this.isReadonly = opening === 'reader';
    this.#clock = clock;
    this.#groups = new CommitGroups(this.#commitRunner());
    this.#busyTimeout = busyTimeout;
  }

  useThreads(create: () => Threads): void {
    this.#newThreads = create;
    this.#retryAt = Infinity;
    this.#startedThreads = create();
    const { database } = this.connection;
    database.pragma(`wal_autocheckpoint = ${LATE_CHECKPOINT_PAGES}`);
    // Waiting for a lock happens in a thread.
    database.pragma('busy_timeout = 0');
  }

  /** Undefined without threads, and for some time after they could not start. */
  get #threads(): Threads | undefined {
    if (this.#startedThreads === undefined && performance.now() >= this.#retryAt) this.useThreads(this.#newThreads!);
    return this.#startedThreads;
  }

  get isClosed(): boolean {
    // PERF (scale): asking the driver takes 0.1 µs, and a database of our own closes with the store alone.
    return this.#isClosed || !(this.ownsDatabase || this.connection.database.open);
  }

  /** Whether other work is due before the next piece of a call. False without threads, which promise no fairness. */
  get isTurnSpent(): boolean {
    return this.#threads !== undefined && LOOP_TURN.isSpent;
  }

  /** Waits until other work has had its turn, before a call. */
  nextTurn(): Promise<void> {
    return LOOP_TURN.next();
  }

  /** The same between the parts of a long call. */
  nextTurnOfLong(): Promise<void> {
    return LOOP_TURN.nextOfLong();
  }

  /** @throws FhirError `unavailable` */
  assertWritable(): void {
    if (this.isReadonly) throw readonlyStore();
  }

  /** Runs short work in the event loop. */
  run<Result>(options: CallOptions | undefined, work: () => Result): Result {
    return this.runUnchecked(options, () => {
      // The file may have been put back to an earlier copy.
      this.connection.status.noteRemovals();
      return work();
    });
  }

  /** The same for work whose caller checks whether the caches were those of the file: in a write transaction, or after a read. */
  runUnchecked<Result>(options: CallOptions | undefined, work: () => Result): Result {
    if (this.isClosed) throw storeClosed();
    assertNotAborted(options);
    try {
      if (this.connection.isUnsettled) this.connection.settle();
      return this.connection.guard.run(options?.deadline, work);
    } catch (error) {
      throw storeError(error);
    }
  }

  /**
   * Does the work of a call. It begins in the event loop, and a thread does again what takes long there, or meets the lock
   * of another connection.
   *
   * @param readAhead does in turns of the event loop what makes long work short; undefined if nothing does
   */
  async call<Name extends WorkName>(
    name: Name,
    args: WorkArguments<Name>,
    options?: CallOptions,
    readAhead?: () => Promise<void> | undefined,
  ): Promise<WorkResult<Name>> {
    if (WRITING.has(name)) this.assertWritable();
    if (this.isTurnSpent) await LOOP_TURN.next();
    const inline = (): WorkResult<Name> => doWork(this.connection, name, args);
    if (this.#mayBeBrief(name)) {
      // PERF (scale): a thread takes 100 ms of CPU to start, and then runs code that is not compiled yet either.
      const found = this.#briefly(options, inline, this.#threads!.hasReader ? 1 : PATIENCE);
      if (!(found instanceof TooLong)) return found;
      const reading = this.isClosed ? undefined : readAhead?.();
      if (reading !== undefined) {
        await reading;
        // PERF (scale): a thread would take several times as long.
        const again = this.#briefly(options, inline, PATIENCE);
        if (!(again instanceof TooLong)) return again;
      }
    }
    return this.#inThread(options, (threads) => threads.run(name, args, options), inline);
  }

  /** Runs a commit: large ones in the thread that writes, small ones together with others of this moment. */
  async commit(writes: readonly Write[], options: CallOptions | undefined): Promise<LongCommitted> {
    this.assertWritable();
    if (this.#threads === undefined) return this.run(options, () => this.connection.commits.commit(writes));
    this.run(options, () => undefined);
    return writes.length < THREAD_TUNING.largeCommit && !writes.some(isLarge)
      ? this.#groups.commit(writes, options)
      : this.#commitInThread(writes, options);
  }

  /** Runs a commit within the transaction that the host has open. */
  commitJoined(writes: readonly Write[], options: CallOptions | undefined): Committed {
    this.assertWritable();
    return this.run(options, () => {
      if (!this.connection.database.inTransaction) throw notInTransaction();
      this.connection.isUnsettled = true;
      return this.connection.commits.commit(writes, true);
    });
  }

  /** Runs in a thread, or in the event loop of a store without threads. */
  async #inThread<Result>(
    options: CallOptions | undefined,
    inThread: (threads: Threads) => Promise<Result>,
    inline: () => Result,
  ): Promise<Result> {
    const threads = this.#threads;
    if (threads === undefined) return this.run(options, inline);
    this.run(options, () => undefined);
    try {
      const result = await inThread(threads);
      this.#failures = 0;
      return result;
    } catch (error) {
      if (!(error instanceof NoThreads)) throw error;
      this.#goOnWithout(threads, error);
      return this.run(options, inline);
    }
  }

  /** Whether work may end soon: that over the whole file does where it is small and unlocked. */
  #mayBeBrief(name: WorkName): boolean {
    if (this.#threads === undefined) return false;
    if (SEARCHES.has(name)) return true;
    if (this.#threads.isWriting) return false;
    return this.run(undefined, () => {
      const [pages] = this.connection.statements.read('PRAGMA page_count').get() as [number];
      return pages < THREAD_TUNING.smallFile;
    });
  }

  /** Refuses further calls. @returns false if it was closed before */
  close(): boolean {
    const wasOpen = !this.#isClosed;
    this.#groups.finish();
    this.#isClosed = true;
    return wasOpen;
  }

  async closeThreads(): Promise<void> {
    this.#retryAt = Infinity;
    await this.#startedThreads?.close();
  }

  #commitRunner(): CommitRunner {
    const { commits } = this.connection;
    const note = (writes: number): void => this.#threads?.noteCommit(writes);
    const isWriting = (): boolean => this.#threads?.isWriting === true;
    return {
      get isWriting() {
        return isWriting();
      },
      get isTurnSpent() {
        return LOOP_TURN.isSpent;
      },
      betweenWrites: (work) => (this.#threads === undefined ? work() : this.#threads.betweenWrites(work)),
      together: (lists) => {
        const done = this.#briefly(undefined, () => commits.commitTogether(lists));
        if (!(done instanceof TooLong)) note(lists.flat().length);
        return done;
      },
      alone: async (writes, options) => {
        const done = this.#briefly(options, () => commits.commit(writes));
        if (done instanceof TooLong) return this.#commitInThread(writes, options);
        note(writes.length);
        return done;
      },
      inThread: (writes, options) => this.#commitInThread(writes, options),
    };
  }

  #commitInThread(writes: readonly Write[], options: CallOptions | undefined): Promise<LongCommitted> {
    const inThread = (threads: Threads) => threads.commit(writes, this.#clock().getTime(), options);
    return this.#inThread(options, inThread, () => this.connection.commits.commit(writes));
  }

  /**
   * Runs work that gives up where it takes long, or another connection has the lock that it needs.
   *
   * @param patience how many times as long as usual it may take
   */
  #briefly<Result>(options: CallOptions | undefined, work: () => Result, patience = 1): Result | TooLong {
    const { inlineMs } = THREAD_TUNING;
    if (inlineMs < 0) return TOO_LONG;
    return this.runUnchecked(options, () =>
      unlessLocked(() => this.connection.guard.briefly(patience * inlineMs, work)),
    );
  }

  #goOnWithout(threads: Threads, { message, cause }: NoThreads): void {
    if (this.#startedThreads !== threads) return;
    this.#startedThreads = undefined;
    void threads.retire();
    this.#failures += 1;
    const pause = THREAD_TUNING.retryMs * 2 ** (this.#failures - 1);
    this.#retryAt = performance.now() + Math.min(pause, LONGEST_PAUSE_MS);
    const { database } = this.connection;
    if (database.open) {
      database.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
      database.pragma(`busy_timeout = ${this.#busyTimeout}`);
    }
    if (this.#failures > 1) return;
    const reason = cause instanceof Error ? ` (${cause.message})` : '';
    process.emitWarning(`${message}${reason}; long statements run in the event loop`, { code: 'FHIRGRAPH_THREADS' });
  }
}

/** The refusal of a call over a joined store. */
export function notInTransaction(): FhirError {
  return new FhirError('invalid', "The host's database has no transaction open to join");
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

/** How many times as long work may take in the event loop where no thread is there, or after its `readAhead`. */
const PATIENCE = 1.75;

/** The longest time before threads that could not start are tried again, in milliseconds. */
const LONGEST_PAUSE_MS = 60_000;

/** Where a thread carries the log to the database: it is late if the event loop does it. */
const LATE_CHECKPOINT_PAGES = 4 * CHECKPOINT_PAGES;
