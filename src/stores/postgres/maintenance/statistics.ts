import { BackgroundWork, type StepResult } from '../../sql/background-work.js';
import { type Sql, sql } from '../../sql/sql.js';
import type { Connections } from '../database/connections.js';
import { storeError } from '../database/errors.js';
import { GROWING_TABLES } from '../rows/table-names.js';

/** Only tests change it. */
export const STATISTICS = {
  /** Resources that a process has written when it first gathers statistics; then at twice as many, and so on. */
  first: 10_000,
  /** Milliseconds without a commit after which a process gathers statistics of the resources loaded since. */
  quiet: 1_000,
};

/**
 * Gathers the planner's statistics during and after bulk loads, and updates the visibility map, so that indexes alone
 * answer for pages that every transaction sees. Autovacuum would begin up to a minute later, and chains and counts are
 * slow until then. VACUUM reads only new pages, and no index if nothing was removed.
 */
export class Statistics {
  readonly #work: BackgroundWork;
  #written = 0;
  #next = STATISTICS.first;
  /** How many resources had been written when statistics were last gathered. */
  #gathered = 0;
  /** The time of the last commit, on the clock of `performance.now()`. */
  #last = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly connections: Connections) {
    this.#work = new BackgroundWork(
      'The statistics of PostgreSQL are not renewed',
      async (signal): Promise<StepResult> => {
        await this.#gather(signal);
        return 'done';
      },
      storeError,
    );
  }

  /** To be called after each commit. */
  wrote(resources: number): void {
    this.#written += resources;
    this.#last = performance.now();
    if (this.#written >= this.#next) {
      this.#next = this.#written * 2;
      this.#work.start();
    }
    if (this.#isLoaded) this.#timer ??= setTimeout(() => this.#whenQuiet(), STATISTICS.quiet).unref();
  }

  /** Stops. Gathers the statistics of a load that has ended. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#work.stop();
    // The planner works without statistics.
    if (this.#isLoaded) await this.#gather(undefined).catch(() => undefined);
  }

  /** True if much was written since statistics were gathered, also as a share of all that this process has written. */
  get #isLoaded(): boolean {
    const since = this.#written - this.#gathered;
    return since >= STATISTICS.first && since * MIN_SHARE >= this.#written;
  }

  /** Starts the work after the last commit of a load. */
  #whenQuiet(): void {
    const left = this.#last + STATISTICS.quiet - performance.now();
    this.#timer = left > 0 ? setTimeout(() => this.#whenQuiet(), left).unref() : undefined;
    if (left <= 0 && this.#isLoaded) this.#work.start();
  }

  async #gather(signal: AbortSignal | undefined): Promise<void> {
    const written = this.#written;
    for (const table of GROWING_TABLES) {
      await this.connections.run(sql`VACUUM (SKIP_LOCKED) ${table}`, signal);
      await this.connections.run(analysis(table), signal);
    }
    this.#gathered = written;
  }
}

/** PERF (import-rate): the default sample takes five times as long. Autovacuum takes that sample later. */
function analysis(table: Sql): Sql {
  return sql`SET LOCAL default_statistics_target = 20; ANALYZE (SKIP_LOCKED) ${table}`;
}

/** The writes since statistics were gathered must be at least one part of this many. */
const MIN_SHARE = 5;
