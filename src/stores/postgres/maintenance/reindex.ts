import { setTimeout as delay } from 'node:timers/promises';
import type { ReindexOptions } from '../../sql/reindex.js';
import type { IndexWork } from './index-work.js';

/**
 * Rebuilds index rows in batches until none is left, and waits for the batches of other processes.
 *
 * @param perform runs one step as a call of the store
 * @returns how many resources this call indexed
 */
export async function reindex(
  work: IndexWork,
  { project, pendingOnly = false, onProgress, signal }: ReindexOptions,
  perform: <Result>(step: () => Promise<Result>) => Promise<Result>,
): Promise<number> {
  if (!pendingOnly) await perform(() => work.askAgain(project, signal));
  let count = 0;
  for (;;) {
    const batch = await perform(() => work.step(signal, project));
    if (batch === 'done') return count;
    if (batch === 'later') {
      await delay(LATER_MS, undefined, signal && { signal }).catch(() => undefined);
      continue;
    }
    count += batch.resources;
    onProgress?.(batch.progress);
  }
}

/** Polling interval, in milliseconds, while other processes do the work. */
const LATER_MS = 50;
