import { BackgroundWork, type StepResult } from '../../sql/background-work.js';
import { sql } from '../../sql/sql.js';
import { NOW } from '../rows/feed.js';
import type { Connections } from '../database/connections.js';
import { storeError } from '../database/errors.js';
import { projectKey } from '../rows/keys.js';

/** Only tests change it. */
export const FEED_TUNING = {
  /** A project's oldest changes are removed after about so many new ones, up to five times as many at once. */
  every: 1_000,
};

/** Forgets the oldest commits of the projects that this process writes to, in the background. */
export class FeedUpkeep {
  readonly #work: BackgroundWork;
  readonly #projects = new Set<string>();

  /** @param retention how long commits are kept, in milliseconds */
  constructor(writer: Connections, retention: number) {
    const step = async (signal: AbortSignal): Promise<StepResult> => {
      for (const project of this.#projects) {
        if (await forget(writer, projectKey(project), retention, signal)) return 'more';
        this.#projects.delete(project);
      }
      return 'done';
    };
    this.#work = new BackgroundWork('Old changes are not removed', step, storeError);
  }

  /** To be called after each commit. */
  wrote(project: string, changes: number): void {
    // By chance, so that it comes to projects with few writes too, however often the process ends.
    if (Math.random() * FEED_TUNING.every >= changes) return;
    this.#projects.add(project);
    this.#work.start();
  }

  stop(): Promise<void> {
    return this.#work.stop();
  }
}

/**
 * Forgets commits of a project. The last of them stays, with version 0: positions at it are still right, and nothing is known
 * of what came before it.
 *
 * @returns whether there may be more
 */
async function forget(writer: Connections, shard: string, retention: number, signal: AbortSignal): Promise<boolean> {
  const most = 5 * FEED_TUNING.every;
  const [row] = await writer.run(
    sql`WITH oldest AS MATERIALIZED (SELECT number, at < ${NOW} - ${retention}::bigint AS old FROM fhirgraph_change
        WHERE project = ${shard} ORDER BY number LIMIT ${most}::int),
      last AS MATERIALIZED (SELECT max(number) AS number FROM oldest WHERE old),
      gone AS (DELETE FROM fhirgraph_change WHERE project = ${shard} AND number < (SELECT number FROM last)),
      kept AS (UPDATE fhirgraph_change SET version = 0
        WHERE project = ${shard} AND number = (SELECT number FROM last) AND version <> 0)
      SELECT count(*) = ${most}::int AND bool_and(old) AND count(DISTINCT number) > 1 FROM oldest`,
    signal,
  );
  return row![0] === true;
}
