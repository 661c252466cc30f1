import { BackgroundWork, type StepResult } from '../sql/background-work.js';
import { sql } from '../sql/sql.js';
import type { Connections } from './connections.js';
import { GROWING_TABLES } from './table-names.js';

/** Only tests change it. */
export const STATISTICS = {
  /** Resources that a process has written when it first gathers statistics; then at twice as many, and so on. */
  first: 10_000,
};

/**
 * Gathers the planner's statistics during bulk loads, and notes which pages every transaction sees: indexes answer alone for
 * these. Autovacuum would begin up to a minute after them, and chains and counts are slow until then. VACUUM reads new pages
 * only, and no index where nothing was removed.
 */
export class Statistics {
  readonly #work: BackgroundWork;
  #written = 0;
  #next = STATISTICS.first;

  constructor(connections: Connections) {
    this.#work = new BackgroundWork(
      'The statistics of PostgreSQL are not renewed',
      async (signal): Promise<StepResult> => {
        for (const table of GROWING_TABLES) await connections.run(sql`VACUUM (ANALYZE, SKIP_LOCKED) ${table}`, signal);
        return 'done';
      },
    );
  }

  /** To be called after each commit. */
  wrote(resources: number): void {
    this.#written += resources;
    if (this.#written < this.#next) return;
    this.#next = this.#written * 2;
    this.#work.start();
  }

  async stop(): Promise<void> {
    await this.#work.stop();
  }
}
