/**
 * A durable queue in which events wait until the store has them: first in, first out, opened by one process at a time,
 * and kept when the process ends. Each event is JSON text. Two implementations are `FileAuditJournal` of
 * `fhirgraph/audit-journal` and `SqliteAuditJournal` of `fhirgraph/sqlite`.
 */
export interface AuditJournal {
  /**
   * Appends do not wait for a disk and return no promise, so each record is appended when it arrives. Default false:
   * records gather for a turn of the event loop, and while the ones before them are appended.
   */
  readonly isImmediate?: boolean | undefined;
  /**
   * Appends events, all or none. When it returns or resolves, they survive the end of the process.
   *
   * After a failure, the events may be appended all the same: their records count as not stored, and the events still
   * reach the log.
   */
  append(texts: readonly string[]): void | Promise<void>;
  /** The oldest events, in the order in which they were appended. */
  oldest(limit: number): readonly string[] | Promise<readonly string[]>;
  /** Removes the oldest events. */
  drop(count: number): void | Promise<void>;
}
