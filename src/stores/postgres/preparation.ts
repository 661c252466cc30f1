import { LOOP_TURN } from '../../platform/pace.js';
import { runAwaiting } from '../ask.js';
import type { BackgroundWork } from '../sql/background-work.js';
import { warnOfOtherDefinitions } from '../sql/opening.js';
import { reindexFew } from '../sql/reindex.js';
import type { PostgresStoreConfig } from './database/config.js';
import type { Connections } from './database/connections.js';
import type { IndexStatus } from './schema/index-status.js';
import type { IndexWork } from './maintenance/index-work.js';
import { prepareSchema } from './schema/prepare-schema.js';

/** What the first call of a store waits for: the tables, and index rows that are rebuilt at once if they are few. */
export class Preparation {
  #prepared: Promise<void> | undefined;

  constructor(
    private readonly writer: Connections,
    private readonly config: PostgresStoreConfig,
    private readonly status: IndexStatus,
    private readonly work: IndexWork,
    private readonly background: BackgroundWork,
  ) {}

  /** Prepares once; after a failure, the next call tries again. */
  done(): Promise<void> {
    this.#prepared ??= this.#prepareOnce().catch((error: unknown) => {
      this.#prepared = undefined;
      throw error;
    });
    return this.#prepared;
  }

  async #prepareOnce(): Promise<void> {
    const { opening } = this.config;
    await prepareSchema(this.writer, this.config);
    const { isOurs, pending } = await this.status.load();
    if (!isOurs && opening === 'user') warnOfOtherDefinitions();
    if (!isOurs || opening === 'reader') return;
    if (Object.keys(pending).length === 0 || this.config.reindex === 'manual') return;
    if (!(await this.#workAtOnce())) this.background.start();
  }

  /** @returns false if work is left: it is much, or other processes are doing it, or it failed and will be retried */
  async #workAtOnce(): Promise<boolean> {
    try {
      const isDone = await runAwaiting(reindexFew(), this.work, LOOP_TURN);
      await this.status.load();
      return isDone;
    } catch {
      return false;
    }
  }
}
