import { FhirError } from '../../fhir/error.js';
import type { CallOptions } from '../../store/store.js';

/** How index rows are made again. */
export interface ReindexOptions extends CallOptions {
  /** The id of the project to re-index. Default: all projects. */
  readonly project?: string | undefined;
  /**
   * Only what other definitions or an older version of the library left behind (`pendingParameters`), not what is complete.
   * Default false.
   */
  readonly pendingOnly?: boolean | undefined;
  /** Called after each batch. What it throws ends the work; what was done stays. */
  readonly onProgress?: ((progress: ReindexProgress) => void) | undefined;
}

/** How far the resources of one type in one project are indexed again. */
export interface ReindexProgress {
  /** The project's id. */
  readonly project: string;
  readonly type: string;
  /** Resources done. */
  readonly done: number;
  /** Resources that there are; equal to `done` when the type is complete in the project. */
  readonly total: number;
}

/** Who makes index rows again that other definitions made. */
export type ReindexMode = 'background' | 'manual';

/** The mode with its default. @throws FhirError `invalid` */
export function reindexMode(mode: ReindexMode = 'background'): ReindexMode {
  if (mode === 'background' || mode === 'manual') return mode;
  throw new FhirError('invalid', `reindex must be background or manual, not ${String(mode)}`);
}

/** Work of no more resources than this is done at once where the background does it. */
export const AT_ONCE = 2_000;
