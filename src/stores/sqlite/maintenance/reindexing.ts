import { BackgroundWork, type StepResult } from '../../sql/background-work.js';
import { AT_ONCE } from '../../sql/reindex.js';
import type { SqliteDatabase } from '../database/driver.js';
import { storeError } from '../database/errors.js';
import type { BatchResult, IndexWork } from './index-work.js';
import { isBusy } from '../database/transaction.js';

/** Schedules re-indexing: immediately if there is little to do, otherwise in the background or on request. */
export class Reindexing {
  readonly #database: SqliteDatabase;
  readonly #work: IndexWork;
  readonly #background: BackgroundWork;
  readonly #onDone: () => void;

  /** @param onDone called when background work has ended */
  constructor(database: SqliteDatabase, work: IndexWork, onDone: () => void) {
    this.#onDone = onDone;
    this.#database = database;
    this.#work = work;
    this.#background = new BackgroundWork('Re-indexing failed', () => this.#stepBeside(), storeError);
  }

  /** Starts remaining work, if any: an up-to-date file is opened without the write lock. */
  begin(): void {
    if (this.#work.countUpTo(AT_ONCE + 1) > AT_ONCE) {
      this.#background.start();
      return;
    }
    try {
      while (this.#work.isLeft) this.#work.step(() => true);
    } catch (error) {
      if (!isBusy(error)) throw error;
      this.#background.start();
    }
  }

  /** Queues all rows of a project for re-indexing. They stay complete throughout. */
  askAgain(project: string): void {
    this.#work.askAgain(project);
  }

  /** Does the next batch. @returns undefined if nothing is left to do */
  step(project: string | undefined): BatchResult | undefined {
    return this.#work.step(forSomeTime(), project);
  }

  async stop(): Promise<void> {
    await this.#background.stop();
  }

  /** Never waits for another process's lock, because the wait would block everything else in this process. */
  #stepBeside(): StepResult {
    // The connection belongs to the host, or the host has closed it.
    if (!this.#database.open) return 'done';
    if (this.#database.inTransaction) return 'later';
    const timeout = Number(this.#database.pragma('busy_timeout', { simple: true }));
    this.#database.pragma('busy_timeout = 0');
    try {
      if (this.#work.step(forSomeTime()) !== undefined) return 'more';
      this.#onDone();
      return 'done';
    } catch (error) {
      if (isBusy(error)) return 'later';
      throw storeError(error);
    } finally {
      this.#database.pragma(`busy_timeout = ${timeout}`);
    }
  }
}

/** The duration of a batch, in milliseconds. */
const BATCH_MS = 8;

/** One resource may take as long as a thousand others. */
function forSomeTime(): () => boolean {
  const end = performance.now() + BATCH_MS;
  return () => performance.now() < end;
}
