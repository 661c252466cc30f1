import { type ErrorCode } from '../../fhir/error.js';
import { type ImportContext } from '../session.js';

/** The context of an NDJSON import. */
export interface NdjsonContext extends ImportContext {
  /** Called after each batch and at the end. An error thrown here ends the import. */
  readonly onProgress?: ((progress: NdjsonProgress) => void) | undefined;
  /** Ends at the first bad line; earlier lines are kept, later ones are not imported. Default false. */
  readonly stopOnError?: boolean | undefined;
  /**
   * Maximum number of lines per commit. Default 200. SQLite blocks the process while a batch is written: batches of 500
   * import a sixth faster, but other work waits twice as long.
   */
  readonly batchLines?: number | undefined;
  /** A batch that reaches this many bytes is committed. Default 4 MiB. */
  readonly batchBytes?: number | undefined;
  /**
   * Maximum line length, in bytes; a longer line is a bad line and is never in memory. Default and maximum: 128 MiB,
   * which is also the largest resource.
   */
  readonly maxLineBytes?: number | undefined;
  /**
   * Follow deletions: a line that is a Bundle of type `transaction` without an id, all of whose entries have a request
   * `DELETE [type]/[id]`, deletes these resources, as in the files of FHIR's bulk data and of `exportProject`. Default
   * false: such a line is a Bundle to store.
   */
  readonly deletions?: boolean | undefined;
  /** Maximum number of bad lines described in the result; all are counted. Default 1000. */
  readonly maxErrors?: number | undefined;
}

/** The counts of an NDJSON import so far. */
export interface NdjsonProgress {
  /** Lines read, blank ones included. */
  readonly lines: number;
  /** Resources now in the store, including unchanged ones. */
  readonly imported: number;
  /** Bad lines. */
  readonly failed: number;
  /** Bytes of the source that were read, as UTF-8. */
  readonly bytes: number;
}

/** A line that was not imported. */
export interface BadLine {
  /** From 1. */
  readonly line: number;
  readonly reason: { readonly code: ErrorCode; readonly message: string };
}

/** The result of an NDJSON import. */
export interface NdjsonResult extends NdjsonProgress {
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  /** Resources deleted; only with `deletions`. */
  readonly deleted?: number | undefined;
  /** The first bad lines, in order; `failed` counts all. */
  readonly errors: readonly BadLine[];
  /** True when a bad line ended the import (`stopOnError`). */
  readonly stopped: boolean;
}
