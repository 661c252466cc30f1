import type { TextBudget } from './text-budget.js';

/** Options of every store call. */
export interface CallOptions {
  /** Ends the work early with `aborted`; optional. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The time limit of the call, as a time of `performance.now()`. Default: none. When it passes, a store rejects with
   * `aborted` and `details.deadline`, even if it cannot observe the signal. Stores may rely on the signal instead.
   */
  readonly deadline?: number | undefined;
  /**
   * Maximum number of resources that `searchByReference` may return for all targets together. A store that finds more
   * may reject with `too-costly` and `details.limit` `maxResources` instead of reading them; others return them.
   * Default: no limit.
   */
  readonly maxResources?: number | undefined;
  /**
   * How much the call, together with the others of its request, may read. A store counts a text before it keeps it in memory,
   * and rejects with `too-costly` and `details.limit` `bytes` where it exceeds the budget; a page with `shortens` ends before
   * it. Stores without this bound ignore it. Default: no limit.
   */
  readonly budget?: TextBudget | undefined;
}

/** Options of the calls of an operation. Stores read those of {@link CallOptions} only. */
export interface CommitOptions extends CallOptions {
  /** Called right before the store writes. Nothing was written before it; after an abort it is never called. */
  readonly onCommit?: (() => void) | undefined;
  /** Called right after the store has written. */
  readonly onWritten?: (() => void) | undefined;
}
