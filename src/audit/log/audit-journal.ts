/**
 * Where events wait until the store has them: a first-in, first-out queue of texts that outlives the process, and that one
 * process has open at a time. `FileAuditJournal` of `fhirgraph/audit-journal` and `SqliteAuditJournal` of `fhirgraph/sqlite`
 * are two.
 */
export interface AuditJournal {
  /**
   * Appends wait for no disk, and return nothing: each record is appended when it comes. Default false: records gather for
   * a turn of the event loop, and while the ones before them are appended.
   */
  readonly isImmediate?: boolean | undefined;
  /**
   * Appends texts, all or none. They outlive the process when it returns or resolves.
   *
   * A failure may leave them appended: their records count as not taken, and the events still reach the log.
   */
  append(texts: readonly string[]): void | Promise<void>;
  /** The oldest texts, in the order in which they were appended. */
  oldest(limit: number): readonly string[] | Promise<readonly string[]>;
  /** Removes the oldest texts. */
  drop(count: number): void | Promise<void>;
}
