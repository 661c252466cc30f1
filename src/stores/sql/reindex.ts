import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { FhirError } from '../../fhir/error.js';
import type { CallOptions } from '../../store/call-options.js';
import { type Answer, type Ask, ask } from '../ask.js';
import { BackgroundWork } from './background-work.js';

/** Options of re-indexing. */
export interface ReindexOptions extends CallOptions {
  /** The id of the project to re-index. Default: all projects. */
  readonly project?: string | undefined;
  /**
   * Re-index only the rows that other definitions or an older library version left behind (`pendingParameters`).
   * Default false.
   */
  readonly pendingOnly?: boolean | undefined;
  /** Called after each batch. If it throws, re-indexing stops; completed batches are kept. */
  readonly onProgress?: ((progress: ReindexProgress) => void) | undefined;
}

/** Re-indexing progress of one type in one project. */
export interface ReindexProgress {
  /** The project's id. */
  readonly project: string;
  readonly type: string;
  /** Resources done. */
  readonly done: number;
  /** Number of resources; equals `done` when the type is complete in the project. */
  readonly total: number;
}

/** The resources done of an incomplete type: fewer than all, even if resources were added since they were counted. */
export function doneBeforeEnd(done: number, total: number): number {
  return Math.min(done, Math.max(total - 1, 0));
}

/** Who re-indexes rows made with other definitions. */
export type ReindexMode = 'background' | 'manual';

/** The mode with its default. @throws FhirError `invalid` */
export function reindexMode(mode: ReindexMode = 'background'): ReindexMode {
  if (mode === 'background' || mode === 'manual') return mode;
  throw new FhirError('invalid', `reindex must be background or manual, not ${String(mode)}`);
}

/** What re-indexes a database in batches, each of one type in one project. */
export interface ReindexPort {
  /** The number of resources to re-index, up to the limit. */
  countUpTo(limit: number): Answer<number>;
  /** Does the next batch. */
  step(signal?: AbortSignal): Answer<BatchResult>;
}

/** A batch; `done` if nothing is left to do, `later` while other processes work on the rest. */
export type BatchResult = { readonly resources: number; readonly progress: ReindexProgress } | 'later' | 'done';

/** Re-indexes at once if few resources are left. @returns whether all is done */
export function* reindexFew(): Ask<ReindexPort, boolean> {
  if ((yield* ask((port: ReindexPort) => port.countUpTo(AT_ONCE + 1))) > AT_ONCE) return false;
  for (;;) {
    const batch = yield* ask((port: ReindexPort) => port.step());
    if (typeof batch === 'string') return batch === 'done';
  }
}

const AT_ONCE = 2_000;

/** Re-indexes in the background of calls. @param onDone called when nothing is left to do */
export function backgroundReindexing(
  port: ReindexPort,
  storeError: (error: unknown) => FhirError,
  onDone?: () => void,
): BackgroundWork {
  const step = async (signal: AbortSignal): Promise<'more' | 'later' | 'done'> => {
    const batch = await port.step(signal);
    if (batch === 'done') onDone?.();
    return typeof batch === 'string' ? batch : 'more';
  };
  return new BackgroundWork('Re-indexing failed', step, storeError);
}

/**
 * Re-indexes in batches until nothing is left, and waits for the batches of other processes.
 *
 * @returns how many resources this call indexed
 */
export async function reindex(
  { onProgress, signal }: ReindexOptions,
  step: () => Answer<BatchResult>,
): Promise<number> {
  for (let count = 0; ;) {
    const batch = await step();
    if (batch === 'done') return count;
    if (batch === 'later') {
      await delay(LATER_MS, undefined, signal && { signal }).catch(() => undefined);
      continue;
    }
    count += batch.resources;
    onProgress?.(batch.progress);
    await nextTurn();
  }
}

/** Polling interval, in milliseconds, while other processes do the work. */
const LATER_MS = 50;
