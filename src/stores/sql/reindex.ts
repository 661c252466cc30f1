import { FhirError } from '../../fhir/error.js';
import type { CallOptions } from '../../store/call-options.js';

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

/** In background mode, work on at most this many resources is done immediately. */
export const AT_ONCE = 2_000;
