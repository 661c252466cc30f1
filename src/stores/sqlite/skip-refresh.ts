import type { CallRunner } from './call-runner.js';
import type { Connection } from './connection.js';
import type { BuiltSkipIndexes } from './skip/skip-indexes.js';
import { SKIP_TUNING } from './rows/skip-row.js';

/**
 * Builds skip indexes in threads after searches that had none, and updates them. A store without threads builds none:
 * its searches walk all rows.
 */
export class SkipRefresh {
  readonly #connection: Connection;
  readonly #calls: CallRunner;
  /** When the next attempt may begin, by type of a project. On the clock of `performance.now()`. */
  readonly #next = new Map<number, number>();
  #work: Promise<void> = Promise.resolve();
  #isWorking = false;

  constructor(connection: Connection, calls: CallRunner) {
    this.#connection = connection;
    this.#calls = calls;
  }

  /** Starts the work that searches have noted. PERF: searches rarely note any. */
  begin(): void {
    const noted = this.#connection.skipIndexes.takeNoted();
    if (noted.length === 0 || this.#isWorking || !this.#calls.hasThreads || this.#calls.isReadonly) return;
    if (!this.#calls.run(undefined, () => this.#connection.status.isOurs)) return;
    const now = performance.now();
    const due = noted.filter((collection) => now >= (this.#next.get(collection) ?? 0));
    if (due.length > 0) this.#work = this.#make(due);
  }

  /** Builds all missing skip indexes, and those of types with many writes since. */
  async finish(): Promise<void> {
    await this.#work;
    if (!this.#calls.hasThreads) return;
    await this.#make(this.#calls.run(undefined, () => this.#connection.skipIndexes.listStale()));
  }

  async #make(collections: readonly number[]): Promise<void> {
    this.#isWorking = true;
    try {
      for (const collection of collections) await this.#makeOne(collection);
    } catch {
      // The file is locked or lost, or the store was closed. Searches work without skip indexes.
    } finally {
      this.#isWorking = false;
    }
  }

  async #makeOne(collection: number): Promise<void> {
    const start = performance.now();
    this.#next.set(collection, Infinity);
    try {
      if (!this.#calls.run(undefined, () => this.#connection.skipIndexes.isStale(collection))) return;
      const build = { kind: 'build-skip-indexes', collection, sizes: { ...SKIP_TUNING } } as const;
      const built = await this.#calls.inThread<BuiltSkipIndexes | undefined>(
        undefined,
        (threads) => threads.read(build, undefined),
        nothing,
      );
      if (built === undefined || built.rows.isEmpty) return;
      const write = { kind: 'write-skip-indexes', built } as const;
      await this.#calls.inThread<null | undefined>(undefined, (threads) => threads.write(write, undefined), nothing);
    } finally {
      const now = performance.now();
      this.#next.set(collection, now + Math.max(MIN_PAUSE_MS, PAUSE_PER_WORK * (now - start)));
    }
  }
}

/** A store without threads. */
function nothing(): undefined {
  return undefined;
}

/** The pause between two attempts: at least this long, and this many times the duration of the last attempt. */
const MIN_PAUSE_MS = 1_000;
const PAUSE_PER_WORK = 2;
